package script

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	lua "github.com/yuin/gopher-lua"

	"github.com/towline-cd/towline/internal/worker"
)

// unread is a map of the document that no script has looked through yet. Most
// scripts read three fields of a document that has hundreds, and a table of
// the library is dear to make.
type unread struct {
	entries []byte
	// known are the fields that were read, so that reading one again gives the
	// same table.
	known map[string]lua.LValue
}

// read makes a Lua value of the next value on the wire.
func (s *sandbox) read(in *worker.Cursor, depth int) lua.LValue {
	if depth > worker.Deepest {
		in.Fail(worker.ErrDeep)
		return lua.LNil
	}
	switch tag := in.Tag(); tag {
	case worker.TagTrue, worker.TagFalse:
		return lua.LBool(tag == worker.TagTrue)
	case worker.TagInt:
		return lua.LNumber(int64(in.Word()))
	case worker.TagFloat:
		return lua.LNumber(math.Float64frombits(in.Word()))
	case worker.TagText:
		return lua.LString(in.Text())
	case worker.TagList:
		n := in.Count()
		t := s.state.CreateTable(n, 0)
		for i := 1; i <= n && in.Err == nil; i++ {
			t.RawSetInt(i, s.read(in, depth+1))
		}
		return t
	case worker.TagMap:
		t := &lua.LTable{Metatable: s.lazy}
		s.unread[t] = &unread{entries: in.Entries()}
		return t
	case worker.TagNil:
		return lua.LNil
	default:
		in.Fail(errors.New("the message has an unknown tag"))
		return lua.LNil
	}
}

// lazyIndex reads one field of a map.
func (s *sandbox) lazyIndex(l *lua.LState) int {
	l.Push(s.field(l.Get(1), l.Get(2)))
	return 1
}

func (s *sandbox) field(table, key lua.LValue) lua.LValue {
	t, ok := table.(*lua.LTable)
	name, isText := key.(lua.LString)
	u := s.unread[t]
	if !ok || !isText || u == nil {
		return lua.LNil
	}
	if v, ok := u.known[string(name)]; ok {
		return v
	}
	in := worker.Cursor{Data: u.entries}
	for n := in.Count(); n > 0 && in.Err == nil; n-- {
		if !bytes.Equal(in.Bytes(), []byte(name)) {
			in.Skip(0)
			continue
		}
		v := s.read(&in, 0)
		if u.known == nil {
			u.known = map[string]lua.LValue{}
		}
		u.known[string(name)] = v
		return v
	}
	return lua.LNil
}

// lazyAssign reads the map, which from then on is like any other.
func (s *sandbox) lazyAssign(l *lua.LState) int {
	t := l.CheckTable(1)
	s.touch(t)
	l.RawSet(t, l.Get(2), l.Get(3))
	return 0
}

// touch reads a map in full, if it has not been.
func (s *sandbox) touch(v lua.LValue) {
	t, ok := v.(*lua.LTable)
	if !ok {
		return
	}
	u, ok := s.unread[t]
	if !ok {
		return
	}
	delete(s.unread, t)
	t.Metatable = lua.LNil
	in := worker.Cursor{Data: u.entries}
	for n := in.Count(); n > 0 && in.Err == nil; n-- {
		name := in.Text()
		if known, ok := u.known[name]; ok {
			in.Skip(0)
			t.RawSetString(name, known)
			continue
		}
		t.RawSetString(name, s.read(&in, 0))
	}
}

// largestResult bounds what a script returns.
const largestResult = 4 << 20

// writer puts what a script returned on the wire.
type writer struct {
	*sandbox
	out   []byte
	limit int
	err   error
}

func (s *sandbox) appendLua(out []byte, v lua.LValue) ([]byte, error) {
	w := writer{sandbox: s, out: out, limit: len(out) + largestResult}
	w.value(v, 0)
	return w.out, w.err
}

func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

func (w *writer) value(v lua.LValue, depth int) {
	switch {
	case w.err != nil:
		return
	case depth > worker.Deepest:
		w.fail("what it returns is nested deeper than %d levels, or holds itself", worker.Deepest)
		return
	case len(w.out) > w.limit:
		w.fail("what it returns is larger than %d bytes", largestResult)
		return
	}
	switch t := v.(type) {
	case *lua.LNilType:
		w.out = append(w.out, worker.TagNil)
	case lua.LBool:
		w.out = append(w.out, worker.BoolTag(bool(t)))
	case lua.LNumber:
		w.number(float64(t))
	case lua.LString:
		w.out = worker.AppendText(append(w.out, worker.TagText), string(t))
	case *lua.LTable:
		w.table(t, depth)
	default:
		w.fail("what it returns holds a %s", v.Type())
	}
}

// number keeps a whole number whole: Lua has but one kind of them.
func (w *writer) number(f float64) {
	if n := int64(f); float64(n) == f && math.Abs(f) < 1<<63 {
		w.out = binary.BigEndian.AppendUint64(append(w.out, worker.TagInt), uint64(n))
		return
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.fail("what it returns holds a number that is none")
		return
	}
	w.out = binary.BigEndian.AppendUint64(append(w.out, worker.TagFloat), math.Float64bits(f))
}

func (w *writer) table(t *lua.LTable, depth int) {
	if u, ok := w.unread[t]; ok && t.Len() == 0 && len(u.known) == 0 {
		out, start := worker.OpenMap(w.out)
		w.out = append(out, u.entries...)
		worker.CloseMap(w.out, start)
		return
	}
	w.touch(t)
	n, fields, items := t.Len(), 0, 0
	t.ForEach(func(k, _ lua.LValue) {
		if _, ok := k.(lua.LNumber); ok {
			items++
			return
		}
		fields++
	})
	if fields > 0 {
		w.fields(t, depth)
		return
	}
	if items != n {
		w.fail("what it returns holds a list with gaps")
		return
	}
	// An empty table is an empty list; what it was before is the caller's to know.
	w.out = worker.AppendCount(append(w.out, worker.TagList), n)
	for i := 1; i <= n; i++ {
		w.value(t.RawGetInt(i), depth+1)
	}
}

func (w *writer) fields(t *lua.LTable, depth int) {
	var names []string
	t.ForEach(func(k, _ lua.LValue) {
		name, ok := k.(lua.LString)
		if !ok {
			w.fail("what it returns holds a table with both names and numbers, or other keys")
			return
		}
		names = append(names, string(name))
	})
	out, start := worker.OpenMap(w.out)
	w.out = worker.AppendCount(out, len(names))
	for _, name := range names {
		w.out = worker.AppendText(w.out, name)
		w.value(t.RawGetString(name), depth+1)
	}
	worker.CloseMap(w.out, start)
}
