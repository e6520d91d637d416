package server

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/wish"
)

// PatchQuery is a change that somebody wrote by hand.
type PatchQuery struct {
	Asked
	Patch string `json:"patch"`
	// PatchType is json or merge; merge without it.
	PatchType string `json:"patchType,omitempty"`
}

func (q PatchQuery) patch() (wish.Patch, error) {
	switch q.PatchType {
	case "", "merge":
		return wish.Patch{Text: []byte(q.Patch)}, nil
	case "json":
		return wish.Patch{JSON: true, Text: []byte(q.Patch)}, nil
	}
	return wish.Patch{}, badRequest("patchType is json or merge")
}

func (r *Request) patch() (wish.Patch, wish.Touched, error) {
	var q PatchQuery
	if err := r.Body(&q); err != nil {
		return wish.Patch{}, wish.Touched{}, err
	}
	p, err := q.patch()
	if err != nil {
		return p, wish.Touched{}, err
	}
	touched, err := p.Touches()
	if err != nil {
		return p, touched, badRequest(err.Error())
	}
	return p, touched, nil
}

// patchVerbs are the rights that a patch takes: to change what is declared, and to start or end operations.
func (s *Server) patchVerbs(req *Request) ([]string, error) {
	_, touched, err := req.patch()
	if err != nil {
		return nil, err
	}
	var out []string
	if touched.Operates {
		out = append(out, "sync")
	}
	if touched.Declares || !touched.Operates {
		out = append(out, "update")
	}
	return out, nil
}

// patchApp changes an application as a patch says. One that starts or ends an operation is held to what is asked of those.
func (s *Server) patchApp(req *Request) (any, error) {
	if s.Writing.Applications == nil {
		return nil, absent("writing applications")
	}
	p, touched, err := req.patch()
	if err != nil {
		return nil, err
	}
	if touched.Operates {
		req.note("operates", true)
		return s.told(req)(s.operate(req, func(app *v1alpha1.Application) (map[string]any, error) {
			return s.patchOperation(req, app, p, touched)
		}))
	}
	return s.told(req)(s.amend(req, s.appKey(req), amendment{edit: func(now *v1alpha1.Application) error {
		next, err := s.patched(now, p)
		if err != nil {
			return err
		}
		if !equality.Semantic.DeepEqual(now.Operation, next.Operation) ||
			!equality.Semantic.DeepEqual(now.Status.OperationState, next.Status.OperationState) {
			return badRequest("the patch starts or ends an operation, and does not say so")
		}
		if next.ResourceVersion != now.ResourceVersion {
			return errMoved
		}
		wish.Declare(now, next)
		return nil
	}}))
}

// patched is an application with a patch, as far as people may change it.
func (s *Server) patched(now *v1alpha1.Application, p wish.Patch) (*v1alpha1.Application, error) {
	next, err := p.On(now)
	if err != nil {
		return nil, badRequest(err.Error())
	}
	if bad := wish.Undeclared(now, next); len(bad) > 0 {
		return nil, badRequest("the patch changes what people do not: " + strings.Join(bad, ", "))
	}
	return next, s.unmask(now, next)
}

// patchOperation is what a patch that starts or ends an operation comes to.
func (s *Server) patchOperation(req *Request, app *v1alpha1.Application, p wish.Patch, touched wish.Touched) (map[string]any, error) {
	next, err := s.patched(app, p)
	if err != nil {
		return nil, err
	}
	if next.ResourceVersion != app.ResourceVersion {
		return nil, errMoved
	}
	rejected := next.Annotations[v1alpha1.AnnotationRejected]
	kept := next.DeepCopy()
	if kept.Annotations != nil && app.Annotations[v1alpha1.AnnotationRejected] != rejected {
		delete(kept.Annotations, v1alpha1.AnnotationRejected)
		if old, had := app.Annotations[v1alpha1.AnnotationRejected]; had {
			kept.Annotations[v1alpha1.AnnotationRejected] = old
		}
	}
	if touched.Declares || !sameDeclared(app, kept) {
		return nil, badRequest("the patch starts or ends an operation and changes the application too; send these as two")
	}
	state, was := next.Status.OperationState, app.Status.OperationState
	switch {
	case next.Operation != nil && !equality.Semantic.DeepEqual(app.Operation, next.Operation):
		return s.patchStart(req, app, next)
	case next.Operation == nil && app.Operation != nil || state != nil && was != nil && state.Phase == v1alpha1.OperationTerminating:
		patch, _ := wish.End(app)
		if patch == nil {
			return nil, badRequest(fmt.Sprintf("application %q has no operation in progress", app.Name))
		}
		return patch, nil
	}
	return nil, badRequest("the status is the controller's; a patch may start an operation, or end the one that runs")
}

func (s *Server) patchStart(req *Request, app, next *v1alpha1.Application) (map[string]any, error) {
	op := next.Operation.DeepCopy()
	op.InitiatedBy = v1alpha1.OperationInitiator{Username: req.username()}
	if op.Sync == nil {
		return nil, badRequest("an operation is a sync")
	}
	foreign, back := wish.Foreign(app, op)
	local := len(op.Sync.Manifests) > 0 || foreign && (op.Sync.Source != nil || len(op.Sync.Sources) > 0)
	needs := map[string]bool{
		"override": local || foreign && s.Settings().RevisionRight,
		"rollback": back && s.Settings().RollbackRight,
	}
	for verb, needed := range needs {
		if needed && !req.May("applications", verb, s.objectOf(app)) {
			return nil, errDenied
		}
	}
	asked := wish.Sync{Revision: op.Sync.Revision, Revisions: op.Sync.Revisions, DryRun: op.Sync.DryRun, Manifests: op.Sync.Manifests}
	if back {
		asked = wish.Sync{}
	}
	if err := sayRefusal(app, asked.Refusal(app)); err != nil {
		return nil, err
	}
	req.note("revision", op.Sync.Revision)
	patch := wish.Start(app, op)
	if rejected := next.Annotations[v1alpha1.AnnotationRejected]; back && rejected != app.Annotations[v1alpha1.AnnotationRejected] {
		meta, _ := patch["metadata"].(map[string]any)
		meta["annotations"] = map[string]any{v1alpha1.AnnotationRejected: rejected}
	}
	return patch, s.mayRun(req, app, op)
}

// sameDeclared says that two applications declare the same.
func sameDeclared(a, b *v1alpha1.Application) bool {
	return equality.Semantic.DeepEqual(a.Spec, b.Spec) && equality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		equality.Semantic.DeepEqual(a.Annotations, b.Annotations) && equality.Semantic.DeepEqual(a.Finalizers, b.Finalizers)
}
