package engine

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/finding"
)

// Compiler turns a jq path expression into a function that removes what it
// selects.
type Compiler func(expr string) (diff.Expr, error)

// compiledRules are rules with what they were made from.
type compiledRules struct {
	spec     []v1alpha1.ResourceIgnoreDifferences
	ignore   *Ignore
	rules    diff.Rules
	findings []finding.Finding
}

// rules are the ignore rules of an application: its own and everyone's. They
// are compiled when they change.
func (e *Engine) rules(app *v1alpha1.Application) (diff.Rules, []finding.Finding) {
	ignore := e.Settings().Ignore
	e.mu.Lock()
	c, ok := e.compiled[e.key(app)]
	e.mu.Unlock()
	if ok && c.ignore == ignore && equality.Semantic.DeepEqual(c.spec, app.Spec.IgnoreDifferences) {
		return c.rules, c.findings
	}
	c = compiledRules{spec: app.Spec.IgnoreDifferences, ignore: ignore}
	var all []diff.Rule
	var options diff.Options
	if ignore != nil {
		all, options = slices.Clone(ignore.Rules), ignore.Options
	}
	for i, d := range app.Spec.IgnoreDifferences {
		all = append(all, diff.Rule{
			Group: d.Group, Kind: d.Kind, Name: d.Name, Namespace: d.Namespace,
			Pointers: d.JSONPointers, Exprs: e.compile(d.JQPathExpressions), Managers: d.ManagedFieldsManagers,
			Origin: fmt.Sprintf("spec.ignoreDifferences[%d]", i),
		})
	}
	c.rules, c.findings = diff.NewRules(all, options)
	e.mu.Lock()
	e.compiled[e.key(app)] = c
	e.mu.Unlock()
	return c.rules, c.findings
}

func (e *Engine) compile(sources []string) []diff.NamedExpr {
	out := make([]diff.NamedExpr, len(sources))
	for i, text := range sources {
		out[i] = Compile(e.Compiler, text)
	}
	return out
}

// Compile compiles an expression; one that does not compile says why when it
// is used.
func Compile(c Compiler, text string) diff.NamedExpr {
	del, err := c(text)
	if err != nil {
		return diff.NamedExpr{Source: text, Problem: err.Error()}
	}
	return diff.NamedExpr{Source: text, Del: del}
}
