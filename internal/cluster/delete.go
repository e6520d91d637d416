package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
)

// Delete removes the object that the fact is about, and no other: the request
// holds the server to exactly the reading that the fact is, with its identity
// and its mark. An object that has moved on since is read, and must still carry
// both. An object that is gone already is no error.
func (c *Client) Delete(ctx context.Context, f object.Fact, propagation metav1.DeletionPropagation) error {
	gvk := f.Key.GroupKind().WithVersion(f.Version)
	r, err := c.resource(gvk, f.Key.Namespace)
	if err != nil {
		return err
	}
	if f.UID != "" && f.ResourceVersion != "" && f.App != "" {
		err := c.deleteAt(ctx, f, propagation)
		if !apierrors.IsConflict(err) {
			return classified(err)
		}
	}
	u, err := r.Get(ctx, f.Key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading it before the deletion: %w", classify(err))
	}
	if string(u.GetUID()) != f.UID {
		return fault.Waitingf("Replaced", "another object has taken its name since its deletion was planned")
	}
	if t, self := c.known.tracker.Of(u); !self || t.App != f.App {
		return fault.Waitingf("NotOurs", "it no longer carries the mark of application %q", f.App)
	}
	f.ResourceVersion = u.GetResourceVersion()
	return classified(c.deleteAt(ctx, f, propagation))
}

// deleteAt deletes the very reading of an object. Where it is gone there is
// nothing to do. The server says whether it is gone or waits for others, which
// the dynamic client does not hand on: so the index knows without the watch,
// and no status tells of an object on its way out that is not there.
func (c *Client) deleteAt(ctx context.Context, f object.Fact, propagation metav1.DeletionPropagation) error {
	way, err := c.wayTo(f)
	if err != nil {
		return err
	}
	body, err := deletion(f, propagation)
	if err != nil {
		return err
	}
	answer := c.way.Delete().AbsPath(way...).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body).Do(ctx)
	err = answer.Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var code int
	answer.StatusCode(&code)
	if raw, err := answer.Raw(); err == nil && code == http.StatusOK && saysGone(raw, f.UID) {
		c.known.index.deleted(f)
	}
	return nil
}

// wayTo is the path of an object, in the version that the fact was read in.
func (c *Client) wayTo(f object.Fact) ([]string, error) {
	k, err := c.served(f.Key.GroupKind().WithVersion(f.Version))
	if err != nil {
		return nil, err
	}
	way := []string{"apis", k.Group, k.Version}
	if k.Group == "" {
		way = []string{"api", k.Version}
	}
	if k.Namespaced && f.Key.Namespace != "" {
		way = append(way, "namespaces", f.Key.Namespace)
	}
	return append(way, k.Resource, f.Key.Name), nil
}

// deletion is the request to delete a reading.
func deletion(f object.Fact, propagation metav1.DeletionPropagation) ([]byte, error) {
	uid := types.UID(f.UID)
	body, err := json.Marshal(metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &f.ResourceVersion},
		PropagationPolicy: &propagation,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding a deletion: %w", err)
	}
	return body, nil
}

// saysGone reads the answer to a deletion: a success that names the object is
// the end of it. An object that waits for finalizers, for a grace period or for
// others comes back as itself; so do some kinds that are gone, which the watch
// will tell of.
func saysGone(answer []byte, uid string) bool {
	var s metav1.Status
	if err := json.Unmarshal(answer, &s); err != nil {
		return false
	}
	return s.APIVersion == "v1" && s.Kind == "Status" && s.Status == metav1.StatusSuccess &&
		s.Details != nil && string(s.Details.UID) == uid
}
