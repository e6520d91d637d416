package script

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/worker"
)

// evaluate runs a script in this process, on a document.
func evaluate(t *testing.T, in *interpreter, source string, open bool, obj any) (any, error) {
	t.Helper()
	globals, err := appendGlobals(nil, map[string]any{"obj": obj})
	if err != nil {
		t.Fatal(err)
	}
	in.compile(source, source, open)
	out, err := in.run(t.Context(), source, globals, nil)
	if err != nil {
		return nil, err
	}
	c := worker.Cursor{Data: out}
	v := c.Value(0)
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	return v, nil
}

func widget() map[string]any {
	return map[string]any{
		"kind": "Widget",
		"metadata": map[string]any{
			"name": "w", "generation": int64(3),
			"labels": map[string]any{"a": "1", "b": "2", "c": "3"},
		},
		"spec": map[string]any{"replicas": int64(2), "ratio": 0.5, "paused": true, "empty": map[string]any{}, "none": nil},
		"status": map[string]any{
			"phase": "Running",
			"conditions": []any{
				map[string]any{"type": "Ready", "status": "True"},
				map[string]any{"type": "Synced", "status": "False", "message": "later"},
			},
		},
	}
}

func TestLuaReadsTheDocument(t *testing.T) {
	list := func(v ...any) []any { return v }
	for name, c := range map[string]struct {
		source string
		want   any
	}{
		"a field":               {`return obj.status.phase`, "Running"},
		"a number":              {`return obj.metadata.generation + 1`, int64(4)},
		"a fraction":            {`return obj.spec.ratio * 3`, 1.5},
		"nothing":               {`return obj.nothing`, nil},
		"null is nothing":       {`return obj.spec.none == nil`, true},
		"no return":             {`local x = 1`, nil},
		"a condition":           {`for i, c in ipairs(obj.status.conditions) do if c.type == "Synced" then return c.message .. i end end`, "later2"},
		"length":                {`return #obj.status.conditions`, int64(2)},
		"pairs are in order":    {`local s = "" for k, v in pairs(obj.metadata.labels) do s = s .. k .. v end return s`, "a1b2c3"},
		"next":                  {`return next(obj.spec.empty) == nil and next(obj.spec) ~= nil`, true},
		"the same table twice":  {`return obj.spec == obj.spec`, true},
		"types":                 {`return type(obj) .. type(obj.spec.paused) .. type(obj.x)`, "tablebooleannil"},
		"rawget":                {`return rawget(obj, "kind")`, "Widget"},
		"no metatable to see":   {`return getmetatable(obj.spec) == nil`, true},
		"writing":               {`obj.spec.replicas = 5 return obj.spec.replicas + #obj.kind`, int64(11)},
		"erasing":               {`obj.spec.replicas = nil return obj.spec.replicas`, nil},
		"erasing what was read": {`local r = obj.spec.replicas obj.spec.replicas = nil return obj.spec.replicas == nil and r`, int64(2)},
		"erasing leaves the rest": {
			`obj.metadata.labels.a = nil local n = 0 for _ in pairs(obj.metadata.labels) do n = n + 1 end return n`, int64(2),
		},
		"a global of its own":  {`hs = {} hs.status = "x" return hs.status .. _G.hs.status`, "xx"},
		"a list":               {`local l = {} table.insert(l, obj.status.phase) table.insert(l, 2) return l`, list("Running", int64(2))},
		"an untouched part":    {`return obj.metadata.labels`, map[string]any{"a": "1", "b": "2", "c": "3"}},
		"a changed part":       {`obj.status.conditions[1].status = "Unknown" return obj.status.conditions[1]`, map[string]any{"type": "Ready", "status": "Unknown"}},
		"an empty table":       {`return {}`, []any{}},
		"an own metatable":     {`local t = setmetatable({}, {__index = function() return 7 end}) return t.x`, int64(7)},
		"os by require":        {`local os = require("os") return os.time{year=2020, month=1, day=2} > 1577836800`, true},
		"a date":               {`return require("os").date("!%Y-%m-%d", 0)`, "1970-01-01"},
		"pcall":                {`local ok, e = pcall(function() error("no") end) return ok`, false},
		"the argument of a fn": {`local function f(...) return select("#", ...) end return f(1, 2, 3)`, int64(3)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := evaluate(t, newInterpreter(), c.source, false, widget())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("the answer differs (-want +got):\n%s", d)
			}
		})
	}
}

func TestOpenLibraries(t *testing.T) {
	for source, want := range map[string]any{
		`return string.upper("a") .. ("b"):upper()`:                                "AB",
		`return math.floor(2.5)`:                                                   int64(2),
		`return string.format("%d of %s", 1, "x")`:                                 "1 of x",
		`return os.getenv("PATH")`:                                                 nil,
		`return type(os.time()) .. type(os.clock())`:                               "numbernumber",
		`local co = coroutine.wrap(function() coroutine.yield(3) end) return co()`: int64(3),
	} {
		got, err := evaluate(t, newInterpreter(), source, true, widget())
		if err != nil || got != want {
			t.Errorf("%s: got %v, %v", source, got, err)
		}
	}
}

