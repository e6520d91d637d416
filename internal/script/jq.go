// Package script runs what users write in jq and Lua, compiled once and under
// limits; Lua in a process of its own. It must not give a script anything but
// the document: no environment, no files, no second input.
package script

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/itchyny/gojq"
)

// Limits bound one run of an expression. A zero field means the default.
type Limits struct {
	// Timeout is how long a run may take: a second.
	Timeout time.Duration
	// Steps is how many instructions a run may take: two million. Other than
	// the time it does not depend on how busy the machine is, and it bounds
	// what a run can pile up.
	Steps int
	// Bytes is how large a document may be, as JSON: a mebibyte.
	Bytes int
}

func (l Limits) orDefault() Limits {
	if l.Timeout <= 0 {
		l.Timeout = time.Second
	}
	if l.Steps <= 0 {
		l.Steps = 2_000_000
	}
	if l.Bytes <= 0 {
		l.Bytes = 1 << 20
	}
	return l
}

const maxExpression = 16 << 10

// Compile turns a jq path expression into a function that returns a document
// without what the expression selects. The function leaves its argument alone
// and may be called from several goroutines. A document that lacks what the
// expression iterates over comes back as it is; every other failure is an
// error.
func Compile(expr string, limits Limits) (func(doc map[string]any) (map[string]any, error), error) {
	if len(expr) > maxExpression {
		return nil, fmt.Errorf("compiling a jq expression: it has %d bytes, more than %d", len(expr), maxExpression)
	}
	query, err := parse(expr)
	if err != nil {
		return nil, fmt.Errorf("compiling the jq expression %q: %w", expr, err)
	}
	// The tree is put into del, not the text: a text could close the bracket.
	call := &gojq.Func{Name: "del", Args: []*gojq.Query{query}}
	code, err := gojq.Compile(&gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: call}})
	if err != nil {
		return nil, fmt.Errorf("compiling the jq expression %q: %w", expr, err)
	}
	limits = limits.orDefault()
	return func(doc map[string]any) (map[string]any, error) {
		return (&deletion{code: code, limits: limits}).run(doc)
	}, nil
}

func parse(expr string) (query *gojq.Query, err error) {
	defer func() {
		if r := recover(); r != nil {
			query, err = nil, fmt.Errorf("the jq library gave up: %v", r)
		}
	}()
	query, err = gojq.Parse(expr)
	if err != nil {
		return nil, err
	}
	if query.Meta != nil || len(query.Imports) > 0 {
		return nil, errors.New("modules are not available here")
	}
	if name := refused(reflect.ValueOf(query)); name != "" {
		return nil, fmt.Errorf("%s is not available here: a path expression only selects fields of the document", name)
	}
	return query, nil
}

// refused finds what no path expression needs: operators and functions that
// make something large out of something small in a single step, where no limit
// can stop them, and those whose answer is not the document's.
func refused(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return refused(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			if name := refused(v.Index(i)); name != "" {
				return name
			}
		}
	case reflect.Struct:
		if name := refusedNode(v.Interface()); name != "" {
			return name
		}
		for _, f := range v.Fields() {
			if name := refused(f); name != "" {
				return name
			}
		}
	default:
	}
	return ""
}

func refusedNode(node any) string {
	switch n := node.(type) {
	case gojq.Query:
		if n.Op == gojq.OpMul || n.Op >= gojq.OpAssign && n.Op <= gojq.OpUpdateAlt {
			return "the operator " + n.Op.String()
		}
	case gojq.Func:
		growing := []string{"setpath", "fromstream", "pick", "transpose", "_modify", "_assign", "_multiply"}
		ambient := []string{"now", "localtime", "strflocaltime", "halt", "halt_error"}
		if slices.Contains(growing, n.Name) || slices.Contains(ambient, n.Name) {
			return "the function " + n.Name
		}
	}
	return ""
}

// deletion is one run.
type deletion struct {
	code   *gojq.Code
	limits Limits
}

type outcome struct {
	doc map[string]any
	err error
}

// run works on a copy in a goroutine of its own, so that even a single long
// step cannot hold the caller past the limit.
func (d *deletion) run(doc map[string]any) (map[string]any, error) {
	in := reader{left: d.limits.Bytes}
	value, ok := in.read(doc).(map[string]any)
	if in.odd != nil {
		return nil, fmt.Errorf("running a jq expression: the document holds a %T, which is no JSON", in.odd)
	}
	if !ok || in.left < 0 {
		return nil, fmt.Errorf("running a jq expression: the document has more than %d bytes", d.limits.Bytes)
	}
	// A step between two looks at the clock may end a little late.
	timer := time.NewTimer(d.limits.Timeout + d.limits.Timeout/4)
	defer timer.Stop()
	done := make(chan outcome, 1)
	go func() { done <- d.execute(value) }()
	select {
	case o := <-done:
		if o.err == nil {
			return o.doc, nil
		}
		if missing(o.err) {
			return doc, nil
		}
		return nil, fmt.Errorf("running a jq expression: %w", o.err)
	case <-timer.C:
		return nil, fmt.Errorf("running a jq expression: %w", errTime)
	}
}

// missing reports that there was nothing to iterate over. The library has no
// type for it.
func missing(err error) bool { return err.Error() == "cannot iterate over: null" }

func (d *deletion) execute(value map[string]any) (out outcome) {
	defer func() {
		if r := recover(); r != nil {
			out = outcome{err: fmt.Errorf("the jq library gave up: %v", r)}
		}
	}()
	iter := d.code.RunWithContext(newBudget(d.limits), value)
	first, ok := iter.Next()
	if !ok {
		return outcome{err: errors.New("it leaves no document")}
	}
	if err, failed := first.(error); failed {
		return outcome{err: err}
	}
	if _, more := iter.Next(); more {
		return outcome{err: errors.New("it leaves several documents")}
	}
	doc, ok := write(first).(map[string]any)
	if !ok {
		return outcome{err: errors.New("it selects the whole document; name a field")}
	}
	return outcome{doc: doc}
}

// reader copies a document into the types of the jq library, as far as its
// bytes last. What is no JSON is kept as odd.
type reader struct {
	left int
	odd  any
}

func (r *reader) read(v any) any {
	r.left -= 4
	if r.left < 0 {
		return nil
	}
	switch t := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(t))
		for k, e := range t {
			r.left -= len(k)
			out[k] = r.read(e)
		}
		return out
	case []any:
		out := make([]any, len(t))
		for i, e := range t {
			out[i] = r.read(e)
		}
		return out
	case string:
		r.left -= len(t)
		return t
	case int64:
		return int(t)
	case bool, float64, int, nil:
		return t
	default:
		r.odd = t
		return nil
	}
}

// write copies a document back into the types of unstructured objects.
func write(v any) any {
	switch t := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(t))
		for k, e := range t {
			out[k] = write(e)
		}
		return out
	case []any:
		out := make([]any, len(t))
		for i, e := range t {
			out[i] = write(e)
		}
		return out
	case int:
		return int64(t)
	default:
		return v
	}
}
