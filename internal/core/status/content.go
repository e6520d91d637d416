package status

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Content is what was compared or synced: sources, and the revision of each.
type Content struct {
	Sources   v1alpha1.ApplicationSources
	Revisions []string
	// Many says that it is told in lists, as an application with spec.sources
	// has it even if there is one.
	Many bool
}

// ContentOf is what an application asks for, the revisions yet unknown.
func ContentOf(app *v1alpha1.Application) Content {
	return Content{Sources: app.Sources(), Many: len(app.Spec.Sources) > 0}
}

// Compared is what the status speaks of.
func Compared(s v1alpha1.SyncStatus) Content {
	return contentOf(s.ComparedTo.Source, s.Revision, s.ComparedTo.Sources, s.Revisions)
}

// Synced is what an operation syncs.
func Synced(r *v1alpha1.SyncOperationResult) Content {
	return contentOf(r.Source, r.Revision, r.Sources, r.Revisions)
}

// Deployed is what an entry of the history was.
func Deployed(h v1alpha1.RevisionHistory) Content {
	return contentOf(h.Source, h.Revision, h.Sources, h.Revisions)
}

func contentOf(source v1alpha1.ApplicationSource, revision string, sources v1alpha1.ApplicationSources, revisions []string) Content {
	if len(sources) > 0 {
		return Content{Sources: sources, Revisions: revisions, Many: true}
	}
	return Content{Sources: v1alpha1.ApplicationSources{source}, Revisions: []string{revision}}
}

// SameSources says whether both are made of the same sources.
func (c Content) SameSources(other Content) bool {
	return equality.Semantic.DeepEqual(c.Sources, other.Sources)
}

// Same says whether both are the same revisions of the same sources.
func (c Content) Same(other Content) bool {
	return slices.Equal(c.Revisions, other.Revisions) && c.SameSources(other)
}

// Known says whether the revision of each source is known.
func (c Content) Known() bool {
	return len(c.Sources) > 0 && len(c.Revisions) == len(c.Sources) && !slices.Contains(c.Revisions, "")
}

// Name names the revisions in one word, for logs and for what is remembered.
func (c Content) Name() string { return strings.Join(c.Revisions, ",") }

// First is the first revision.
func (c Content) First() string {
	if len(c.Revisions) == 0 {
		return ""
	}
	return c.Revisions[0]
}

// single are the fields of an application with one source.
func (c Content) single() (v1alpha1.ApplicationSource, string) {
	if c.Many || len(c.Sources) == 0 {
		return v1alpha1.ApplicationSource{}, ""
	}
	return c.Sources[0], c.First()
}

// lists are the fields of an application with many.
func (c Content) lists() (v1alpha1.ApplicationSources, []string) {
	if !c.Many {
		return nil, nil
	}
	return c.Sources, c.Revisions
}

func (c Content) result() *v1alpha1.SyncOperationResult {
	out := &v1alpha1.SyncOperationResult{}
	out.Source, out.Revision = c.single()
	out.Sources, out.Revisions = c.lists()
	return out
}
