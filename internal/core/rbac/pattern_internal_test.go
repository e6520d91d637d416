package rbac

import (
	"strings"
	"testing"

	"github.com/gobwas/glob"
	"pgregory.net/rapid"
)

// Globs mean what the library means by them, and are refused where it refuses them.
func TestGlobsMeanTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune(`ab/*?[]{},!-\é`)), 0, 14, -1).Draw(t, "glob")
		want, bad := glob.Compile(text)
		got, err := compile(Glob, text)
		if (err != nil) != (bad != nil) {
			t.Fatalf("the glob %q: got error %v, want %v", text, err, bad)
		}
		if err != nil {
			return
		}
		name := rapid.StringOfN(rapid.SampledFrom([]rune(`ab/,-!é`)), 0, 8, -1).Draw(t, "name")
		if got.match(name) != want.Match(name) {
			t.Fatalf("the glob %q matches %q: got %t, want %t", text, name, got.match(name), want.Match(name))
		}
	})
}

// What would take for ever, or all memory, is answered or refused: without that this test does not end.
func TestBombsDoNotGoOff(t *testing.T) {
	name := strings.Repeat("a", 2000)
	for _, text := range []string{
		strings.Repeat("*a", 400) + "b",
		strings.Repeat("?*", 400) + "b",
		strings.Repeat("{*,a}", 150) + "b",
		strings.Repeat("{a,{a,", 100) + "a" + strings.Repeat("}}", 100) + "b",
		strings.Repeat("[a-z]*", 150) + "b",
	} {
		p, err := compile(Glob, text)
		if err != nil {
			t.Errorf("%s: %v", short(text), err)
		}
		if p.match(name) {
			t.Errorf("%s matches", short(text))
		}
	}
	for _, text := range []string{
		"((((a{100}){100}){100}){100})", strings.Repeat(`(x{0,999}y)`, 90), "(" + strings.Repeat("[", 900), strings.Repeat("a", maxPattern+1),
		strings.Repeat("(", 600) + "a" + strings.Repeat(")*", 200), `a{1000}{1000}`,
	} {
		if _, err := compile(Regex, text); err == nil {
			t.Errorf("%s is taken", short(text))
		}
	}
	p, err := compile(Regex, strings.Repeat("(a*)*", 100)+"b")
	if err != nil || p.match(name) {
		t.Errorf("stars of stars: %v", err)
	}
}
