package script

import (
	"context"
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
	luaparse "github.com/yuin/gopher-lua/parse"

	"github.com/towline-cd/towline/internal/worker"
)

// interpreter runs Lua. It lives in the worker process only: the library can
// bound neither the memory of a script nor a single long step of one.
//
// A state is used again and again, so no run may leave a trace in it: each has
// an environment of its own, and gets copies of the libraries that it asks for.
type interpreter struct {
	plain, open *sandbox
	programs    map[string]program
}

// program is a script that was compiled, or the reason why it was not.
type program struct {
	proto   *lua.FunctionProto
	open    bool
	problem string
}

func newInterpreter() *interpreter {
	return &interpreter{programs: map[string]program{}}
}

// compile keeps a script under an id. It is compiled once.
func (in *interpreter) compile(id, source string, open bool) {
	proto, err := compileLua(source)
	p := program{proto: proto, open: open}
	if err != nil {
		p.problem = "it does not compile: " + err.Error()
	}
	in.programs[id] = p
}

// chunk is the name that the lines of a script have in messages.
const chunk = "script"

func compileLua(source string) (proto *lua.FunctionProto, err error) {
	defer func() {
		if r := recover(); r != nil {
			proto, err = nil, fmt.Errorf("the compiler gave up: %v", r)
		}
	}()
	tree, err := luaparse.Parse(strings.NewReader(source), chunk)
	if err != nil {
		return nil, syntaxError(err)
	}
	proto, err = lua.Compile(tree, chunk)
	if err != nil {
		return nil, syntaxError(err)
	}
	return proto, nil
}

// syntaxError says it in one line, with the line of the script in front.
func syntaxError(err error) error {
	if p, ok := errors.AsType[*luaparse.Error](err); ok {
		if p.Pos.Line <= 0 {
			return fmt.Errorf("at its end: %s", p.Message)
		}
		return fmt.Errorf("line %d, near %q: %s", p.Pos.Line, p.Token, p.Message)
	}
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}

// run gives the globals (a map as it came over the wire) to a program and
// appends what it returns.
func (in *interpreter) run(ctx context.Context, id string, globals, out []byte) ([]byte, error) {
	p, ok := in.programs[id]
	switch {
	case !ok:
		return nil, errors.New("the script is not known")
	case p.problem != "":
		return nil, errors.New(p.problem)
	}
	s := in.sandbox(p.open)
	s.state.SetContext(ctx)
	value, err := s.call(p.proto, globals)
	if err == nil {
		out, err = s.appendLua(out, value)
	}
	s.end()
	if ctx.Err() != nil {
		// What a script that was stopped left behind is nobody's business.
		in.drop(p.open)
	}
	return out, err
}

func (in *interpreter) sandbox(open bool) *sandbox {
	s := &in.plain
	if open {
		s = &in.open
	}
	if *s == nil {
		*s = newSandbox(open)
	}
	return *s
}

func (in *interpreter) drop(open bool) {
	if open {
		in.open = nil
		return
	}
	in.plain = nil
}

// sandbox is a state with the libraries that a script may have.
type sandbox struct {
	state *lua.LState
	// values are the functions that every script sees, and libraries the tables
	// of which each run gets a copy.
	values    map[string]lua.LValue
	libraries map[string]*lua.LTable
	// environment is the metatable of an environment, lazy that of a map which
	// has not been read yet; unread are those maps, of the current run.
	environment, lazy *lua.LTable
	unread            map[*lua.LTable]*unread
}

func (s *sandbox) call(proto *lua.FunctionProto, globals []byte) (v lua.LValue, err error) {
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, fmt.Errorf("the Lua library gave up: %v", r)
		}
	}()
	env := s.state.CreateTable(0, 4)
	env.Metatable = s.environment
	env.RawSetString("_G", env)
	in := worker.Cursor{Data: globals}
	for n := in.Count(); n > 0 && in.Err == nil; n-- {
		name := in.Text()
		env.RawSetString(name, s.read(&in, 0))
	}
	if in.Err != nil {
		return nil, in.Err
	}
	fn := s.state.NewFunctionFromProto(proto)
	fn.Env = env
	s.state.Push(fn)
	if err := s.state.PCall(0, 1, nil); err != nil {
		return nil, runError(err)
	}
	v = s.state.Get(-1)
	return v, nil
}

// end lets go of everything that belonged to the run.
func (s *sandbox) end() {
	s.state.SetTop(0)
	clear(s.unread)
}

// runError is what the script died of, without the trace of the library.
func runError(err error) error {
	var api *lua.ApiError
	if !errors.As(err, &api) || api.Object == nil {
		return err
	}
	text, ok := api.Object.(lua.LString)
	if !ok {
		return fmt.Errorf("it raised an error that is a %s", api.Object.Type())
	}
	said := strings.ToValidUTF8(string(text), "?")
	if at, located := strings.CutPrefix(said, chunk+":"); located {
		said = "line " + at
	}
	return errors.New(said)
}
