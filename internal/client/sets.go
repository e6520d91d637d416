package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Sets are the ApplicationSets of a namespace, to be read and written; where it is empty, those of the server's own.
type Sets struct {
	Objects[v1alpha1.ApplicationSet, v1alpha1.ApplicationSetList]
}

// Sets are those of a namespace.
func (c *Client) Sets(namespace string) Sets { return Sets{c.ApplicationSets(namespace)} }

// Create makes one. The server takes one that is there for the same wish; who calls this wants to know the difference.
func (s Sets) Create(ctx context.Context, set *v1alpha1.ApplicationSet, dryRun bool) (*v1alpha1.ApplicationSet, error) {
	if _, err := s.Get(ctx, set.Name); err == nil {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Group: v1alpha1.Group, Resource: "applicationsets"}, set.Name)
	}
	return s.put(ctx, set, url.Values{}, dryRun)
}

func (s Sets) put(ctx context.Context, set *v1alpha1.ApplicationSet, query url.Values, dryRun bool) (*v1alpha1.ApplicationSet, error) {
	if dryRun {
		query.Set("dryRun", "true")
	}
	out := &v1alpha1.ApplicationSet{}
	err := s.ask(ctx, request{
		method: http.MethodPost, path: under(s.path), query: query, body: set, about: s.about,
	}, out)
	return out, err
}

// Patch merges a change into one. The server takes sets as a whole, and refuses one of an older version.
func (s Sets) Patch(ctx context.Context, name string, patch []byte, dryRun bool) (*v1alpha1.ApplicationSet, error) {
	now, err := s.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(now)
	if err != nil {
		return nil, fmt.Errorf("encoding what stands: %w", err)
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return nil, fmt.Errorf("changing ApplicationSet %q: %w", name, err)
	}
	next := &v1alpha1.ApplicationSet{}
	if err := json.Unmarshal(after, next); err != nil {
		return nil, fmt.Errorf("changing ApplicationSet %q: %w", name, err)
	}
	return s.put(ctx, next, url.Values{"upsert": {"true"}}, dryRun)
}

// Gone returns when there is no such set any more.
func (s Sets) Gone(ctx context.Context, name string) error {
	for {
		deleted, err := s.untilDeleted(ctx, name)
		if err != nil || deleted {
			return err
		}
	}
}

// untilDeleted follows the stream of sets until one is deleted, or the stream ends. It is looked whether the set is there
// once the stream has begun, so that nothing is missed between the two.
func (s Sets) untilDeleted(ctx context.Context, name string) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	query := url.Values{"name": {name}}
	maps.Copy(query, s.query)
	answer, err := s.send(ctx, request{method: http.MethodGet, path: under("stream", "applicationsets"), query: query, about: s.about})
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	switch _, err := s.Get(ctx, name); {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		// The server says the same of what is not there and of what we may not see; this one we could.
		return true, nil
	case err != nil:
		return false, err
	}
	lines := bufio.NewReader(answer.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if ctx.Err() != nil {
				return false, context.Cause(ctx)
			}
			if err == io.EOF {
				return false, nil
			}
			return false, s.unreachable(ctx, err)
		}
		var said struct {
			Result struct {
				Type           watch.EventType
				ApplicationSet v1alpha1.ApplicationSet
			}
		}
		if json.Unmarshal(line, &said) == nil && said.Result.Type == watch.Deleted && said.Result.ApplicationSet.Name == name {
			return true, nil
		}
	}
}
