package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/secret"
)

// Projects are the AppProjects of a server.
type Projects struct {
	Objects[v1alpha1.AppProject, v1alpha1.AppProjectList]
}

// Projects are the AppProjects.
func (c *Client) Projects() Projects {
	return Projects{Objects[v1alpha1.AppProject, v1alpha1.AppProjectList]{
		Client: c, path: "projects", about: "project", wrapped: "project",
	}}
}

// Project is one by its name.
func (c *Client) Project(ctx context.Context, name string) (*v1alpha1.AppProject, error) {
	return c.Projects().Get(ctx, name)
}

// Create makes one. One that is there already is told as such, which the server's answer leaves open: it takes the same
// project twice.
func (p Projects) Create(ctx context.Context, project *v1alpha1.AppProject, dryRun bool) (*v1alpha1.AppProject, error) {
	if dryRun {
		return nil, fmt.Errorf("%s does not try a project without storing it", p.Server())
	}
	if _, err := p.Get(ctx, project.Name); err == nil {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Group: v1alpha1.Group, Resource: "appprojects"}, project.Name)
	}
	return p.Objects.Create(ctx, project, false)
}

// Patch merges a change into one. The server takes whole projects: what is sent is the one that the change was made on,
// by its version, or nothing.
func (p Projects) Patch(ctx context.Context, name string, patch []byte, dryRun bool) (*v1alpha1.AppProject, error) {
	if dryRun {
		return nil, fmt.Errorf("%s does not try a project without storing it", p.Server())
	}
	now, err := p.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	whole, err := json.Marshal(now)
	if err != nil {
		return nil, fmt.Errorf("encoding project %q: %w", name, err)
	}
	// The version in the patch is the one that was looked at, and takes the place of this one.
	changed, err := jsonpatch.MergePatch(whole, patch)
	if err != nil {
		return nil, fmt.Errorf("changing project %q: %w", name, err)
	}
	out := &v1alpha1.AppProject{}
	err = p.ask(ctx, request{
		method: http.MethodPut, path: under("projects", name), about: p.about, name: name,
		body: map[string]any{"project": json.RawMessage(changed)},
	}, out)
	return out, err
}

// NewRoleToken makes a token for a role; zero seconds never end.
func (p Projects) NewRoleToken(ctx context.Context, project, role string, t v1alpha1.JWTToken) (secret.Text, error) {
	var out struct{ Token string }
	err := p.ask(ctx, request{
		method: http.MethodPost, path: under("projects", project, "roles", role, "token"), about: p.about, name: project,
		body: map[string]any{"project": project, "role": role, "id": t.ID, "expiresIn": t.ExpiresAt},
	}, &out)
	return secret.New(out.Token), err
}

// DeleteRoleToken ends a token of a role, by when it was issued.
func (p Projects) DeleteRoleToken(ctx context.Context, project, role string, issuedAt int64) error {
	return p.ask(ctx, request{
		method: http.MethodDelete, path: under("projects", project, "roles", role, "token", strconv.FormatInt(issuedAt, 10)),
		about: p.about, name: project,
	}, nil)
}
