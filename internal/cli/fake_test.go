package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
)

var resource = schema.GroupResource{Group: v1alpha1.Group, Resource: v1alpha1.ApplicationResource}

// memory is a hub without a server: objects with versions, merge patches,
// preconditions, and watches that go on from a version.
type memory struct {
	mu      sync.Mutex
	version int
	apps    map[string]*v1alpha1.Application
	history []watch.Event
	// oldest is the version from which on history is known.
	oldest  int
	watches []*stream

	// patched is called after a patch, as a controller would be woken by it.
	patched func(app *v1alpha1.Application)
	// fails returns the error of a verb, or nil.
	fails func(verb string) error
	// patches are those that were taken, and lists and opened count requests.
	patches       []string
	lists, opened int
	// made are the names of those that were created.
	made []string
}

func newMemory(apps ...*v1alpha1.Application) *memory {
	m := &memory{apps: map[string]*v1alpha1.Application{}, version: 100}
	for _, a := range apps {
		m.put(a)
	}
	return m
}

func (m *memory) fail(verb string) error {
	if m.fails == nil {
		return nil
	}
	return m.fails(verb)
}

// put stores an application as somebody else would write it.
func (m *memory) put(app *v1alpha1.Application) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.store(app)
}

func (m *memory) store(app *v1alpha1.Application) *v1alpha1.Application {
	kind := watch.Modified
	if m.apps[app.Name] == nil {
		kind = watch.Added
	}
	m.version++
	app = app.DeepCopy()
	app.ResourceVersion = strconv.Itoa(m.version)
	if app.UID == "" {
		app.UID = types.UID("uid-of-" + app.Name)
	}
	m.apps[app.Name] = app
	m.publish(watch.Event{Type: kind, Object: app.DeepCopy()})
	return app
}

// edit changes an application as a controller would.
func (m *memory) edit(name string, change func(*v1alpha1.Application)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	app := m.apps[name].DeepCopy()
	change(app)
	m.store(app)
}

func (m *memory) drop(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.version++
	app := m.apps[name].DeepCopy()
	app.ResourceVersion = strconv.Itoa(m.version)
	delete(m.apps, name)
	m.publish(watch.Event{Type: watch.Deleted, Object: app})
}

// shop is the application that most tests are about; nil if it is gone.
func (m *memory) shop() *v1alpha1.Application {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.apps["shop"].DeepCopy()
}

func (m *memory) publish(e watch.Event) {
	m.history = append(m.history, e)
	for _, w := range m.watches {
		w.offer(e)
	}
}

// forget loses history, as a server does with time.
func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.history, m.oldest = nil, m.version
}

// cut ends all watches, with an error of the server if there is one.
func (m *memory) cut(err *apierrors.StatusError) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.watches {
		if err != nil {
			w.events <- watch.Event{Type: watch.Error, Object: &err.ErrStatus}
		}
		w.close()
	}
	m.watches = nil
}

func (m *memory) Application(_ context.Context, name string) (*v1alpha1.Application, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail("get"); err != nil {
		return nil, err
	}
	if m.apps[name] == nil {
		return nil, fault.Terminalf("NotFound", "reading application %q: %w", name, apierrors.NewNotFound(resource, name))
	}
	return m.apps[name].DeepCopy(), nil
}

func (m *memory) Applications(_ context.Context, o metav1.ListOptions) (*v1alpha1.ApplicationList, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lists++
	if err := m.fail("list"); err != nil {
		return nil, err
	}
	list := &v1alpha1.ApplicationList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(m.version)}}
	// Backwards, so that nobody relies on the order of the server.
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(m.apps))) {
		if selects(o, m.apps[name]) {
			list.Items = append(list.Items, *m.apps[name].DeepCopy())
		}
	}
	return list, nil
}

func (m *memory) WatchApplications(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.opened++
	if err := m.fail("watch"); err != nil {
		return nil, err
	}
	since, err := strconv.Atoi(o.ResourceVersion)
	if err != nil {
		return nil, apierrors.NewBadRequest("a watch must go on from a list")
	}
	if since < m.oldest {
		return nil, apierrors.NewResourceExpired("too old")
	}
	w := &stream{options: o, events: make(chan watch.Event, 1000)}
	for _, e := range m.history {
		if v, _ := strconv.Atoi(e.Object.(*v1alpha1.Application).ResourceVersion); v > since {
			w.offer(e)
		}
	}
	m.watches = append(m.watches, w)
	return w, nil
}

