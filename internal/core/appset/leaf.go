package appset

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// errNeeds says that something has to be known first; what, is noted.
var errNeeds = errors.New("something has to be known first")

// sets are the parameters that a generator yields. env are those of a sibling that may stand in it, or nil.
func (g *generation) sets(n *node, env map[string]any) ([]map[string]any, error) {
	var out []map[string]any
	var err error
	switch n.kind {
	case kindMatrix:
		out, err = g.matrix(n, env)
	case kindMerge:
		out, err = g.merge(n, env)
	default:
		out, err = g.leaf(n, env)
	}
	if err != nil {
		return nil, err
	}
	return n.selector.keep(out), nil
}

// leaf runs a generator that has none in it.
func (g *generation) leaf(n *node, env map[string]any) ([]map[string]any, error) {
	l, err := n.filled(env)
	if err != nil {
		return nil, fmt.Errorf("filling in the parameters %s: %w", describe(env), err)
	}
	var sets []map[string]any
	switch {
	case l.List != nil:
		sets, err = g.list(l.List)
	case l.Clusters != nil:
		return g.clusters(n, l.Clusters, env)
	case l.Git != nil:
		sets, err = g.git(l.Git)
	case l.SCMProvider != nil:
		sets, err = g.asked(Need{SCMProvider: l.SCMProvider})
	case l.PullRequest != nil:
		sets, err = g.asked(Need{PullRequest: l.PullRequest})
	case l.Plugin != nil:
		sets, err = g.plugin(l.Plugin)
	case l.Decision != nil:
		sets, err = g.decision(n, l.Decision)
	}
	if err != nil {
		return nil, g.of(n, err)
	}
	return g.withValues(n, sets, env)
}

// of names the generator that an error is about.
func (g *generation) of(n *node, err error) error {
	if errors.Is(err, errNeeds) {
		return err
	}
	return fmt.Errorf("%s: %w", n.at, err)
}

// withValues adds the values of a generator to each of its sets. They are filled in with the set, and with the parameters
// of the sibling before it, which win.
func (g *generation) withValues(n *node, sets []map[string]any, env map[string]any) ([]map[string]any, error) {
	if len(n.values) == 0 {
		return sets, nil
	}
	out := make([]map[string]any, len(sets))
	for i, set := range sets {
		known := beside(set, env)
		values := make(map[string]any, len(n.values))
		for k, x := range n.values {
			v, err := x.fill(known)
			if err != nil {
				return nil, fmt.Errorf("filling in the parameters %s: %w", describe(set), err)
			}
			values[k] = v
		}
		out[i] = maps.Clone(set)
		if g.language {
			out[i]["values"] = values
			continue
		}
		for k, v := range values {
			out[i]["values."+k] = v
		}
	}
	return out, nil
}

// shaped is a document as the language of the set has it.
func (g *generation) shaped(doc map[string]any) map[string]any {
	if g.language {
		return doc
	}
	return flatten(doc)
}

// list yields the elements.
func (g *generation) list(in *v1alpha1.ListGenerator) ([]map[string]any, error) {
	out := make([]map[string]any, 0, len(in.Elements))
	for i, e := range in.Elements {
		var doc map[string]any
		if err := json.Unmarshal(e.Raw, &doc); err != nil || doc == nil {
			return nil, fmt.Errorf("elements[%d] is %s, and no object; write the parameters as names and values", i, excerpt(string(e.Raw)))
		}
		out = append(out, g.shaped(doc))
	}
	if in.ElementsYAML == "" {
		return out, nil
	}
	var more []any
	if err := yaml.Unmarshal([]byte(in.ElementsYAML), &more); err != nil {
		return nil, noElements(in.ElementsYAML)
	}
	for _, it := range more {
		doc, ok := it.(map[string]any)
		if !ok {
			return nil, noElements(in.ElementsYAML)
		}
		out = append(out, g.shaped(doc))
	}
	return out, nil
}

func noElements(text string) error {
	return fmt.Errorf("elementsYaml is %s, which is no list of objects; a parameter goes in with its shape by {{ .parameter | toJson }}",
		excerpt(text))
}

// asked yields what others answered.
func (g *generation) asked(need Need) ([]map[string]any, error) {
	answer, err := g.answer(need)
	if err != nil {
		return nil, err
	}
	out := make([]map[string]any, len(answer.Sets))
	for i, s := range answer.Sets {
		out[i] = g.shaped(s)
	}
	return out, nil
}

// plugin yields what a service answered, beside what it was asked with.
func (g *generation) plugin(in *v1alpha1.PluginGenerator) ([]map[string]any, error) {
	sets, err := g.asked(Need{Plugin: in})
	if err != nil {
		return nil, err
	}
	input := make(map[string]any, len(in.Input.Parameters))
	for k, v := range in.Input.Parameters {
		var value any
		if err := json.Unmarshal(v.Raw, &value); err != nil {
			return nil, fmt.Errorf("input.parameters.%s is not JSON: %w", k, err)
		}
		input[k] = value
	}
	asked := g.shaped(map[string]any{
		"generator": map[string]any{"input": map[string]any{"parameters": input}},
	})
	for i, s := range sets {
		sets[i] = maps.Clone(s)
		maps.Copy(sets[i], asked)
	}
	return sets, nil
}