// TestLuaCannotReachOut: what is not there cannot be misused.
func TestLuaCannotReachOut(t *testing.T) {
	for _, open := range []bool{false, true} {
		for _, name := range []string{
			"dofile", "loadfile", "load", "loadstring", "module", "setfenv", "getfenv", "newproxy", "collectgarbage",
			"_printregs", "io", "debug", "channel", "package.loadlib", "package.loaders", "package.preload",
		} {
			if got, err := evaluate(t, newInterpreter(), "return "+name+" == nil", open, widget()); err != nil || got != true {
				t.Errorf("%s (open %v): got %v, %v", name, open, got, err)
			}
		}
		for _, name := range []string{"execute", "exit", "remove", "rename", "setenv", "tmpname", "setlocale"} {
			if got, err := evaluate(t, newInterpreter(), `return require("os").`+name+" == nil", open, widget()); err != nil || got != true {
				t.Errorf("os.%s (open %v): got %v, %v", name, open, got, err)
			}
		}
	}
	for _, name := range []string{"string", "math", "os", "coroutine"} {
		if got, err := evaluate(t, newInterpreter(), "return "+name+" == nil", false, widget()); err != nil || got != true {
			t.Errorf("%s without open libraries: got %v, %v", name, got, err)
		}
	}
	if _, err := evaluate(t, newInterpreter(), `return ("x"):upper()`, false, widget()); err == nil {
		t.Error("a text has methods without open libraries")
	}
}

// TestARunLeavesNoTrace: the next run, of whatever script, sees nothing of the
// one before.
func TestARunLeavesNoTrace(t *testing.T) {
	in := newInterpreter()
	for _, spoil := range []string{
		`leak = 1 _G.leak2 = 2 return 1`,
		`table.insert = nil pairs = nil _G.ipairs = nil return 1`,
		`local os = require("os") os.time = nil return 1`,
		`string.upper = nil string.format = nil math.floor = nil return 1`,
		`rawset(table, "insert", nil) rawset(_G, "type", nil) return 1`,
		`local m = getmetatable(_G) if m then m.__index = nil end return 1`,
		`local m = getmetatable("") if m then m.__index = nil m.upper = nil end return 1`,
		`error("no")`,
		`return nil + 1`,
	} {
		for _, open := range []bool{false, true} {
			_, _ = evaluate(t, in, spoil, open, widget())
			check := `local t = {} table.insert(t, type(leak)) for k in pairs({a=1}) do table.insert(t, k) end
				for i in ipairs({1}) do table.insert(t, i) end
				return type(leak2) .. t[1] .. t[2] .. t[3] .. type(require("os").time)`
			want := "nilnila1function"
			if open {
				check = strings.Replace(check, "return ", `return string.upper("u") .. ("v"):upper() .. math.floor(1) .. string.format("%d", 2) .. `, 1)
				want = "UV12" + want
			}
			if got, err := evaluate(t, in, check, open, widget()); err != nil || got != want {
				t.Errorf("after %s (open %v): got %v, %v", spoil, open, got, err)
			}
		}
	}
}

func TestLuaProblems(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"a syntax error":     {"local x = 1\nif x then", "at its end"},
		"another one":        {"local x = 1\nx = = 2\n", "line 2"},
		"a runtime error":    {"local x = nil\nreturn x.y", "line 2"},
		"its own error":      {`error("I give up")`, "I give up"},
		"an error table":     {`error({})`, "a table"},
		"a function":         {`return function() end`, "holds a function"},
		"a table of itself":  {`local t = {} t.t = t return t`, "holds itself"},
		"names and numbers":  {`return {1, a = 2}`, "both names and numbers"},
		"gaps":               {`return {[3] = 1, [5] = 2}`, "gaps"},
		"no number":          {`return 0/0`, "a number that is none"},
		"endless recursion":  {`local function f() return 1 + f() end return f()`, "stack overflow"},
		"a missing module":   {`require("socket")`, "only os"},
		"binary code":        {"\x1bLua", "compile"},
		"too many arguments": {`local t = {} for i = 1, 100000 do t[i] = i end return unpack(t)`, "registry"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := evaluate(t, newInterpreter(), c.source, false, widget())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v; want an error with %q", got, err, c.want)
			}
		})
	}
}

func BenchmarkLua(b *testing.B) {
	source := `hs = {} hs.status = "Progressing" hs.message = "" if obj.status ~= nil then if obj.status.phase ~= nil then hs.status = "Healthy" end end return hs`
	in := newInterpreter()
	in.compile("x", source, false)
	globals, err := appendGlobals(nil, map[string]any{"obj": widget()})
	if err != nil {
		b.Fatal(err)
	}
	var out []byte
	for b.Loop() {
		if out, err = in.run(b.Context(), "x", globals, out[:0]); err != nil {
			b.Fatal(err)
		}
	}
}
