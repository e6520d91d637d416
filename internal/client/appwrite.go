package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/wish"
)

// CreateApplication makes one of them, or with upsert changes one of that name. One without a namespace is in the server's.
func (a Apps) CreateApplication(ctx context.Context, app *v1alpha1.Application, upsert bool) (*v1alpha1.Application, error) {
	query := url.Values{}
	if upsert {
		query.Set("upsert", "true")
	}
	out := &v1alpha1.Application{}
	return out, a.ask(ctx, request{
		method: http.MethodPost, path: under("applications"), query: query, body: app, about: about,
	}, out)
}

// asked is where one of them is, for bodies.
func (a Apps) asked(name string, more map[string]any) map[string]any {
	more["name"] = name
	if a.Namespace != "" {
		more["appNamespace"] = a.Namespace
	}
	return more
}

// ChangeApplication changes one of them as a patch says that somebody wrote.
func (a Apps) ChangeApplication(ctx context.Context, name string, p wish.Patch) (*v1alpha1.Application, error) {
	kind := "merge"
	if p.JSON {
		kind = "json"
	}
	out := &v1alpha1.Application{}
	return out, a.ask(ctx, request{
		method: http.MethodPatch, path: under("applications", name), about: about, name: name,
		body: a.asked(name, map[string]any{"patch": string(p.Text), "patchType": kind}),
	}, out)
}

// Sync starts a sync. Who asks is known to the server.
func (a Apps) Sync(ctx context.Context, name string, w wish.Sync) (*v1alpha1.Application, error) {
	body := map[string]any{
		"revision": w.Revision, "revisions": w.Revisions, "prune": w.Prune, "dryRun": w.DryRun, "strategy": w.Strategy,
		"resources": w.Resources, "manifests": w.Manifests, "infos": w.Info, "retryStrategy": w.Retry,
	}
	if len(w.Revisions) > 0 {
		at := make([]string, len(w.Revisions))
		for i := range at {
			at[i] = strconv.Itoa(i + 1)
		}
		body["sourcePositions"] = at
	}
	if options := slices.Concat([]string(w.Options), w.More); len(options) > 0 {
		body["syncOptions"] = map[string]any{"items": options}
	}
	out := &v1alpha1.Application{}
	return out, a.ask(ctx, request{
		method: http.MethodPost, path: under("applications", name, "sync"), about: about, name: name, body: a.asked(name, body),
	}, out)
}

// Rollback goes back to an entry of the history.
func (a Apps) Rollback(ctx context.Context, name string, id int64, prune bool) (*v1alpha1.Application, error) {
	out := &v1alpha1.Application{}
	return out, a.ask(ctx, request{
		method: http.MethodPost, path: under("applications", name, "rollback"), about: about, name: name,
		body: a.asked(name, map[string]any{"id": id, "prune": prune}),
	}, out)
}

// Terminate ends the operation that runs.
func (a Apps) Terminate(ctx context.Context, name string) error {
	return a.ask(ctx, request{
		method: http.MethodDelete, path: under("applications", name, "operation"), query: a.query(nil), about: about, name: name,
	}, nil)
}

// Remove deletes one of them, if it still is the one that was seen.
func (a Apps) Remove(ctx context.Context, name string, uid types.UID, r wish.Removal) error {
	query := a.query(url.Values{"uid": {string(uid)}, "cascade": {strconv.FormatBool(r.Cascade)}})
	switch {
	case r.Cascade && r.Background:
		query.Set("propagationPolicy", "background")
	case r.Cascade:
		query.Set("propagationPolicy", "foreground")
	}
	return a.ask(ctx, request{method: http.MethodDelete, path: under("applications", name), query: query, about: about, name: name}, nil)
}

// of is the query for one object.
func (a Apps) of(k object.Key) url.Values {
	return a.query(url.Values{"group": {k.Group}, "kind": {k.Kind}, "namespace": {k.Namespace}, "resourceName": {k.Name}})
}

// onObject is a question about one object of an application.
func (a Apps) onObject(app *v1alpha1.Application, k object.Key, r request) request {
	r.path, r.about, r.name = under("applications", app.Name, "resource"), about, app.Name
	if r.query == nil {
		r.query = a.of(k)
	}
	return r
}

// manifest is an object as the server tells it.
type manifest struct{ Manifest string }

func (m manifest) object(k object.Key) (*unstructured.Unstructured, error) {
	out := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(m.Manifest), &out.Object); err != nil {
		return nil, fmt.Errorf("reading what the server tells of %s: %w", k, err)
	}
	return out, nil
}

// Object is an object of an application as it is. The values of a Secret are masked.
func (a Apps) Object(ctx context.Context, app *v1alpha1.Application, k object.Key) (*unstructured.Unstructured, error) {
	said, err := get[manifest](ctx, a.Client, a.onObject(app, k, request{}))
	if err != nil {
		return nil, err
	}
	return said.object(k)
}

// PatchObject changes an object of an application, and returns it as it is then.
func (a Apps) PatchObject(ctx context.Context, app *v1alpha1.Application, k object.Key, p wish.Patch) (*unstructured.Unstructured, error) {
	query := a.of(k)
	query.Set("patchType", string(types.MergePatchType))
	if p.JSON {
		query.Set("patchType", string(types.JSONPatchType))
	}
	var said manifest
	r := a.onObject(app, k, request{method: http.MethodPost, query: query, body: string(p.Text)})
	if err := a.ask(ctx, r, &said); err != nil {
		return nil, err
	}
	return said.object(k)
}

// DeleteObject deletes an object of an application.
func (a Apps) DeleteObject(ctx context.Context, app *v1alpha1.Application, k object.Key, how metav1.DeleteOptions) error {
	query := a.of(k)
	if how.GracePeriodSeconds != nil && *how.GracePeriodSeconds == 0 {
		query.Set("force", "true")
	}
	if p := how.PropagationPolicy; p != nil && *p == metav1.DeletePropagationOrphan {
		query.Set("orphan", "true")
	}
	return a.ask(ctx, a.onObject(app, k, request{method: http.MethodDelete, query: query}), nil)
}

// Act runs an action on an object of an application.
func (a Apps) Act(ctx context.Context, app *v1alpha1.Application, k object.Key, action string, params map[string]string) error {
	type param struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	given := make([]param, 0, len(params))
	for name, value := range params {
		given = append(given, param{name, value})
	}
	return a.ask(ctx, request{
		method: http.MethodPost, path: under("applications", app.Name, "resource", "actions", "v2"), about: about, name: app.Name,
		body: a.asked(app.Name, map[string]any{
			"group": k.Group, "kind": k.Kind, "namespace": k.Namespace, "resourceName": k.Name, "action": action,
			"resourceActionParameters": given,
		}),
	}, nil)
}
