package appset

import (
	"encoding/json"
	"fmt"
	"reflect"

	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// leaves are the generators that have no generators in them; one of them is set.
type leaves struct {
	List        *v1alpha1.ListGenerator        `json:"list"`
	Clusters    *v1alpha1.ClusterGenerator     `json:"clusters"`
	Git         *v1alpha1.GitGenerator         `json:"git"`
	SCMProvider *v1alpha1.SCMProviderGenerator `json:"scmProvider"`
	Decision    *v1alpha1.DuckTypeGenerator    `json:"clusterDecisionResource"`
	PullRequest *v1alpha1.PullRequestGenerator `json:"pullRequest"`
	Plugin      *v1alpha1.PluginGenerator      `json:"plugin"`
}

// node is a generator, ready to run.
type node struct {
	// at is where it stands, as in "generators[1].matrix.generators[0].git".
	at   string
	kind string
	leaf leaves
	// fill fills parameters of a sibling into the leaf.
	fill program
	// values are texts that join each set.
	values map[string]*text
	// children and mergeKeys are of a matrix and a merge.
	children  []*node
	mergeKeys []string
	selector  selector
	template  v1alpha1.ApplicationSetTemplate
}

const (
	kindMatrix = "matrix"
	kindMerge  = "merge"
)

// nodes are the generators of one entry at the top. There may be several in it: each runs.
func (g *generation) nodes(in v1alpha1.ApplicationSetGenerator, at string) ([]*node, error) {
	out, err := g.leafNodes(leaves{
		in.List, in.Clusters, in.Git, in.SCMProvider, in.ClusterDecisionResource, in.PullRequest, in.Plugin,
	}, at)
	if err != nil {
		return nil, err
	}
	if in.Matrix != nil {
		n, err := g.combination(kindMatrix, join(at, kindMatrix), in.Matrix.Generators, nil)
		if err != nil {
			return nil, err
		}
		n.template = in.Matrix.Template
		out = append(out, n)
	}
	if in.Merge != nil {
		n, err := g.combination(kindMerge, join(at, kindMerge), in.Merge.Generators, in.Merge.MergeKeys)
		if err != nil {
			return nil, err
		}
		n.template = in.Merge.Template
		out = append(out, n)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s names no generator; write one of list, clusters, git, matrix, merge, scmProvider, pullRequest, "+
			"plugin, clusterDecisionResource, or remove the entry", at)
	}
	return out, g.selecting(out, in.Selector, at)
}

// combination is a matrix or a merge at the top.
func (g *generation) combination(
	kind, at string, in []v1alpha1.ApplicationSetNestedGenerator, keys []string,
) (*node, error) {
	n := &node{at: at, kind: kind, mergeKeys: keys}
	for i, c := range in {
		place := fmt.Sprintf("%s.generators[%d]", at, i)
		children, err := g.leafNodes(leaves{
			c.List, c.Clusters, c.Git, c.SCMProvider, c.ClusterDecisionResource, c.PullRequest, c.Plugin,
		}, place)
		if err != nil {
			return nil, err
		}
		for _, nested := range []struct {
			kind string
			raw  *apiextv1.JSON
		}{{kindMatrix, c.Matrix}, {kindMerge, c.Merge}} {
			if nested.raw == nil {
				continue
			}
			below, err := g.nested(nested.kind, join(place, nested.kind), nested.raw)
			if err != nil {
				return nil, err
			}
			children = append(children, below)
		}
		if err := g.adopt(n, children, c.Selector, place); err != nil {
			return nil, err
		}
	}
	return g.complete(n)
}

// nested is a matrix or a merge inside of another one; it was kept as it was written.
func (g *generation) nested(kind, at string, raw *apiextv1.JSON) (*node, error) {
	var in v1alpha1.NestedMergeGenerator
	if err := json.Unmarshal(raw.Raw, &in); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w; write it as at the top of spec.generators", at, err)
	}
	n := &node{at: at, kind: kind, mergeKeys: in.MergeKeys}
	for i, c := range in.Generators {
		place := fmt.Sprintf("%s.generators[%d]", at, i)
		children, err := g.leafNodes(leaves{
			c.List, c.Clusters, c.Git, c.SCMProvider, c.ClusterDecisionResource, c.PullRequest, c.Plugin,
		}, place)
		if err != nil {
			return nil, err
		}
		if len(children) == 0 {
			return nil, fmt.Errorf("%s names no generator that may stand there; a matrix or a merge can be nested once and not twice, "+
				"so write list, clusters, git, scmProvider, pullRequest, plugin or clusterDecisionResource", place)
		}
		if err := g.adopt(n, children, c.Selector, place); err != nil {
			return nil, err
		}
	}
	return g.complete(n)
}

