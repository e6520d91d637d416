package wish

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Patch is a change that somebody wrote by hand.
type Patch struct {
	// JSON says that it is a list of steps (RFC 6902), and not a document to be merged (RFC 7386).
	JSON bool
	Text []byte
}

// Touched is what a patch is about.
type Touched struct {
	// Declares is that it changes what is declared, and Operates that it starts or ends an operation.
	Declares, Operates bool
}

// errPatch repeats nothing of what was sent: there may be a login in it.
var errPatch = errors.New("the patch cannot be read: it is JSON, a list of steps for patchType json and an object for merge")

// Touches says what a patch is about, by itself: without the application.
func (p Patch) Touches() (Touched, error) {
	if p.JSON {
		return p.steps()
	}
	var doc map[string]json.RawMessage
	if json.Unmarshal(p.Text, &doc) != nil || doc == nil {
		return Touched{}, errPatch
	}
	var out Touched
	_, starts := doc["operation"]
	for key, value := range doc {
		switch key {
		case "operation", "status":
			out.Operates = true
		case "metadata":
			declares, err := metaDeclares(value, starts)
			if err != nil {
				return Touched{}, err
			}
			out.Declares = out.Declares || declares
		case "apiVersion", "kind":
		default:
			out.Declares = true
		}
	}
	return out, nil
}

// metaDeclares says whether a change of the metadata is more than saying which version is meant. What a rollback writes
// down of the revision that it leaves is part of starting it.
func metaDeclares(text json.RawMessage, starts bool) (bool, error) {
	var meta map[string]json.RawMessage
	if json.Unmarshal(text, &meta) != nil {
		return false, errPatch
	}
	for key, value := range meta {
		switch key {
		case "resourceVersion", "uid", "name", "namespace":
			continue
		case "annotations":
			var annotations map[string]any
			if json.Unmarshal(value, &annotations) != nil {
				return false, errPatch
			}
			delete(annotations, v1alpha1.AnnotationRejected)
			if starts && len(annotations) == 0 && string(value) != "null" {
				continue
			}
		}
		return true, nil
	}
	return false, nil
}

func (p Patch) steps() (Touched, error) {
	var steps []struct{ Op, Path, From string }
	if json.Unmarshal(p.Text, &steps) != nil {
		return Touched{}, errPatch
	}
	var out Touched
	for _, s := range steps {
		if s.Path == "" {
			return Touched{}, errors.New("the patch changes the application as a whole; name the fields that it changes")
		}
		for _, path := range []string{s.Path, s.From} {
			first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
			switch {
			case path == "" || s.Op == "test":
			case first == "operation" || first == "status":
				out.Operates = true
			default:
				out.Declares = true
			}
		}
	}
	return out, nil
}

// On is an application with the patch. The application itself is not changed.
func (p Patch) On(app *v1alpha1.Application) (*v1alpha1.Application, error) {
	before, err := json.Marshal(app)
	if err != nil {
		return nil, fmt.Errorf("encoding what stands: %w", err)
	}
	after, err := p.apply(before)
	if err != nil {
		return nil, err
	}
	out := &v1alpha1.Application{}
	if json.Unmarshal(after, out) != nil {
		return nil, errors.New("with the patch it would be no Application any more: a field has a value of another type")
	}
	return out, nil
}

// apply is a document with the patch.
func (p Patch) apply(before []byte) ([]byte, error) {
	if !p.JSON {
		after, err := jsonpatch.MergePatch(before, p.Text)
		if err != nil {
			return nil, errPatch
		}
		return after, nil
	}
	steps, err := jsonpatch.DecodePatch(p.Text)
	if err != nil {
		return nil, errPatch
	}
	options := jsonpatch.NewApplyOptions()
	// A patch that copies a field into itself again and again grows without end.
	options.AccumulatedCopySizeLimit = mostCopied
	after, err := steps.ApplyWithOptions(before, options)
	if err != nil {
		return nil, errors.New("the patch does not fit: a step is about a field that is not there, or a test failed")
	}
	return after, nil
}

// mostCopied is how much a patch may copy.
const mostCopied = 1 << 20

