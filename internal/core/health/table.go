package health

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// tableFiles describe kinds that are not part of Kubernetes, one file for a project. kinds/README.md explains them.
//
//go:embed kinds/*.yaml
var tableFiles embed.FS

// project is one file of the table.
type project struct {
	Project string        `json:"project"`
	Docs    string        `json:"docs"`
	Kinds   []description `json:"kinds"`
}

// description is how one or more kinds of a group are judged, as written.
type description struct {
	// Group may begin with "*." and then means all groups with that ending.
	Group string `json:"group"`
	// Kinds may be "*", which means all kinds of the group that have no description of their own.
	Kinds []string `json:"kinds"`
	// Added names those of the kinds that Argo CD gives no health; "all" is all of them.
	Added []string `json:"added"`
	// Conditions is where the conditions are, if not in status.conditions.
	Conditions string `json:"conditions"`
	// Observed is where the controller tells the generation that it has seen, if not in status.observedGeneration;
	// "none" says that it cannot be relied on.
	Observed string `json:"observed"`
	// Silent is the health of an object without a status, for kinds that may never get one.
	Silent Status `json:"silent"`
	// Detail is the field with the explanation of a phase.
	Detail string `json:"detail"`
	// Rules are tried in order; the first that holds decides.
	Rules []ruleText `json:"rules"`
	// Ready is a condition that sums up all others. It adds rules after the written ones.
	Ready string `json:"ready"`
	// Pending are the reasons with which Ready is False while the work goes on.
	Pending string `json:"pending"`
	// Failing are the reasons with which Ready is False for good; all others then mean that the work goes on.
	Failing string `json:"failing"`
	// Phase is the field that fallback messages are about.
	Phase string `json:"phase"`
	// Never names the states that a kind cannot be in, with the reason.
	Never map[Status]string `json:"never"`
}

// ruleText is one rule as written. Exactly one status has tests, all of which must hold.
type ruleText struct {
	Healthy     string `json:"Healthy"`
	Suspended   string `json:"Suspended"`
	Progressing string `json:"Progressing"`
	Degraded    string `json:"Degraded"`
	Unknown     string `json:"Unknown"`
	Say         string `json:"say"`
}

// table holds the compiled descriptions.
type table struct {
	exact map[string]map[string]*entry
	// wild has the entries for groups by their ending, the longest first.
	wild []ending
}

type ending struct {
	suffix string
	kinds  map[string]*entry
}

// known is the table, compiled when the first object asks for it. That it compiles is the business of the tests; a kind
// whose description does not would simply be missing.
var known = sync.OnceValue(func() *table {
	projects, _ := readProjects()
	t, _ := compileTable(projects)
	return t
})

func readProjects() ([]project, error) {
	names, err := fs.Glob(tableFiles, "kinds/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []project
	var problems []error
	for _, name := range names {
		data, err := tableFiles.ReadFile(name)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		var p project
		if err := yaml.UnmarshalStrict(data, &p); err != nil {
			problems = append(problems, fmt.Errorf("reading %s: %w", path.Base(name), err))
			continue
		}
		all = append(all, p)
	}
	return all, errors.Join(problems...)
}

func compileTable(projects []project) (*table, error) {
	t := &table{exact: map[string]map[string]*entry{}}
	var problems []error
	for _, p := range projects {
		for _, d := range p.Kinds {
			e, err := d.compile()
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %s %v: %w", p.Project, d.Group, d.Kinds, err))
				continue
			}
			for _, kind := range d.Kinds {
				own := *e
				own.kind, own.source = kind, d.source(kind)
				if err := t.add(d.Group, &own); err != nil {
					problems = append(problems, fmt.Errorf("%s: %w", p.Project, err))
				}
			}
		}
	}
	slices.SortFunc(t.wild, func(a, b ending) int { return len(b.suffix) - len(a.suffix) })
	return t, errors.Join(problems...)
}

func (t *table) add(group string, e *entry) error {
	kinds := t.kindsOf(group)
	if kinds[e.kind] != nil {
		return fmt.Errorf("%s/%s is described twice", group, e.kind)
	}
	kinds[e.kind] = e
	return nil
}

func (t *table) kindsOf(group string) map[string]*entry {
	suffix, wild := strings.CutPrefix(group, "*")
	if !wild {
		if t.exact[group] == nil {
			t.exact[group] = map[string]*entry{}
		}
		return t.exact[group]
	}
	for _, w := range t.wild {
		if w.suffix == suffix {
			return w.kinds
		}
	}
	t.wild = append(t.wild, ending{suffix: suffix, kinds: map[string]*entry{}})
	return t.wild[len(t.wild)-1].kinds
}

// find returns the most special description: of the kind in its group, of its group, of the kind in groups with a
// common ending, of those groups.
func (t *table) find(group, kind string) *entry {
	if kinds := t.exact[group]; kinds != nil {
		if e := pick(kinds, kind); e != nil {
			return e
		}
	}
	for _, w := range t.wild {
		if strings.HasSuffix(group, w.suffix) {
			if e := pick(w.kinds, kind); e != nil {
				return e
			}
		}
	}
	return nil
}

func pick(kinds map[string]*entry, kind string) *entry {
	if e := kinds[kind]; e != nil {
		return e
	}
	return kinds["*"]
}
