package notice

import (
	"crypto/sha1" //nolint:gosec // not for safety: it names a condition, and Argo CD names it so
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Trigger is when messages are sent, and which.
type Trigger struct {
	Name       string
	Conditions []Condition
	// Clocked says that it looks at the clock: it may come to hold without any change of the application.
	Clocked bool
}

// Condition is one of a trigger's.
type Condition struct {
	// Key is its name in the record of what was told.
	Key         string   `json:"-"`
	When        string   `json:"when,omitempty"`
	OncePer     string   `json:"oncePer,omitempty"`
	Description string   `json:"description,omitempty"`
	Send        []string `json:"send,omitempty"`

	when, oncePer *vm.Program
}

// Outcome is how it is with a condition.
type Outcome struct {
	Condition *Condition
	Holds     bool
	// Once is what the message is sent once for; empty is once until the condition holds no more.
	Once string
	// Problem is what kept it from being found out.
	Problem string
}

const (
	// maxNodes bounds an expression, and maxLoops how many of its loops are inside one another: an expression cannot be
	// stopped while it runs.
	maxNodes = 2000
	maxLoops = 2
)

func (c *Config) readTrigger(key, text string) {
	t := &Trigger{Name: strings.TrimPrefix(key, v1alpha1.KeyNotifyTriggerPrefix)}
	if err := yaml.Unmarshal([]byte(text), &t.Conditions); err != nil {
		c.complain(key, "it cannot be read: %v; it is a list of conditions with when, send and, if need be, oncePer", short(err))
		return
	}
	for i := range t.Conditions {
		condition := &t.Conditions[i]
		condition.Key = fmt.Sprintf("[%d].%s", i, hash(condition.When))
		if condition.When == "" {
			c.complain(key, "condition %d has no when, so that it never holds", i)
		}
		when, clocked, err := compile(condition.When)
		if err != nil {
			c.complain(key, "the when of condition %d cannot be understood: %v", i, err)
			return
		}
		condition.when = when
		t.Clocked = t.Clocked || clocked
		if condition.OncePer == "" {
			continue
		}
		if condition.oncePer, _, err = compile(condition.OncePer); err != nil {
			c.complain(key, "the oncePer of condition %d cannot be understood: %v", i, err)
			return
		}
	}
	c.Triggers[t.Name] = t
}

// hash names a condition as Argo CD does.
func hash(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// compile makes a program of an expression, and says whether it looks at the clock.
func compile(text string) (program *vm.Program, clocked bool, err error) {
	if text == "" {
		text = "false"
	}
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, false, fmt.Errorf("%s", strings.Join(strings.Fields(err.Error()), " "))
	}
	look := &looker{}
	ast.Walk(&tree.Node, look)
	if deep := loops(tree.Node); deep > maxLoops {
		return nil, false, fmt.Errorf("%d loops are inside one another, and %d are the most", deep, maxLoops)
	}
	// The clock is a value here.
	program, err = expr.Compile(text, expr.MaxNodes(maxNodes), expr.DisableBuiltin("now"))
	if err != nil {
		return nil, false, fmt.Errorf("%s", strings.Join(strings.Fields(err.Error()), " "))
	}
	return program, look.clocked, nil
}

// looker finds what asks for the time.
type looker struct{ clocked bool }

// Visit looks at a node.
func (l *looker) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BuiltinNode:
		l.clocked = l.clocked || n.Name == "now"
	case *ast.MemberNode:
		on, ok := n.Node.(*ast.IdentifierNode)
		name, named := n.Property.(*ast.StringNode)
		l.clocked = l.clocked || ok && named && on.Value == "time" && name.Value == "Now"
	}
}

// loops is how many predicates are inside one another, at most.
func loops(node ast.Node) int {
	n := &nested{}
	ast.Walk(&node, n)
	return n.deepest
}

// nested counts predicates below a node.
type nested struct{ deepest int }

// Visit looks at a node.
func (n *nested) Visit(node *ast.Node) {
	if predicate, ok := (*node).(*ast.PredicateNode); ok {
		n.deepest = max(n.deepest, loops(predicate.Node)+1)
	}
}

// Run finds out how it is with the conditions of a trigger of the configuration.
func (c *Config) Run(trigger string, app map[string]any, w World) []Outcome {
	return c.Triggers[trigger].run(c.vars(app, w, ""))
}

func (t *Trigger) run(vars map[string]any) []Outcome {
	out := make([]Outcome, len(t.Conditions))
	for i := range t.Conditions {
		out[i] = t.Conditions[i].run(vars)
	}
	return out
}

func (c *Condition) run(vars map[string]any) Outcome {
	out := Outcome{Condition: c}
	value, err := expr.Run(c.when, vars)
	if err != nil {
		out.Problem = trouble("when", err)
		return out
	}
	holds, ok := value.(bool)
	if !ok && value != nil {
		out.Problem = fmt.Sprintf("the when gives %T, and true or false is expected", value)
	}
	if out.Holds = holds; !holds || c.oncePer == nil {
		return out
	}
	once, err := expr.Run(c.oncePer, vars)
	if err != nil {
		// As in Argo CD: then it is told once until the condition holds no more.
		out.Problem = trouble("oncePer", err)
		return out
	}
	out.Once = fmt.Sprint(once)
	return out
}

// trouble is what is worth saying of an expression that fails. What an application does not have yet, such as the state of
// an operation, is the usual case and nobody's mistake.
func trouble(part string, err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if strings.Contains(text, "<nil>") || strings.Contains(text, "nil pointer") {
		return ""
	}
	return "the " + part + " fails: " + text
}
