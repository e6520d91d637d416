package hub

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/frame"
	"github.com/towline-cd/towline/internal/core/object"
)

// once has what the server tells twice read once: the state that a write made comes as the answer to it and in the watch,
// whichever is first. What both are given is shared, as all that a cache gives.
type once struct {
	mu sync.Mutex
	// writing are the writes that are under way, by application, with what the watch has told meanwhile.
	writing map[string]*v1alpha1.Application
	// written gives the answer to a write that the watch has not shown yet; nil is none.
	written func(name string) *v1alpha1.Application
}

// begin says that an application is about to be written, and end that it was.
func (o *once) begin(name string) (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writing[name] = nil
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.writing, name)
	}
}

// of is the application that was read before, from the watch for an answer and from an answer for the watch.
func (o *once) of(name string, answer bool) *v1alpha1.Application {
	if !answer {
		return o.written(name)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.writing[name]
}

// tell notes what the watch tells of an application that is being written.
func (o *once) tell(name string, app *v1alpha1.Application) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.writing[name]; ok {
		o.writing[name] = app
	}
}

// known is the application of a text, if that state of it was read before.
func (c *Client) known(h frame.Head, into runtime.Object) runtime.Object {
	if c.once == nil || h.Kind != v1alpha1.GroupVersion().WithKind(v1alpha1.ApplicationKind) {
		return nil
	}
	app := c.once.of(object.AppName(c.namespace, h.Namespace, h.Name), into != nil)
	if app == nil || app.ResourceVersion != h.Version {
		return nil
	}
	if into == nil {
		return app
	}
	out, ok := into.(*v1alpha1.Application)
	if !ok {
		return nil
	}
	*out = *app
	return out
}

// told reads, and notes what came by itself.
func (c *Client) told(read frame.Read) frame.Read {
	return func(data []byte, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, bool) {
		out, kind, ok := read(data, into)
		if app, is := out.(*v1alpha1.Application); is && ok && into == nil && c.once != nil {
			c.once.tell(object.AppName(c.namespace, app.Namespace, app.Name), app)
		}
		return out, kind, ok
	}
}
