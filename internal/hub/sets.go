package hub

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
)

const (
	sets    = v1alpha1.ApplicationSetResource
	byOwner = "owner"
)

// ownerOf is the UID of the ApplicationSet that made an application, if one did.
func ownerOf(obj any) ([]string, error) {
	app, ok := obj.(*v1alpha1.Application)
	if !ok {
		return nil, nil
	}
	if o := metav1.GetControllerOf(app); o != nil && o.Kind == v1alpha1.ApplicationSetKind {
		return []string{string(o.UID)}, nil
	}
	return nil, nil
}

// ApplicationSet answers from memory, by object.AppName. The result is shared:
// copy before a change.
func (k *Cache) ApplicationSet(_ context.Context, name string) (*v1alpha1.ApplicationSet, error) {
	namespace, bare := object.SplitAppName(k.namespace, name)
	set, err := get[*v1alpha1.ApplicationSet](k.sets, namespace, bare, "ApplicationSet")
	k.mu.Lock()
	defer k.mu.Unlock()
	if own, ok := k.writtenSets[name]; ok && err == nil && newer(own.ResourceVersion, set.ResourceVersion) {
		return own, nil
	}
	return set, err
}

// setKey is what an ApplicationSet is called.
func (k *Cache) setKey(set *v1alpha1.ApplicationSet) string {
	return object.AppName(k.namespace, set.Namespace, set.Name)
}

// Sets are the names of all ApplicationSets, by object.AppName.
func (k *Cache) Sets() []string {
	var out []string
	for _, obj := range k.sets.GetIndexer().List() {
		if set, ok := obj.(*v1alpha1.ApplicationSet); ok {
			out = append(out, k.setKey(set))
		}
	}
	slices.Sort(out)
	return out
}

// KnownSets are all ApplicationSets as they are cached. They are shared: copy
// before a change.
func (k *Cache) KnownSets() []*v1alpha1.ApplicationSet {
	objs := k.sets.GetIndexer().List()
	out := make([]*v1alpha1.ApplicationSet, 0, len(objs))
	for _, obj := range objs {
		if set, ok := obj.(*v1alpha1.ApplicationSet); ok {
			out = append(out, set)
		}
	}
	return out
}

// PatchApplicationSet writes, and remembers the answer until the watch shows it.
func (k *Cache) PatchApplicationSet(ctx context.Context, name string, patch []byte, subresource string) (*v1alpha1.ApplicationSet, error) {
	set, err := k.Client.PatchApplicationSet(ctx, name, patch, subresource)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.writtenSets[name] = set
	return set, nil
}

// seenSet forgets an own write that the watch has shown.
func (k *Cache) seenSet(old, set *v1alpha1.ApplicationSet) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if set == nil {
		delete(k.writtenSets, k.setKey(old))
		return
	}
	if own, ok := k.writtenSets[k.setKey(set)]; ok && !newer(own.ResourceVersion, set.ResourceVersion) {
		delete(k.writtenSets, k.setKey(set))
	}
}

// Generated are the applications that an ApplicationSet made, in the order of
// their names. They are shared: copy before a change.
func (k *Cache) Generated(set types.UID) []*v1alpha1.Application {
	objs, err := k.apps.GetIndexer().ByIndex(byOwner, string(set))
	if err != nil {
		return nil
	}
	found := make(map[string]*v1alpha1.Application, len(objs))
	for _, o := range objs {
		if app, ok := o.(*v1alpha1.Application); ok {
			found[k.key(app)] = app
		}
	}
	seen := k.apps.LastSyncResourceVersion()
	k.mu.Lock()
	for name, own := range k.written {
		o := metav1.GetControllerOf(own)
		if o == nil || o.UID != set {
			continue
		}
		cached, there := found[name]
		// What the watch is past and does not have is gone.
		if there && newer(own.ResourceVersion, cached.ResourceVersion) || !there && newer(own.ResourceVersion, seen) {
			found[name] = own
		}
	}
	k.mu.Unlock()
	out := make([]*v1alpha1.Application, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[name])
	}
	return out
}

// CreateApplication writes, and remembers the answer until the watch shows it.
func (k *Cache) CreateApplication(ctx context.Context, app *v1alpha1.Application) (*v1alpha1.Application, error) {
	made, err := k.Client.CreateApplication(ctx, app)
	if err != nil {
		return nil, err
	}
	k.made(made)
	return made, nil
}

// made remembers an application that was made, unless the watch was quicker.
func (k *Cache) made(app *v1alpha1.Application) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, err := k.cached(k.key(app)); err != nil {
		k.written[k.key(app)] = app
	}
}

// CreateApplication makes an application where it says, as an ApplicationSet
// asks for it.
func (c *Client) CreateApplication(ctx context.Context, app *v1alpha1.Application) (*v1alpha1.Application, error) {
	return c.createAs(ctx, app, v1alpha1.FieldManagerSets)
}

// ApplicationSet reads one ApplicationSet from the server, by object.AppName.
func (c *Client) ApplicationSet(ctx context.Context, name string) (*v1alpha1.ApplicationSet, error) {
	set := &v1alpha1.ApplicationSet{}
	namespace, bare := object.SplitAppName(c.namespace, name)
	err := c.rest.Get().Namespace(namespace).Resource(sets).Name(bare).Do(ctx).Into(set)
	if err != nil {
		return nil, classify(err, "reading ApplicationSet", name)
	}
	return set, nil
}

// PatchApplicationSet merges patch into an ApplicationSet or a subresource of it
// and returns the result.
func (c *Client) PatchApplicationSet(ctx context.Context, name string, patch []byte, subresource string) (*v1alpha1.ApplicationSet, error) {
	set := &v1alpha1.ApplicationSet{}
	o := metav1.PatchOptions{FieldManager: v1alpha1.FieldManagerSets}
	namespace, bare := object.SplitAppName(c.namespace, name)
	r := c.rest.Patch(types.MergePatchType).Namespace(namespace).Resource(sets).Name(bare)
	if subresource != "" {
		r = r.SubResource(subresource)
	}
	if err := r.VersionedParams(&o, c.codec).Body(patch).Do(ctx).Into(set); err != nil {
		return nil, classify(err, "updating ApplicationSet", name)
	}
	return set, nil
}

// RewriteApplication merges what a set wants of an application into it, and
// remembers the answer until the watch shows it.
func (k *Cache) RewriteApplication(ctx context.Context, name string, patch []byte) (*v1alpha1.Application, error) {
	app, err := k.patch(ctx, name, patch, v1alpha1.FieldManagerSets)
	if err != nil {
		return nil, err
	}
	k.keep(app)
	return app, nil
}
