package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
)

// project is a project as it is known here, its latest tokens among it.
func (k *Keeper) project(ctx context.Context, name string) (*v1alpha1.AppProject, error) {
	p, err := k.o.Projects.Project(ctx, name)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	own, ok := k.projects[name]
	switch {
	case !ok:
		return p, nil
	case own.UID == p.UID && newer(own.ResourceVersion, p.ResourceVersion):
		return own, nil
	}
	delete(k.projects, name)
	return p, nil
}

// CreateProjectToken makes a token for a role of a project. The project has it
// on its list before anybody has the token.
func (k *Keeper) CreateProjectToken(ctx context.Context, project, role string, w Wish) (string, error) {
	t, c, err := k.grant(account.Subject{Project: project, Role: role}, w)
	if err != nil {
		return "", err
	}
	err = k.amend(ctx, project, func(p *v1alpha1.AppProject) error {
		if err := account.AddProjectToken(p, role, t); err != nil {
			return &InputError{text: err.Error()}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	slog.InfoContext(ctx, "a token was made", "project", project, "role", role, "tokenId", t.ID)
	return k.sign(k.current(), c)
}

// DeleteProjectToken takes a token off the lists of a role, by its id or, if
// that is empty, by the time of its issue. One that is not there is gone.
func (k *Keeper) DeleteProjectToken(ctx context.Context, project, role string, t account.Token) error {
	found := false
	err := k.amend(ctx, project, func(p *v1alpha1.AppProject) error {
		found = account.RemoveProjectToken(p, role, t)
		return nil
	})
	if err == nil && found {
		slog.InfoContext(ctx, "a token was deleted", "project", project, "role", role, "tokenId", t.ID, "iat", t.IssuedAt)
	}
	return err
}

// amend writes what an edit changes in a project and nothing else, as it was
// read or not at all; it begins anew while others are faster.
func (k *Keeper) amend(ctx context.Context, name string, edit func(*v1alpha1.AppProject) error) error {
	var last error
	for range maxConflicts {
		p, err := k.o.Editor.Get(ctx, name)
		if err != nil {
			return err
		}
		patch, err := difference(p, edit)
		if err != nil || patch == nil {
			return err
		}
		written, err := k.o.Editor.Patch(ctx, name, patch, false)
		if err == nil {
			k.mu.Lock()
			k.projects[name] = written
			k.mu.Unlock()
			return nil
		}
		if last = err; !apierrors.IsConflict(err) {
			return err
		}
	}
	return last
}

// difference is the patch that does what an edit did; nil is nothing.
func difference(p *v1alpha1.AppProject, edit func(*v1alpha1.AppProject) error) ([]byte, error) {
	before, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encoding project %q: %w", p.Name, err)
	}
	version := p.ResourceVersion
	if err := edit(p); err != nil {
		return nil, err
	}
	after, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encoding project %q: %w", p.Name, err)
	}
	text, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return nil, fmt.Errorf("comparing project %q with what stands: %w", p.Name, err)
	}
	patch := map[string]any{}
	if err := json.Unmarshal(text, &patch); err != nil || len(patch) == 0 {
		return nil, err
	}
	if version == "" {
		return nil, errors.New("the project has no resource version")
	}
	patch["metadata"] = map[string]any{"resourceVersion": version}
	return json.Marshal(patch)
}
