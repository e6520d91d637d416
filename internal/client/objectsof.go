package client

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/action"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/tree"
)

// Tree is the resource tree of an application.
func (a Apps) Tree(ctx context.Context, name string) (tree.Listed, error) {
	return get[tree.Listed](ctx, a.Client, request{
		path: under("applications", name, "resource-tree"), query: a.query(nil), about: about, name: name,
	})
}

// ActionsOf are what can be done with an object of an application.
func (a Apps) ActionsOf(ctx context.Context, app *v1alpha1.Application, k object.Key) ([]action.Action, error) {
	query := a.query(url.Values{"group": {k.Group}, "kind": {k.Kind}, "namespace": {k.Namespace}, "resourceName": {k.Name}})
	out, err := get[struct{ Actions []action.Action }](ctx, a.Client, request{
		path: under("applications", app.Name, "resource", "actions"), query: query, about: about, name: app.Name,
	})
	return out.Actions, err
}

// overview are the fields that a list of names needs.
const overview = "items.metadata.name,items.metadata.namespace,items.status.sync.status,items.status.health.status"

// Overview is all applications by their names, with how they do and nothing else: a list of thousands is small so.
func (a Apps) Overview(ctx context.Context) (*v1alpha1.ApplicationList, error) {
	return get[*v1alpha1.ApplicationList](ctx, a.Client, request{
		path: under("applications"), query: a.query(url.Values{"fields": {overview}}), about: about,
	})
}

// Manifests are what an application is rendered to, an object each, at revisions in place of its own: one for each source.
func (a Apps) Manifests(ctx context.Context, name string, revisions []string) ([]string, error) {
	query := url.Values{}
	switch {
	case len(revisions) == 1:
		query.Set("revision", revisions[0])
	case len(revisions) > 1:
		query["revisions"] = revisions
		for i := range revisions {
			query.Add("sourcePositions", strconv.Itoa(i+1))
		}
	}
	maps.Copy(query, a.query(nil))
	out, err := get[struct{ Manifests []string }](ctx, a.Client, request{
		path: under("applications", name, "manifests"), query: query, about: about, name: name,
	})
	return out.Manifests, err
}

// Live are the objects of an application as they are in its cluster. The values of Secrets are masked.
func (a Apps) Live(ctx context.Context, name string) ([]string, error) {
	said, err := get[struct{ Items []struct{ LiveState string } }](ctx, a.Client, request{
		path: under("applications", name, "managed-resources"), query: a.query(nil), about: about, name: name,
	})
	var out []string
	for _, item := range said.Items {
		if item.LiveState != "" && item.LiveState != "null" {
			out = append(out, item.LiveState)
		}
	}
	return out, err
}

// Generate is what an ApplicationSet stands for, and what of it cannot be made.
func (a Apps) Generate(ctx context.Context, set *v1alpha1.ApplicationSet) ([]*v1alpha1.Application, []appset.Problem, error) {
	var out struct {
		Applications []*v1alpha1.Application
		Problems     []string
	}
	err := a.ask(ctx, request{
		method: http.MethodPost, path: under("applicationsets", "generate"), about: "ApplicationSet", name: set.Name,
		body: map[string]any{"applicationSet": map[string]any{
			"metadata": map[string]string{"name": set.Name, "namespace": a.Namespace}, "spec": set.Spec,
		}},
	}, &out)
	if err != nil {
		return nil, nil, err
	}
	var problems []appset.Problem
	for _, p := range out.Problems {
		name, message, found := strings.Cut(p, ": ")
		if !found {
			name, message = "", p
		}
		problems = append(problems, appset.Problem{Name: name, Message: message})
	}
	return out.Applications, problems, nil
}
