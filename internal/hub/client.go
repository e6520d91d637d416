// Package hub is typed access to the custom resources in the control
// namespace: read them, watch them, patch them. It must not decide what to
// write, and it keeps no state but the cache that its watch fills.
package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/frame"
	"github.com/towline-cd/towline/internal/core/object"
)

const (
	applications = "applications"
	projects     = "appprojects"
)

// Client reads and writes the custom resources of one control namespace.
type Client struct {
	namespace string
	rest      rest.Interface
	codec     runtime.ParameterCodec
	// once is what was read before; nil where nobody keeps that.
	once *once
}

// New makes a client.
func New(config *rest.Config, namespace string) (*Client, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering the API types: %w", err)
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.APIPath = "/apis"
	gv := v1alpha1.GroupVersion()
	config.GroupVersion = &gv
	c := &Client{namespace: namespace, codec: runtime.NewParameterCodec(scheme)}
	// Nobody here reads managedFields.
	lean := frame.Lean(frame.Typed[v1alpha1.Application](gv.WithKind(v1alpha1.ApplicationKind)), c.known)
	config.NegotiatedSerializer = frame.Quick(forgiving{serializer.NewCodecFactory(scheme).WithoutConversion()}, c.told(lean))
	r, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the hub: %w", err)
	}
	c.rest = r
	return c, nil
}

// Namespace is the control namespace.
func (c *Client) Namespace() string { return c.namespace }

// Application reads one application from the server, by object.AppName.
func (c *Client) Application(ctx context.Context, name string) (*v1alpha1.Application, error) {
	app := &v1alpha1.Application{}
	namespace, bare := object.SplitAppName(c.namespace, name)
	err := c.rest.Get().Namespace(namespace).Resource(applications).Name(bare).Do(ctx).Into(app)
	if err != nil {
		return nil, classify(err, "reading application", name)
	}
	return app, nil
}

// Applications reads the applications that fit the options.
func (c *Client) Applications(ctx context.Context, o metav1.ListOptions) (*v1alpha1.ApplicationList, error) {
	list := &v1alpha1.ApplicationList{}
	err := c.rest.Get().Namespace(c.namespace).Resource(applications).VersionedParams(&o, c.codec).Do(ctx).Into(list)
	if err != nil {
		return nil, classify(err, "listing applications in namespace", c.namespace)
	}
	return list, nil
}

// WatchApplications streams changes of the applications that fit the options.
func (c *Client) WatchApplications(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	w, err := c.rest.Get().Namespace(c.namespace).Resource(applications).VersionedParams(&o, c.codec).Watch(ctx)
	if err != nil {
		return nil, classify(err, "watching applications in namespace", c.namespace)
	}
	return w, nil
}

// PatchApplication merges patch into an application and returns the result.
// With a resource version in the patch the server refuses it for any other.
func (c *Client) PatchApplication(ctx context.Context, name string, patch []byte) (*v1alpha1.Application, error) {
	return c.patch(ctx, name, patch, v1alpha1.FieldManagerStatus)
}

func (c *Client) patch(ctx context.Context, name string, patch []byte, manager string) (*v1alpha1.Application, error) {
	app := &v1alpha1.Application{}
	o := metav1.PatchOptions{FieldManager: manager}
	namespace, bare := object.SplitAppName(c.namespace, name)
	err := c.rest.Patch(types.MergePatchType).Namespace(namespace).Resource(applications).Name(bare).
		VersionedParams(&o, c.codec).Body(patch).Do(ctx).Into(app)
	if err != nil {
		return nil, classify(err, "updating application", name)
	}
	return app, nil
}

// MakeApplication makes an application, as a person asks for it.
func (c *Client) MakeApplication(ctx context.Context, app *v1alpha1.Application) (*v1alpha1.Application, error) {
	return c.createAs(ctx, app, v1alpha1.FieldManagerAction)
}

func (c *Client) createAs(ctx context.Context, app *v1alpha1.Application, manager string) (*v1alpha1.Application, error) {
	made := &v1alpha1.Application{}
	o := metav1.CreateOptions{FieldManager: manager}
	err := c.rest.Post().Namespace(cmp.Or(app.Namespace, c.namespace)).Resource(applications).
		VersionedParams(&o, c.codec).Body(app).Do(ctx).Into(made)
	if err != nil {
		return nil, classify(err, "creating application", app.Name)
	}
	made.ManagedFields = nil
	return made, nil
}

// DeleteApplication asks the server to delete an application.
func (c *Client) DeleteApplication(ctx context.Context, name string, uid types.UID) error {
	o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	namespace, bare := object.SplitAppName(c.namespace, name)
	err := c.rest.Delete().Namespace(namespace).Resource(applications).Name(bare).Body(&o).Do(ctx).Error()
	if err != nil {
		return classify(err, "deleting application", name)
	}
	return nil
}

// Project reads one project from the server.
func (c *Client) Project(ctx context.Context, name string) (*v1alpha1.AppProject, error) {
	p := &v1alpha1.AppProject{}
	err := c.rest.Get().Namespace(c.namespace).Resource(projects).Name(name).Do(ctx).Into(p)
	if err != nil {
		return nil, classify(err, "reading project", name)
	}
	return p, nil
}

// PatchProject merges patch into a project. With a resource version in the
// patch the server refuses it for any other.
func (c *Client) PatchProject(ctx context.Context, name string, patch []byte) error {
	o := metav1.PatchOptions{FieldManager: v1alpha1.FieldManagerStatus}
	err := c.rest.Patch(types.MergePatchType).Namespace(c.namespace).Resource(projects).Name(name).
		VersionedParams(&o, c.codec).Body(patch).Do(ctx).Error()
	if err != nil {
		return classify(err, "updating project", name)
	}
	return nil
}

// Check reads one application, to see whether there can be any.
func (c *Client) Check(ctx context.Context) error {
	_, err := c.Applications(ctx, metav1.ListOptions{Limit: 1})
	return err
}

// EnsureDefaultProject makes the project that applications without one belong
// to, wide open as Argo CD has it, unless it is there.
func (c *Client) EnsureDefaultProject(ctx context.Context) error {
	p := &v1alpha1.AppProject{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.DefaultProjectName, Namespace: c.namespace},
		Spec: v1alpha1.AppProjectSpec{
			SourceRepos:              []string{"*"},
			Destinations:             []v1alpha1.ApplicationDestination{{Server: "*", Namespace: "*"}},
			ClusterResourceWhitelist: []v1alpha1.ClusterResourceRestriction{{Group: "*", Kind: "*"}},
		},
	}
	err := c.rest.Post().Namespace(c.namespace).Resource(projects).Body(p).Do(ctx).Error()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return classify(err, "creating project", p.Name)
	}
	return nil
}

func classify(err error, doing, name string) error {
	msg := fmt.Errorf("%s %q: %w", doing, name, err)
	var status apierrors.APIStatus
	if decided, ok := errors.AsType[*fault.Error](err); ok {
		// Whoever carries the requests knows better.
		return &fault.Error{Class: decided.Class, Reason: decided.Reason, Err: msg}
	}
	switch {
	case apierrors.IsNotFound(err):
		return fault.Terminalf(NotFound, "%w", msg)
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return fault.Transientf(Conflict, "%w", msg)
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fault.Terminalf("Refused", "%w", msg)
	case errors.As(err, &status):
		return fault.Transientf("Server", "%w", msg)
	}
	return fault.Transientf("Unreachable", "%w", msg)
}

// The reasons of faults that callers tell apart.
const (
	NotFound = "NotFound"
	Conflict = "Conflict"
)
