package kustomize_test

import (
	"testing"

	"github.com/towline-cd/towline/internal/render/kustomize"
	"github.com/towline-cd/towline/test/corpus"
	"github.com/towline-cd/towline/test/story"
)

// TestCorpus builds the overlays of test/corpus; `make corpus` proves that the stock tool builds them the same.
func TestCorpus(t *testing.T) {
	story.Play(t, "../../../test/corpus/kustomize/*.txtar", func(t *testing.T, part map[string][]byte) string {
		c := corpus.Read(t, part)
		result, err := kustomize.Render(t.Context(), c.Trees(t, part), c.Request())
		return corpus.Outcome(t, result, err)
	})
}