// Merged is the merge patch that does the same to a document.
func (p Patch) Merged(before []byte) (merge map[string]any, err error) {
	after, err := p.apply(before)
	if err != nil {
		return nil, err
	}
	text, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return nil, fmt.Errorf("comparing with what stands: %w", err)
	}
	err = json.Unmarshal(text, &merge)
	return merge, err
}

// Undeclared names what somebody changed of an application besides what people declare: its spec, labels, annotations and
// finalizers. The operation and its state are left out: those are started and ended.
func Undeclared(now, wanted *v1alpha1.Application) []string {
	a, b := now.DeepCopy(), wanted.DeepCopy()
	for _, app := range []*v1alpha1.Application{a, b} {
		app.Spec, app.Labels, app.Annotations, app.Finalizers = v1alpha1.ApplicationSpec{}, nil, nil, nil
		app.ResourceVersion, app.ManagedFields, app.Kind, app.APIVersion = "", nil, "", ""
		app.Operation, app.Status.OperationState = nil, nil
	}
	var out []string
	if !equality.Semantic.DeepEqual(a.ObjectMeta, b.ObjectMeta) {
		out = append(out, "metadata besides labels, annotations and finalizers")
	}
	if !equality.Semantic.DeepEqual(a.Status, b.Status) {
		out = append(out, "status, which is the controller's")
	}
	return out
}

// Declare makes an application say what another says: its spec, labels, annotations and finalizers. What kubectl keeps for
// itself is nobody's wish.
func Declare(now, wanted *v1alpha1.Application) {
	now.Spec, now.Labels, now.Finalizers = wanted.Spec, wanted.Labels, wanted.Finalizers
	applied, had := now.Annotations[v1alpha1.AnnotationLastAppliedByKubectl]
	now.Annotations = maps.Clone(wanted.Annotations)
	delete(now.Annotations, v1alpha1.AnnotationLastAppliedByKubectl)
	if had {
		if now.Annotations == nil {
			now.Annotations = map[string]string{}
		}
		now.Annotations[v1alpha1.AnnotationLastAppliedByKubectl] = applied
	}
}

// Add makes an application say what another says, and leaves the labels and annotations of others.
func Add(now, wanted *v1alpha1.Application) {
	all := func(have, more map[string]string) map[string]string {
		if len(more) == 0 {
			return have
		}
		out := maps.Clone(have)
		if out == nil {
			out = map[string]string{}
		}
		maps.Copy(out, more)
		return out
	}
	annotations := maps.Clone(wanted.Annotations)
	delete(annotations, v1alpha1.AnnotationLastAppliedByKubectl)
	now.Spec = wanted.Spec
	now.Labels, now.Annotations = all(now.Labels, wanted.Labels), all(now.Annotations, annotations)
	if len(wanted.Finalizers) > 0 {
		now.Finalizers = slices.Clone(wanted.Finalizers)
	}
}

// Same says that an application declares already what another declares.
func Same(now, wanted *v1alpha1.Application) bool {
	next := now.DeepCopy()
	Add(next, wanted)
	return equality.Semantic.DeepEqual(next.Spec, now.Spec) && maps.Equal(next.Labels, now.Labels) &&
		maps.Equal(next.Annotations, now.Annotations) && slices.Equal(next.Finalizers, now.Finalizers)
}

// Foreign says that an operation brings along what the application does not declare and never had: manifests, or sources
// that are not in its history; or that it names another revision. back says that it goes back to an entry of the history.
func Foreign(app *v1alpha1.Application, op *v1alpha1.Operation) (foreign, back bool) {
	s := op.Sync
	switch {
	case s == nil:
		return false, false
	case len(s.Manifests) > 0:
		return true, false
	case s.Source == nil && len(s.Sources) == 0:
		return Sync{Revision: s.Revision, Revisions: s.Revisions}.elsewhere(app), false
	}
	for _, h := range app.Status.History {
		same := len(s.Sources) > 0 && equality.Semantic.DeepEqual(s.Sources, h.Sources) && slices.Equal(s.Revisions, h.Revisions) ||
			len(s.Sources) == 0 && equality.Semantic.DeepEqual(*s.Source, h.Source) && s.Revision == h.Revision
		if same {
			return false, true
		}
	}
	return true, false
}
