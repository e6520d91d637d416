package helm

import (
	"path"
	"slices"
	"strings"
	"text/template/parse"

	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// capable is the name under which templates see the cluster.
const capable = "Capabilities"

// tellsAPIs reports whether a text could be a template that looks at the cluster.
func tellsAPIs(text string) bool {
	return strings.Contains(text, capable) || strings.Contains(text, "{{") && showsRoot(text)
}

// valuesTell reports whether one of the values could: a chart may take any of them for a template.
func valuesTell(value any) bool {
	switch value := value.(type) {
	case string:
		return tellsAPIs(value)
	case []any:
		return slices.ContainsFunc(value, valuesTell)
	case map[string]any:
		for _, inner := range value {
			if valuesTell(inner) {
				return true
			}
		}
	}
	return false
}

// UsesAPIs reports whether the APIs of the cluster may be part of what the chart renders to with these values. It errs on
// the side of yes.
func (c *Chart) UsesAPIs(values map[string]any) bool { return usesAPIs(c.chart) || valuesTell(values) }

func usesAPIs(of *chart.Chart) bool {
	for _, template := range of.Templates {
		if strings.Contains(string(template.Data), capable) || showsRoot(string(template.Data)) {
			return true
		}
	}
	for _, file := range of.Files {
		if path.Ext(file.Name) != ".md" && !strings.HasPrefix(file.Name, "crds/") && tellsAPIs(string(file.Data)) {
			return true
		}
	}
	return valuesTell(of.Values) || slices.ContainsFunc(of.Dependencies(), usesAPIs)
}

// showsRoot reports whether a template hands all that it knows to a function that could print it, such as toYaml.
func showsRoot(text string) bool {
	tree := parse.New("")
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(text, "", "", trees); err != nil {
		return true // what cannot be told is assumed; the engine says what is wrong with it
	}
	for _, tree := range trees {
		if tree.Root != nil && (look{dot: true, names: map[string]struct{}{"$": {}}}).list(tree.Root) {
			return true
		}
	}
	return false
}

// look walks a template. Within `with` and `range` the dot is something smaller than the root; names are the variables
// that hold the root.
type look struct {
	dot   bool
	names map[string]struct{}
}

func (l look) inner(dot bool) look { return look{dot: dot, names: l.names} }

func (l look) list(list *parse.ListNode) bool {
	return list != nil && slices.ContainsFunc(list.Nodes, l.node)
}

func (l look) node(node parse.Node) bool {
	switch node := node.(type) {
	case *parse.ActionNode:
		return len(node.Pipe.Decl) == 0 && l.bare(node.Pipe) || l.pipe(node.Pipe)
	case *parse.IfNode:
		return l.pipe(node.Pipe) || l.list(node.List) || l.list(node.ElseList)
	case *parse.WithNode:
		return l.pipe(node.Pipe) || l.inner(l.bare(node.Pipe)).list(node.List) || l.list(node.ElseList)
	case *parse.RangeNode:
		return l.bare(node.Pipe) || l.pipe(node.Pipe) || l.inner(false).list(node.List) || l.list(node.ElseList)
	case *parse.TemplateNode:
		return node.Pipe != nil && l.pipe(node.Pipe)
	}
	return false
}

// pipe looks at the calls of a pipeline: a root that goes into one must not come out as text.
func (l look) pipe(pipe *parse.PipeNode) bool {
	if pipe == nil {
		return false
	}
	for i, command := range pipe.Cmds {
		for _, arg := range command.Args {
			if inner, ok := arg.(*parse.PipeNode); ok && l.pipe(inner) {
				return true
			}
		}
		if len(command.Args) == 1 && l.root(command.Args[0]) {
			return l.alone(pipe, i)
		}
		if slices.ContainsFunc(command.Args[1:], l.root) && !carries(command) {
			return true
		}
	}
	return false
}

// alone is a root that is a call of its own: it goes into the next one, or into a variable.
func (l look) alone(pipe *parse.PipeNode, at int) bool {
	if at+1 < len(pipe.Cmds) {
		return !carries(pipe.Cmds[at+1])
	}
	for _, variable := range pipe.Decl {
		l.names[variable.Ident[0]] = struct{}{}
	}
	return false
}

// bare reports whether a pipeline is the root and nothing else.
func (l look) bare(pipe *parse.PipeNode) bool {
	return pipe != nil && len(pipe.Cmds) == 1 && len(pipe.Cmds[0].Args) == 1 && l.root(pipe.Cmds[0].Args[0])
}

func (l look) root(node parse.Node) bool {
	switch node := node.(type) {
	case *parse.DotNode:
		return l.dot
	case *parse.VariableNode:
		_, holds := l.names[node.Ident[0]]
		return holds && len(node.Ident) == 1
	case *parse.PipeNode:
		return l.bare(node)
	}
	return false
}

// carriers are the functions that put their arguments into something or ask about them, and print nothing of them.
var carriers = []string{"include", "tpl", "dict", "list", "set", "required", "default", "not", "and", "or", "kindIs", "hasKey"}

// carries reports whether a call hands its arguments on to another template, which is looked at by itself.
func carries(command *parse.CommandNode) bool {
	name, ok := command.Args[0].(*parse.IdentifierNode)
	return ok && slices.Contains(carriers, name.Ident)
}
