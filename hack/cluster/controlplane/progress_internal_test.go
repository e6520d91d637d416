package controlplane

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// What a build says comes in pieces: modules and packages are counted, and only messages are left for an error.
func TestProgress(t *testing.T) {
	var out strings.Builder
	p := NewProgress(&out)
	p.told = time.Now().Add(-2 * often)
	text := "go: downloading k8s.io/api v0.37.2\ngo: downloading sigs.k8s.io/yaml v1.6.0\n" +
		"k8s.io/api/core/v1\nsigs.k8s.io/yaml\n# k8s.io/api/core/v1\napi.go:3:1: syntax error\nno new line"
	for piece := range strings.SplitSeq(text, "o") {
		if _, err := io.WriteString(p, piece+"o"); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := fmt.Sprint(p.fetched, p.compiled), "2 2"; got != want {
		t.Errorf("fetched and compiled are %s, not %s", got, want)
	}
	if n := strings.Count(out.String(), "packages compiled"); n != 1 {
		t.Errorf("it was told %d times within %s:\n%s", n, often, out.String())
	}
	err := p.Failed(errors.New("exit status 1"))
	for _, want := range []string{"exit status 1", "# k8s.io/api/core/v1\napi.go:3:1: syntax error", "no new line"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if strings.Contains(err.Error(), "downloading") {
		t.Errorf("the error tells of progress: %q", err)
	}
}