func (m *memory) PatchApplication(ctx context.Context, name string, patch []byte) (*v1alpha1.Application, error) {
	app, err := m.patch(ctx, name, patch)
	if err == nil && m.patched != nil {
		m.patched(app)
	}
	return app, err
}

func (m *memory) patch(_ context.Context, name string, patch []byte) (*v1alpha1.Application, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail("patch"); err != nil {
		return nil, err
	}
	if m.apps[name] == nil {
		return nil, fault.Terminalf("NotFound", "updating application %q: %w", name, apierrors.NewNotFound(resource, name))
	}
	var now, change map[string]any
	b, err := json.Marshal(m.apps[name])
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &now); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(patch, &change); err != nil {
		return nil, err
	}
	if meta, ok := change["metadata"].(map[string]any); ok {
		if v, ok := meta["resourceVersion"]; ok && v != m.apps[name].ResourceVersion {
			return nil, fault.Transientf("Conflict", "updating application %q: %w", name, apierrors.NewConflict(resource, name, nil))
		}
	}
	if b, err = json.Marshal(merge(now, change)); err != nil {
		return nil, err
	}
	app := &v1alpha1.Application{}
	if err := json.Unmarshal(b, app); err != nil {
		return nil, err
	}
	m.patches = append(m.patches, string(patch))
	return m.store(app).DeepCopy(), nil
}

func (m *memory) DeleteApplication(_ context.Context, name string, uid types.UID) error {
	m.mu.Lock()
	app := m.apps[name]
	err := m.fail("delete")
	m.mu.Unlock()
	switch {
	case err != nil:
		return err
	case app == nil:
		return fault.Terminalf("NotFound", "deleting application %q: %w", name, apierrors.NewNotFound(resource, name))
	case app.UID != uid:
		return fault.Transientf("Conflict", "deleting application %q: %w", name, apierrors.NewConflict(resource, name, nil))
	case len(app.Finalizers) == 0:
		m.drop(name)
		return nil
	}
	m.edit(name, func(a *v1alpha1.Application) { a.DeletionTimestamp = new(metav1.NewTime(today)) })
	return nil
}

// CreateApplication makes the memory a maker.
func (m *memory) CreateApplication(_ context.Context, app *v1alpha1.Application, _ bool) (*v1alpha1.Application, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail("create"); err != nil {
		return nil, err
	}
	if m.apps[app.Name] != nil {
		return nil, fault.Transientf("Conflict", "creating application %q: %w", app.Name, apierrors.NewAlreadyExists(resource, app.Name))
	}
	m.made = append(m.made, app.Name)
	return m.store(app).DeepCopy(), nil
}

func merge(into, change map[string]any) map[string]any {
	for k, v := range change {
		sub, isMap := v.(map[string]any)
		switch {
		case v == nil:
			delete(into, k)
		case isMap:
			old, ok := into[k].(map[string]any)
			if !ok {
				old = map[string]any{}
			}
			into[k] = merge(old, sub)
		default:
			into[k] = v
		}
	}
	return into
}

func selects(o metav1.ListOptions, app *v1alpha1.Application) bool {
	f, err := fields.ParseSelector(o.FieldSelector)
	if err != nil {
		return false
	}
	l, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return false
	}
	return f.Matches(fields.Set{"metadata.name": app.Name}) && l.Matches(labels.Set(app.Labels))
}

// stream is one watch.
type stream struct {
	options metav1.ListOptions
	events  chan watch.Event
	once    sync.Once
}

func (s *stream) offer(e watch.Event) {
	if selects(s.options, e.Object.(*v1alpha1.Application)) {
		s.events <- e
	}
}

func (s *stream) close()                         { s.once.Do(func() { close(s.events) }) }
func (s *stream) Stop()                          {}
func (s *stream) ResultChan() <-chan watch.Event { return s.events }

func status(t *testing.T, err error) *apierrors.StatusError {
	t.Helper()
	out, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		t.Fatalf("%v is no answer of a server", err)
	}
	return out
}
