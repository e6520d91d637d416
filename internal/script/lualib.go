package script

import (
	lua "github.com/yuin/gopher-lua"
)

// What of the base library a script may have. Left out is what loads code
// (load, dofile, module …), what reaches another run (setfenv, getfenv,
// newproxy) and what speaks to the process (print, collectgarbage).
var baseNames = []string{
	"assert", "error", "ipairs", "pcall", "rawequal", "select", "tonumber", "tostring", "type", "unpack", "xpcall", "_VERSION",
}

// touching are the functions of the base library that look into a table behind
// the back of its metatable: a map that has not been read yet is read first.
var touching = []string{"next", "rawget", "rawset", "setmetatable", "getmetatable"}

// osNames are the safe part of os.
var osNames = []string{"time", "date"}

// longestText is how long a text string.rep may make.
const longestText = 4 << 20

// newSandbox makes a state. open adds the libraries that useOpenLibs asks for:
// string, math and coroutine, and a little more of os. There is no io, no
// debug, no channel and nothing of os that touches the system.
func newSandbox(open bool) *sandbox {
	l := lua.NewState(lua.Options{
		SkipOpenLibs: true, RegistrySize: 1 << 12, RegistryMaxSize: 1 << 16, RegistryGrowStep: 1 << 10,
	})
	s := &sandbox{
		state: l, values: map[string]lua.LValue{}, libraries: map[string]*lua.LTable{}, unread: map[*lua.LTable]*unread{},
	}
	s.base(opened(l, lua.OpenBase))
	s.libraries["table"] = opened(l, lua.OpenTable)
	clock := picked(l, opened(l, lua.OpenOs), osNames)
	s.libraries["package"] = l.NewTable()
	if open {
		clock = picked(l, opened(l, lua.OpenOs), append([]string{"clock", "difftime"}, osNames...))
		clock.RawSetString("getenv", l.NewFunction(func(l *lua.LState) int { l.Push(lua.LNil); return 1 }))
		s.libraries["os"] = clock
		s.openText(l)
		s.libraries["math"] = opened(l, lua.OpenMath)
		s.libraries["coroutine"] = opened(l, lua.OpenCoroutine)
	}
	s.values["require"] = l.NewFunction(s.require(clock))
	s.environment = l.NewTable()
	s.environment.RawSetString("__index", l.NewFunction(s.global))
	s.environment.RawSetString("__metatable", lua.LFalse)
	s.lazy = l.NewTable()
	s.lazy.RawSetString("__index", l.NewFunction(s.lazyIndex))
	s.lazy.RawSetString("__newindex", l.NewFunction(s.lazyAssign))
	return s
}

// opened loads a library and returns its table.
func opened(l *lua.LState, load lua.LGFunction) *lua.LTable {
	l.Push(l.NewFunction(load))
	l.Call(0, 1)
	t, ok := l.Get(-1).(*lua.LTable)
	l.Pop(1)
	if !ok {
		return l.NewTable()
	}
	return t
}

func picked(l *lua.LState, from *lua.LTable, names []string) *lua.LTable {
	out := l.NewTable()
	for _, name := range names {
		out.RawSetString(name, from.RawGetString(name))
	}
	return out
}

func (s *sandbox) base(all *lua.LTable) {
	for _, name := range baseNames {
		s.values[name] = all.RawGetString(name)
	}
	for _, name := range touching {
		fn, ok := all.RawGetString(name).(*lua.LFunction)
		if !ok {
			continue
		}
		s.values[name] = s.state.NewFunction(func(l *lua.LState) int {
			s.touch(l.Get(1))
			return fn.GFunction(l)
		})
	}
	next := s.values["next"]
	s.values["pairs"] = s.state.NewFunction(func(l *lua.LState) int {
		t := l.CheckTable(1)
		s.touch(t)
		l.Push(next)
		l.Push(t)
		l.Push(lua.LNil)
		return 3
	})
	// Scripts that were written with print in them go on working.
	silent := s.state.NewFunction(func(*lua.LState) int { return 0 })
	s.values["print"] = silent
}

// openText is the string library. Its table is also what a text's own methods
// are looked up in, so a script must not get hold of it.
func (s *sandbox) openText(l *lua.LState) {
	methods := opened(l, lua.OpenString)
	methods.RawSetString("dump", lua.LNil)
	repeat, ok := methods.RawGetString("rep").(*lua.LFunction)
	if ok {
		methods.RawSetString("rep", l.NewFunction(func(l *lua.LState) int {
			if n := l.CheckInt(2); n > 0 && len(l.CheckString(1)) > longestText/n {
				l.RaiseError("the text would be longer than %d bytes", longestText)
			}
			return repeat.GFunction(l)
		}))
	}
	visible := l.NewTable()
	methods.ForEach(func(k, v lua.LValue) {
		if k != lua.LString("__index") {
			visible.RawSet(k, v)
		}
	})
	s.libraries["string"] = visible
	methods.RawSetString("__metatable", lua.LFalse)
}

// global is looked up when an environment does not have a name. A library is
// copied into the environment, where a run may do with it what it likes.
func (s *sandbox) global(l *lua.LState) int {
	env, ok := l.Get(1).(*lua.LTable)
	name, isText := l.Get(2).(lua.LString)
	if !ok || !isText {
		l.Push(lua.LNil)
		return 1
	}
	if v, ok := s.values[string(name)]; ok {
		l.Push(v)
		return 1
	}
	if library, ok := s.libraries[string(name)]; ok {
		t := copied(l, library)
		env.RawSetString(string(name), t)
		l.Push(t)
		return 1
	}
	l.Push(lua.LNil)
	return 1
}

func copied(l *lua.LState, t *lua.LTable) *lua.LTable {
	out := l.NewTable()
	t.ForEach(out.RawSet)
	return out
}

// require knows os, in its safe part, and the libraries that are there anyway.
func (s *sandbox) require(clock *lua.LTable) lua.LGFunction {
	return func(l *lua.LState) int {
		name := l.CheckString(1)
		library := s.libraries[name]
		if name == lua.OsLibName {
			library = clock
		}
		if library == nil {
			l.RaiseError("module %s not found: only os can be required here", name)
		}
		l.Push(copied(l, library))
		return 1
	}
}