// adopt adds the one child that an entry of a combination may hold.
func (g *generation) adopt(n *node, children []*node, selector *metav1.LabelSelector, at string) error {
	switch {
	case len(children) == 0:
		return fmt.Errorf("%s names no generator; write one, or remove the entry", at)
	case len(children) > 1:
		return fmt.Errorf("%s names %d generators; give each an entry of its own", at, len(children))
	}
	if !reflect.ValueOf(children[0].template).IsZero() {
		g.note("%s.template is not used: a generator inside of a %s has no template; move it to %s.template",
			children[0].at, n.kind, n.at)
	}
	n.children = append(n.children, children[0])
	return g.selecting(children, selector, at)
}

// count checks the number of the children.
func (n *node) count() error {
	switch {
	case n.kind == kindMatrix && len(n.children) != 2:
		return fmt.Errorf("%s has %d generators and needs two; nest a matrix in it for a third", n.at, len(n.children))
	case n.kind == kindMerge && len(n.children) < 2:
		return fmt.Errorf("%s has %d generators and needs two or more", n.at, len(n.children))
	case n.kind == kindMerge && len(n.mergeKeys) == 0:
		return fmt.Errorf("%s has no mergeKeys; name the parameters by which its sets belong together", n.at)
	}
	return nil
}

func (g *generation) selecting(nodes []*node, in *metav1.LabelSelector, at string) error {
	if in == nil {
		return nil
	}
	s, err := selectorOf(in)
	if err != nil {
		return fmt.Errorf("%s.selector: %w", at, err)
	}
	for _, n := range nodes {
		n.selector = s
	}
	return nil
}

// leafNodes are the generators of an entry that have none in them.
func (g *generation) leafNodes(in leaves, at string) ([]*node, error) {
	var out []*node
	v := reflect.ValueOf(in)
	for i := range v.NumField() {
		if v.Field(i).IsNil() {
			continue
		}
		kind := jsonName(v.Type().Field(i))
		n := &node{at: join(at, kind), kind: kind}
		reflect.ValueOf(&n.leaf).Elem().Field(i).Set(v.Field(i))
		if err := g.prepare(n); err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// prepare takes the template and the values of a leaf aside: they are filled in with what the leaf itself yields.
func (g *generation) prepare(n *node) error {
	n.leaf = n.leaf.copied()
	var values map[string]string
	n.template, values = n.leaf.aside()
	n.values = make(map[string]*text, len(values))
	for k, v := range values {
		x, err := g.parse(join(n.at, "values."+k), v)
		if err != nil {
			return err
		}
		n.values[k] = x
	}
	return nil
}

// fillable takes the texts apart of a generator that parameters of a sibling may stand in. At the top there is no sibling,
// and what looks like a parameter is the text of somebody else.
func (g *generation) fillable(n *node) error {
	for _, c := range n.children {
		if err := g.fillable(c); err != nil {
			return err
		}
	}
	if len(n.children) > 0 {
		return nil
	}
	var err error
	n.fill, err = g.compile(reflect.ValueOf(&n.leaf).Elem(), n.parent())
	return err
}

// complete checks the number of the children, and makes the second of a matrix fit for the parameters of the first.
func (g *generation) complete(n *node) (*node, error) {
	if err := n.count(); err != nil {
		return nil, err
	}
	if n.kind != kindMatrix {
		return n, nil
	}
	return n, g.fillable(n.children[1])
}

// parent is the entry that the generator is in.
func (n *node) parent() string { return n.at[:len(n.at)-len(n.kind)-1] }

func (l leaves) copied() leaves {
	return leaves{
		l.List.DeepCopy(), l.Clusters.DeepCopy(), l.Git.DeepCopy(), l.SCMProvider.DeepCopy(), l.Decision.DeepCopy(),
		l.PullRequest.DeepCopy(), l.Plugin.DeepCopy(),
	}
}

// aside takes template and values out of the one that is set.
func (l leaves) aside() (template v1alpha1.ApplicationSetTemplate, values map[string]string) {
	take := func(t *v1alpha1.ApplicationSetTemplate, v *map[string]string) {
		template, *t = *t, v1alpha1.ApplicationSetTemplate{}
		if v != nil {
			values, *v = *v, nil
		}
	}
	switch {
	case l.List != nil:
		take(&l.List.Template, nil)
	case l.Clusters != nil:
		take(&l.Clusters.Template, &l.Clusters.Values)
	case l.Git != nil:
		take(&l.Git.Template, &l.Git.Values)
	case l.SCMProvider != nil:
		take(&l.SCMProvider.Template, &l.SCMProvider.Values)
	case l.Decision != nil:
		take(&l.Decision.Template, &l.Decision.Values)
	case l.PullRequest != nil:
		take(&l.PullRequest.Template, &l.PullRequest.Values)
	case l.Plugin != nil:
		take(&l.Plugin.Template, &l.Plugin.Values)
	}
	return template, values
}

// filled is the leaf with the parameters of a sibling in it.
func (n *node) filled(env map[string]any) (leaves, error) {
	if n.fill == nil || env == nil {
		return n.leaf, nil
	}
	out := n.leaf.copied()
	return out, n.fill(reflect.ValueOf(&out).Elem(), env)
}
