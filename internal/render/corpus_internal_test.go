package render

import (
	"testing"

	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/test/corpus"
	"github.com/towline-cd/towline/test/story"
)

// TestCorpusInAWorker renders the charts and overlays of test/corpus as the product does: neither confinement nor the way
// to another process and back makes a difference.
func TestCorpusInAWorker(t *testing.T) {
	h := warmHost(t, HostOptions{Workers: 1})
	for _, tool := range []string{"helm", "kustomize"} {
		t.Run(tool, func(t *testing.T) {
			story.Play(t, "../../test/corpus/"+tool+"/*.txtar", func(t *testing.T, part map[string][]byte) string {
				c := corpus.Read(t, part)
				result, err := h.Render(t.Context(), c.Trees(t, part), c.Request())
				return corpus.Outcome(t, result, err)
			})
		})
	}
}

// TestTheWarmUpWarms: each sample is rendered, or it makes nothing ready.
func TestTheWarmUpWarms(t *testing.T) {
	for path, req := range warmUps() {
		result, err := Local(t.Context(), manifest.Trees{"": samples}, req)
		if err != nil || len(result.Objects) == 0 {
			t.Errorf("%s: %d objects, %v", path, len(result.Objects), err)
		}
	}
}
