package hub

import (
	"context"
	"slices"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
)

// Events are the changes that a cache tells about. The functions must not
// block; what they get is shared and must not be changed.
type Events struct {
	// Application is called with nil for what was not there before or is gone.
	Application func(old, app *v1alpha1.Application)
	// Project is called with the name of a project that changed and with those
	// of the applications that belong to it.
	Project func(name string, applications []string)
	// Set is called with nil for what was not there before or is gone; nil
	// means that nobody wants to know.
	Set func(old, set *v1alpha1.ApplicationSet)
}

// Cache answers reads of applications and projects from memory, kept by a
// watch. It sees its own writes at once.
type Cache struct {
	*Client
	apps, projects, sets cache.SharedIndexInformer

	mu sync.Mutex
	// written holds the answers to own writes that the watch has not shown yet.
	written     map[string]*v1alpha1.Application
	writtenSets map[string]*v1alpha1.ApplicationSet
}

const byProject = "project"

// Namespaces are the patterns of the namespaces, besides the control namespace,
// that objects are looked for in.
type Namespaces struct{ Applications, Sets []string }

// NewCache makes a cache of the control namespace, and of what other namespaces
// have where they fit one of the patterns. Run fills it.
func NewCache(c *Client, events Events, others Namespaces) (*Cache, error) {
	indexers := cache.Indexers{byProject: func(obj any) ([]string, error) {
		app, ok := obj.(*v1alpha1.Application)
		if !ok {
			return nil, nil
		}
		return []string{app.ProjectName()}, nil
	}, byOwner: ownerOf}
	appLists := c.lists(applications, &v1alpha1.ApplicationList{}, others.Applications)
	projectLists := c.lists(projects, &v1alpha1.AppProjectList{}, nil)
	setLists := c.lists(sets, &v1alpha1.ApplicationSetList{}, others.Sets)
	k := &Cache{
		Client:      c,
		written:     map[string]*v1alpha1.Application{},
		writtenSets: map[string]*v1alpha1.ApplicationSet{},
		sets:        cache.NewSharedIndexInformer(setLists, &v1alpha1.ApplicationSet{}, 0, nil),
		apps:        cache.NewSharedIndexInformer(appLists, &v1alpha1.Application{}, 0, indexers),
		projects:    cache.NewSharedIndexInformer(projectLists, &v1alpha1.AppProject{}, 0, nil),
	}
	c.once = &once{writing: map[string]*v1alpha1.Application{}, written: k.own}
	// Nobody here reads managedFields, and they are a third of each object.
	for _, inf := range []cache.SharedIndexInformer{k.apps, k.projects, k.sets} {
		if err := inf.SetTransform(withoutManagedFields); err != nil {
			return nil, err
		}
	}
	if _, err := k.apps.AddEventHandler(handler(func(old, app *v1alpha1.Application) {
		k.seen(old, app)
		events.Application(old, app)
	})); err != nil {
		return nil, err
	}
	if _, err := k.projects.AddEventHandler(handler(func(old, p *v1alpha1.AppProject) {
		if p == nil {
			p = old
		}
		events.Project(p.Name, k.Members(p.Name))
	})); err != nil {
		return nil, err
	}
	if _, err := k.sets.AddEventHandler(handler(func(old, set *v1alpha1.ApplicationSet) {
		k.seenSet(old, set)
		if events.Set != nil {
			events.Set(old, set)
		}
	})); err != nil {
		return nil, err
	}
	return k, nil
}

// Run watches until ctx ends.
func (k *Cache) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { k.apps.RunWithContext(ctx) })
	wg.Go(func() { k.projects.RunWithContext(ctx) })
	wg.Go(func() { k.sets.RunWithContext(ctx) })
	wg.Wait()
}

// WaitReady waits for the first complete reading.
func (k *Cache) WaitReady(ctx context.Context) bool {
	return cache.WaitForCacheSync(ctx.Done(), k.apps.HasSynced, k.projects.HasSynced, k.sets.HasSynced)
}

// Application answers from memory. The result is shared: copy before a change.
func (k *Cache) Application(_ context.Context, name string) (*v1alpha1.Application, error) {
	k.mu.Lock()
	app, ok := k.written[name]
	k.mu.Unlock()
	if ok {
		return app, nil
	}
	return k.cached(name)
}

func (k *Cache) cached(name string) (*v1alpha1.Application, error) {
	namespace, bare := object.SplitAppName(k.namespace, name)
	return get[*v1alpha1.Application](k.apps, namespace, bare, "application")
}

// key is what an application is called.
func (k *Cache) key(app *v1alpha1.Application) string {
	return object.AppName(k.namespace, app.Namespace, app.Name)
}

// Known are all applications, from memory. They are shared: copy before a
// change.
func (k *Cache) Known() []*v1alpha1.Application {
	list := k.apps.GetIndexer().List()
	out := make([]*v1alpha1.Application, 0, len(list))
	for _, obj := range list {
		if app, ok := obj.(*v1alpha1.Application); ok {
			out = append(out, app)
		}
	}
	return out
}

// Project answers from memory. The result is shared: copy before a change.
func (k *Cache) Project(_ context.Context, name string) (*v1alpha1.AppProject, error) {
	return get[*v1alpha1.AppProject](k.projects, k.namespace, name, "project")
}

