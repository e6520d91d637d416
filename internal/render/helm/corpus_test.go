package helm_test

import (
	"testing"

	"github.com/towline-cd/towline/internal/render/helm"
	"github.com/towline-cd/towline/test/corpus"
	"github.com/towline-cd/towline/test/story"
)

// TestCorpus renders the charts of test/corpus; `make corpus` proves that the stock tool renders them the same.
func TestCorpus(t *testing.T) {
	story.Play(t, "../../../test/corpus/helm/*.txtar", func(t *testing.T, part map[string][]byte) string {
		c := corpus.Read(t, part)
		result, err := helm.Render(t.Context(), c.Trees(t, part), c.Request())
		return corpus.Outcome(t, result, err)
	})
}
