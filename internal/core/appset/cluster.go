package appset

import (
	"fmt"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// clusters yields the clusters that are known and selected.
func (g *generation) clusters(n *node, in *v1alpha1.ClusterGenerator, env map[string]any) ([]map[string]any, error) {
	chosen, err := selectorOf(&in.Selector)
	if err != nil {
		return nil, g.of(n, fmt.Errorf("selector: %w", err))
	}
	var sets []map[string]any
	for _, c := range g.world.Clusters {
		// Without a secret it has no labels: whatever is asked of them, it is not meant.
		if c.Local && len(chosen) > 0 || !chosen.matches(c.label) {
			continue
		}
		sets = append(sets, g.shaped(c.params()))
	}
	sets, err = g.withValues(n, sets, env)
	if err != nil || !in.FlatList {
		return sets, err
	}
	flat := make([]any, len(sets))
	for i, s := range sets {
		flat[i] = s
	}
	return []map[string]any{g.shaped(map[string]any{"clusters": flat})}, nil
}

func (c Cluster) label(key string) (string, bool) {
	v, ok := c.Labels[key]
	if !ok && key == v1alpha1.LabelSecretType && !c.Local {
		return v1alpha1.SecretTypeCluster, true
	}
	return v, ok
}

func (c Cluster) params() map[string]any {
	return map[string]any{
		"name":           c.Name,
		"nameNormalized": Normalize(c.Name),
		"server":         c.Server,
		"project":        c.Project,
		"metadata":       map[string]any{"labels": anyMap(c.Labels), "annotations": anyMap(c.Annotations)},
	}
}

func anyMap(in map[string]string) map[string]any {
	out := make(map[string]any, len(in))
	for k, v := range in {
		out[k] = v
	}
	return out
}

// decision yields the clusters that an object lists, each with what the object says of it.
func (g *generation) decision(n *node, in *v1alpha1.DuckTypeGenerator) ([]map[string]any, error) {
	answer, err := g.answer(Need{Decision: in})
	if err != nil {
		return nil, err
	}
	if answer.MatchKey == "" && len(answer.Sets) > 0 {
		return nil, fmt.Errorf("the config map %s has no matchKey; set it to the field of an entry that names a cluster", in.ConfigMapRef)
	}
	known := make(map[string]Cluster, len(g.world.Clusters))
	for _, c := range g.world.Clusters {
		known[c.Name] = c
	}
	var out []map[string]any
	for i, entry := range answer.Sets {
		name := word(entry[answer.MatchKey])
		c, ok := known[name]
		if !ok {
			g.note("%s: entry %d names the cluster %q by %s, and there is no such cluster; add it, or take it off the list",
				n.at, i, name, answer.MatchKey)
			continue
		}
		out = append(out, g.shaped(overlay(c.params(), entry)))
	}
	return out, nil
}
