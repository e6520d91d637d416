package client

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Objects are the objects of one kind that the server has.
type Objects[T, L any] struct {
	*Client
	// path is below the API's, and about one of them, in words.
	path, about string
	// wrapped is what a body is called: {"project": …}; empty where it is the object itself.
	wrapped string
	query   url.Values
}

// ApplicationSets are those of a namespace.
func (c *Client) ApplicationSets(namespace string) Objects[v1alpha1.ApplicationSet, v1alpha1.ApplicationSetList] {
	out := Objects[v1alpha1.ApplicationSet, v1alpha1.ApplicationSetList]{Client: c, path: "applicationsets", about: "ApplicationSet"}
	if namespace != "" {
		out.query = url.Values{"appsetNamespace": {namespace}}
	}
	return out
}

// Get is one by its name.
func (o Objects[T, L]) Get(ctx context.Context, name string) (*T, error) {
	return get[*T](ctx, o.Client, request{path: under(o.path, name), query: o.query, about: o.about, name: name})
}

// List is all of them that fit.
func (o Objects[T, L]) List(ctx context.Context, opts metav1.ListOptions) (*L, error) {
	query, err := selecting(opts)
	if err != nil {
		return nil, err
	}
	maps.Copy(query, o.query)
	return get[*L](ctx, o.Client, request{path: under(o.path), query: query, about: o.about})
}

// Create makes one.
func (o Objects[T, L]) Create(ctx context.Context, object *T, dryRun bool) (*T, error) {
	var body any = object
	if o.wrapped != "" {
		body = map[string]any{o.wrapped: object}
	}
	query := url.Values{}
	if dryRun {
		query.Set("dryRun", "true")
	}
	out := new(T)
	err := o.ask(ctx, request{method: http.MethodPost, path: under(o.path), query: query, body: body, about: o.about}, out)
	return out, err
}

// Patch is not among what a server of this kind offers.
func (o Objects[T, L]) Patch(context.Context, string, []byte, bool) (*T, error) {
	return nil, fmt.Errorf("this server does not change a part of a %s; --core does, with your kubeconfig", o.about)
}

// Delete deletes one.
func (o Objects[T, L]) Delete(ctx context.Context, name string, _ types.UID) error {
	return o.ask(ctx, request{method: http.MethodDelete, path: under(o.path, name), query: o.query, about: o.about, name: name}, nil)
}

// Gone is not to be had from a server yet.
func (o Objects[T, L]) Gone(context.Context, string) error {
	return fmt.Errorf("this server does not tell when a %s is gone; --core does, with your kubeconfig", o.about)
}