// KnownProjects are all projects, from memory. They are shared: copy before a
// change.
func (k *Cache) KnownProjects() []*v1alpha1.AppProject {
	list := k.projects.GetIndexer().List()
	out := make([]*v1alpha1.AppProject, 0, len(list))
	for _, obj := range list {
		if p, ok := obj.(*v1alpha1.AppProject); ok {
			out = append(out, p)
		}
	}
	return out
}

// PatchApplication writes, and remembers the answer until the watch shows it.
func (k *Cache) PatchApplication(ctx context.Context, name string, patch []byte) (*v1alpha1.Application, error) {
	defer k.once.begin(name)()
	app, err := k.Client.PatchApplication(ctx, name, patch)
	if err != nil {
		return nil, err
	}
	k.keep(app)
	return app, nil
}

// keep remembers the answer to an own write.
func (k *Cache) keep(app *v1alpha1.Application) {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := k.key(app)
	cached, err := k.cached(name)
	// An application that is not in the cache any more was deleted since, unless
	// we made it a moment ago.
	_, made := k.written[name]
	if made || err == nil && newer(app.ResourceVersion, cached.ResourceVersion) {
		k.written[name] = app
	}
}

// own is the answer to an own write that the watch has not shown yet; nil is none.
func (k *Cache) own(name string) *v1alpha1.Application {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.written[name]
}

// seen forgets an own write that the watch has shown, or whose application is
// gone.
func (k *Cache) seen(old, app *v1alpha1.Application) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if app == nil {
		delete(k.written, k.key(old))
		return
	}
	if own, ok := k.written[k.key(app)]; ok && !newer(own.ResourceVersion, app.ResourceVersion) {
		delete(k.written, k.key(app))
	}
}

// Members are the names of the applications that belong to a project.
func (k *Cache) Members(project string) []string {
	objs, err := k.apps.GetIndexer().ByIndex(byProject, project)
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(objs))
	for _, o := range objs {
		if app, ok := o.(*v1alpha1.Application); ok {
			names = append(names, k.key(app))
		}
	}
	return names
}

func listWatch(c *Client, namespace, resource string, into runtime.Object) *cache.ListWatch {
	request := func(o metav1.ListOptions) *rest.Request {
		return c.rest.Get().Namespace(namespace).Resource(resource).VersionedParams(&o, c.codec)
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list := into.DeepCopyObject()
			err := request(o).Do(ctx).Into(list)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.Watch = true
			return request(o).Watch(ctx)
		},
	}
}

// lists reads a kind in the control namespace, and in those that fit a pattern.
func (c *Client) lists(resource string, into runtime.Object, others []string) *cache.ListWatch {
	if len(others) == 0 {
		return listWatch(c, c.namespace, resource, into)
	}
	return within(listWatch(c, metav1.NamespaceAll, resource, into), func(namespace string) bool {
		matches, _ := policy.MatchesNamespace(others, namespace)
		return matches || namespace == c.namespace
	})
}

// within leaves out the objects of other namespaces, so that they take up
// nothing here.
func within(all *cache.ListWatch, takes func(namespace string) bool) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			found, err := all.ListWithContextFunc(ctx, o)
			if err != nil {
				return found, err
			}
			switch list := found.(type) {
			case *v1alpha1.ApplicationList:
				list.Items = slices.DeleteFunc(list.Items, func(app v1alpha1.Application) bool { return !takes(app.Namespace) })
			case *v1alpha1.ApplicationSetList:
				list.Items = slices.DeleteFunc(list.Items, func(set v1alpha1.ApplicationSet) bool { return !takes(set.Namespace) })
			}
			return found, nil
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := all.WatchFuncWithContext(ctx, o)
			if err != nil {
				return nil, err
			}
			return watch.Filter(w, func(ev watch.Event) (watch.Event, bool) {
				o, ok := ev.Object.(metav1.Object)
				// Bookmarks and errors are about no object.
				return ev, !ok || ev.Type == watch.Bookmark || ev.Type == watch.Error || takes(o.GetNamespace())
			}), nil
		},
	}
}

func withoutManagedFields(obj any) (any, error) {
	// What is shared has none, and must not be written to.
	if o, ok := obj.(metav1.Object); ok && o.GetManagedFields() != nil {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

// handler adapts a typed function to the informer's events.
func handler[T any](f func(old, current *T)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if o, ok := obj.(*T); ok {
				f(nil, o)
			}
		},
		UpdateFunc: func(oldObj, obj any) {
			old, _ := oldObj.(*T)
			if o, ok := obj.(*T); ok {
				f(old, o)
			}
		},
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			if o, ok := obj.(*T); ok {
				f(o, nil)
			}
		},
	}
}

func get[T any](inf cache.SharedIndexInformer, namespace, name, what string) (T, error) {
	var zero T
	obj, ok, err := inf.GetIndexer().GetByKey(namespace + "/" + name)
	if err != nil {
		return zero, fault.Transientf("Cache", "reading %s %q: %w", what, name, err)
	}
	t, typed := obj.(T)
	if !ok || !typed {
		return zero, fault.Terminalf(NotFound, "%s %q does not exist in namespace %q", what, name, namespace)
	}
	return t, nil
}

// newer compares resource versions; where they are no numbers nothing is newer.
func newer(a, b string) bool {
	x, err := strconv.ParseUint(a, 10, 64)
	if err != nil {
		return false
	}
	y, err := strconv.ParseUint(b, 10, 64)
	return err == nil && x > y
}
