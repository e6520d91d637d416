package hub

import (
	"context"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Objects are the objects of one kind in the control namespace, for those who edit them by hand: everything is asked of
// the server, and nothing is kept.
type Objects[T, L any] struct {
	client         *Client
	resource, word string
	object         func(*T) runtime.Object
	list           func(*L) runtime.Object
}

// Projects are the AppProjects.
func (c *Client) Projects() Objects[v1alpha1.AppProject, v1alpha1.AppProjectList] {
	return Objects[v1alpha1.AppProject, v1alpha1.AppProjectList]{
		client: c, resource: projects, word: "project",
		object: func(p *v1alpha1.AppProject) runtime.Object { return p },
		list:   func(l *v1alpha1.AppProjectList) runtime.Object { return l },
	}
}

// ApplicationSets are the ApplicationSets.
func (c *Client) ApplicationSets() Objects[v1alpha1.ApplicationSet, v1alpha1.ApplicationSetList] {
	return Objects[v1alpha1.ApplicationSet, v1alpha1.ApplicationSetList]{
		client: c, resource: v1alpha1.ApplicationSetResource, word: "ApplicationSet",
		object: func(s *v1alpha1.ApplicationSet) runtime.Object { return s },
		list:   func(l *v1alpha1.ApplicationSetList) runtime.Object { return l },
	}
}

// Get reads one object.
func (o Objects[T, L]) Get(ctx context.Context, name string) (*T, error) {
	into := new(T)
	err := o.client.rest.Get().Namespace(o.client.namespace).Resource(o.resource).Name(name).Do(ctx).Into(o.object(into))
	if err != nil {
		return nil, classify(err, "reading "+o.word, name)
	}
	return into, nil
}

// List reads those that fit the options.
func (o Objects[T, L]) List(ctx context.Context, opts metav1.ListOptions) (*L, error) {
	into := new(L)
	err := o.client.rest.Get().Namespace(o.client.namespace).Resource(o.resource).
		VersionedParams(&opts, o.client.codec).Do(ctx).Into(o.list(into))
	if err != nil {
		return nil, classify(err, "listing the "+o.word+"s of namespace", o.client.namespace)
	}
	return into, nil
}

// Create makes an object, or only asks whether the server would take it.
func (o Objects[T, L]) Create(ctx context.Context, object *T, dryRun bool) (*T, error) {
	opts := metav1.CreateOptions{FieldManager: v1alpha1.FieldManagerAction, DryRun: dry(dryRun)}
	into := new(T)
	err := o.client.rest.Post().Namespace(o.client.namespace).Resource(o.resource).
		VersionedParams(&opts, o.client.codec).Body(o.object(object)).Do(ctx).Into(o.object(into))
	if err != nil {
		return nil, classify(err, "creating "+o.word, nameOf(o.object(object)))
	}
	return into, nil
}

// Patch merges a change into an object, or only asks whether the server would take it. With a resource version in the
// patch the server refuses it for any other.
func (o Objects[T, L]) Patch(ctx context.Context, name string, patch []byte, dryRun bool) (*T, error) {
	opts := metav1.PatchOptions{FieldManager: v1alpha1.FieldManagerAction, DryRun: dry(dryRun)}
	into := new(T)
	err := o.client.rest.Patch(types.MergePatchType).Namespace(o.client.namespace).Resource(o.resource).Name(name).
		VersionedParams(&opts, o.client.codec).Body(patch).Do(ctx).Into(o.object(into))
	if err != nil {
		return nil, classify(err, "changing "+o.word, name)
	}
	return into, nil
}

// Delete asks the server to delete the very object that has the UID.
func (o Objects[T, L]) Delete(ctx context.Context, name string, uid types.UID) error {
	opts := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	err := o.client.rest.Delete().Namespace(o.client.namespace).Resource(o.resource).Name(name).Body(&opts).Do(ctx).Error()
	if err != nil {
		return classify(err, "deleting "+o.word, name)
	}
	return nil
}

// Gone returns when there is no such object any more.
func (o Objects[T, L]) Gone(ctx context.Context, name string) error {
	for {
		list, err := o.List(ctx, metav1.ListOptions{FieldSelector: named(name)})
		if err != nil {
			return err
		}
		meta, err := apimeta.ListAccessor(o.list(list))
		if err != nil || apimeta.LenList(o.list(list)) == 0 {
			return err
		}
		opts := metav1.ListOptions{FieldSelector: named(name), ResourceVersion: meta.GetResourceVersion(), Watch: true}
		w, err := o.client.rest.Get().Namespace(o.client.namespace).Resource(o.resource).
			VersionedParams(&opts, o.client.codec).Watch(ctx)
		if err != nil {
			return classify(err, "watching "+o.word, name)
		}
		if err := untilDeleted(ctx, w); err != nil {
			return err
		}
	}
}

// untilDeleted returns at the deletion, or when the watch ends and has to be begun anew.
func untilDeleted(ctx context.Context, w watch.Interface) error {
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case event, open := <-w.ResultChan():
			if !open || event.Type == watch.Deleted || event.Type == watch.Error {
				return nil
			}
		}
	}
}

func named(name string) string {
	return fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
}

func dry(on bool) []string {
	if on {
		return []string{metav1.DryRunAll}
	}
	return nil
}

func nameOf(o runtime.Object) string {
	if m, ok := o.(metav1.Object); ok {
		return m.GetName()
	}
	return ""
}
