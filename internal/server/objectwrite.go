package server

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/wish"
	"github.com/towline-cd/towline/internal/engine"
)

// named is the object that a request is about, with all of its name.
func (r *Request) named() (object.Key, error) {
	k := r.resource().key()
	if k.Kind == "" || k.Name == "" {
		return k, badRequest("name the object: group, version, kind, namespace and resourceName")
	}
	for _, part := range []string{k.Group, k.Kind, k.Namespace, k.Name} {
		// A slash has a meaning in what rules are asked about.
		if strings.Contains(part, "/") {
			return k, badRequest("the name of the object has a slash in it")
		}
	}
	return k, nil
}

// objectVerb is the right to do something with one object: update/apps/Deployment/shop/web.
func objectVerb(verb string) func(*Request) ([]string, error) {
	return func(req *Request) ([]string, error) {
		k, err := req.named()
		if err != nil {
			return nil, err
		}
		return []string{strings.Join([]string{verb, k.Group, k.Kind, k.Namespace, k.Name}, "/")}, nil
	}
}

// The kinds of patches that live objects take.
const (
	jsonPatchType      = "application/json-patch+json"
	mergePatchType     = "application/merge-patch+json"
	strategicPatchType = "application/strategic-merge-patch+json"
)

// patchResource changes a live object of an application. The body is the patch, as a text.
func (s *Server) patchResource(req *Request) (any, error) {
	if s.Hands == nil {
		return nil, absent("changing objects")
	}
	k, err := req.named()
	if err != nil {
		return nil, err
	}
	var text string
	if err := req.Body(&text); err != nil {
		return nil, err
	}
	p := wish.Patch{Text: []byte(text)}
	switch kind := req.Text("patchType"); kind {
	case "", mergePatchType:
	case jsonPatchType:
		p.JSON = true
	case strategicPatchType:
		return nil, badRequest(strategicPatchType + " is not taken; send " + mergePatchType + " or " + jsonPatchType)
	default:
		return nil, badRequest("patchType is " + mergePatchType + " or " + jsonPatchType)
	}
	req.note("target", k.String())
	u, err := s.Hands.EditObject(req, req.app(), k, func(now *unstructured.Unstructured) (wish.Patch, error) {
		return p, s.mayPatch(req, now, p)
	})
	if err != nil {
		return nil, err
	}
	return Resource{Manifest: req.shower().show(u)}, nil
}

// mayPatch refuses the masks that we show in place of the values of Secrets: they would be stored. What is in the object is
// not told by the errors that follow.
func (s *Server) mayPatch(req *Request, now *unstructured.Unstructured, p wish.Patch) error {
	if !object.KeyOf(now).Secret() {
		return nil
	}
	_ = req.shower().show(now)
	if strings.Contains(string(p.Text), object.Masked) {
		return badRequest("the patch has a mask where the value of a Secret was; leave out what stays as it is")
	}
	return nil
}

// deleteResource deletes a live object of an application.
func (s *Server) deleteResource(req *Request) (any, error) {
	if s.Hands == nil {
		return nil, absent("deleting objects")
	}
	k, err := req.named()
	if err != nil {
		return nil, err
	}
	how := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}
	if req.Flag("force") {
		how.PropagationPolicy, how.GracePeriodSeconds = new(metav1.DeletePropagationBackground), new(int64(0))
	}
	if req.Flag("orphan") {
		how.PropagationPolicy = new(metav1.DeletePropagationOrphan)
	}
	req.note("target", k.String())
	return nothing{}, s.Hands.DeleteObject(req, req.app(), k, how)
}

// ActionQuery asks for an action, in the form that has parameters.
type ActionQuery struct {
	Asked
	Namespace    string        `json:"namespace,omitempty"`
	ResourceName string        `json:"resourceName,omitempty"`
	Version      string        `json:"version,omitempty"`
	Group        string        `json:"group,omitempty"`
	Kind         string        `json:"kind,omitempty"`
	Action       string        `json:"action,omitempty"`
	Parameters   []ActionParam `json:"resourceActionParameters,omitempty"`
}

// ActionParam is a parameter of an action.
type ActionParam struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// act is the action that a request asks for: in the older form the body is its name and the query says of what.
func (r *Request) act() (engine.Act, error) {
	var q ActionQuery
	if strings.HasSuffix(r.Route.Pattern, "/v2") {
		if err := r.Body(&q); err != nil {
			return engine.Act{}, err
		}
	} else {
		var raw json.RawMessage
		if err := r.Body(&raw); err != nil {
			return engine.Act{}, err
		}
		// Some clients send the object of the newer form here.
		if json.Unmarshal(raw, &q.Action) != nil && json.Unmarshal(raw, &q) != nil {
			return engine.Act{}, badRequest("the body is the name of the action, as a JSON text")
		}
		at := r.resource()
		q.Group, q.Kind, q.Namespace, q.ResourceName = at.group, at.kind, at.namespace, at.name
	}
	out := engine.Act{
		Object: object.Key{Group: q.Group, Kind: q.Kind, Namespace: q.Namespace, Name: q.ResourceName}, Name: q.Action,
		Params: map[string]string{},
	}
	if q.Kind == "" || q.ResourceName == "" || q.Action == "" {
		return out, badRequest("name the action, and the object: group, version, kind, namespace and resourceName")
	}
	for _, part := range []string{q.Group, q.Kind, q.Action, q.ResourceName, q.Namespace} {
		if strings.Contains(part, "/") {
			return out, badRequest("the name of the action or of the object has a slash in it")
		}
	}
	for _, p := range q.Parameters {
		if _, twice := out.Params[p.Name]; twice || p.Name == "" {
			return out, badRequest(fmt.Sprintf("the parameter %q has no name, or is there twice", p.Name))
		}
		out.Params[p.Name] = p.Value
	}
	return out, nil
}

// actionVerbs is the right to run an action: action/apps/Deployment/restart.
func (s *Server) actionVerbs(req *Request) ([]string, error) {
	a, err := req.act()
	if err != nil {
		return nil, err
	}
	return []string{strings.Join([]string{"action", a.Object.Group, a.Object.Kind, a.Name}, "/")}, nil
}

// findActedApp finds the application of an action; in the older form the body is a text.
func (s *Server) findActedApp(req *Request) (Target, error) {
	if strings.HasSuffix(req.Route.Pattern, "/v2") {
		return s.findAskedApp(req)
	}
	return s.findApp(req)
}

// runAction runs an action.
func (s *Server) runAction(req *Request) (any, error) {
	if s.Hands == nil {
		return nil, absent("running actions")
	}
	a, err := req.act()
	if err != nil {
		return nil, err
	}
	req.note("target", a.Object.String())
	req.note("action", a.Name)
	_, err = s.Hands.RunAction(req, req.app(), a)
	return nothing{}, err
}
