package api_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/towline-cd/towline/test/workshop"
)

// TestCommandsOfGuides plays what guides for Argo CD have people type, as it stands there: in the namespace that they
// name, by the name that they use, and then by our own.
func TestCommandsOfGuides(t *testing.T) {
	s := bareStage(t, "argocd")
	for _, name := range []string{"argocd", "towline"} {
		t.Run(name, func(t *testing.T) {
			here := *s
			here.T = t
			p := here.newPlayer(name)
			// What the guide's folder takes from the project's own.
			s.must(os.CopyFS(filepath.Join(p.dir, "kubernetes", "base", "crd"), os.DirFS(filepath.Join(workshop.Root(), "config", "crd"))))
			ran := p.play("testdata/script/install.txtar")
			if s.base == "" {
				// The program outlives the first of the two.
				p.established()
				s.start()
				here.base, here.token, here.log = s.base, s.token, s.log
			}
			for _, file := range []string{"guide.txtar", "reference.txtar", "reads.txtar"} {
				ran += p.play(filepath.Join("testdata", "script", file))
			}
			if ran < 40 {
				t.Errorf("only %d commands were run", ran)
			}
		})
	}
}
