package cli_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/action"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/wish"
	"github.com/towline-cd/towline/internal/engine"
)

func (d *desk) ActionsOf(_ context.Context, _ *v1alpha1.Application, k object.Key) ([]action.Action, error) {
	switch k.Kind {
	case "Deployment":
		return []action.Action{{Name: "restart"}, {Name: "scale", Disabled: true, Params: []action.Param{{Name: "replicas"}}}}, nil
	case "Secret":
		return nil, errors.New("Secret is denied")
	}
	return nil, nil
}

func (d *desk) RunAction(_ context.Context, app *v1alpha1.Application, act engine.Act) ([]string, error) {
	if act.Name == "explode" {
		return nil, errors.New("no such action")
	}
	if act.Name == "nothing" {
		return nil, nil
	}
	return []string{fmt.Sprintf("%s %s of %s %v", act.Name, act.Object, app.Name, act.Params)}, nil
}

// Object, PatchObject and DeleteObject make the desk a cluster with the objects of the shop.
func (d *desk) Object(_ context.Context, _ *v1alpha1.Application, k object.Key) (*unstructured.Unstructured, error) {
	if k.Name == "gone" {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, k.Name)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"phase": "Running"}, "data": map[string]any{"key": "aGk="}}}
	u.SetAPIVersion("v1")
	u.SetKind(k.Kind)
	u.SetNamespace(k.Namespace)
	u.SetName(k.Name)
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "somebody"}})
	return u, nil
}

func (d *desk) PatchObject(ctx context.Context, app *v1alpha1.Application, k object.Key, p wish.Patch) (*unstructured.Unstructured, error) {
	d.town.add("patch %s: %s", k, p.Text)
	return d.Object(ctx, app, k)
}

func (d *desk) DeleteObject(_ context.Context, _ *v1alpha1.Application, k object.Key, how metav1.DeleteOptions) error {
	d.town.add("delete %s: %s, in time: %t", k, *how.PropagationPolicy, how.GracePeriodSeconds == nil)
	return nil
}

func TestActions(t *testing.T) {
	app := &v1alpha1.Application{}
	app.Name, app.Namespace = "shop", "argocd"
	app.Spec.Destination.Namespace = "shop"
	app.Status.Resources = []v1alpha1.ResourceStatus{
		{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"},
		{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "api"},
		{Kind: "ConfigMap", Namespace: "shop", Name: "c"},
	}
	const head = "GROUP   KIND         NAMESPACE   NAME   ACTION    DISABLED   PARAMETERS\n"
	for name, c := range map[string]struct {
		args     string
		out, err string
		code     int
	}{
		"all": {
			args: "list shop",
			out: head + "apps    Deployment   shop        web    restart   false\napps    Deployment   shop        web    scale     true       replicas\n" +
				"apps    Deployment   shop        api    restart   false\napps    Deployment   shop        api    scale     true       replicas\n",
		},
		"one": {
			args: "list shop --kind deployment --resource-name web --group apps -o yaml",
			out: "- disabled: false\n  name: restart\n  object:\n    group: apps\n    kind: Deployment\n    name: web\n    namespace: shop\n" +
				"- disabled: true\n  name: scale\n",
		},
		"of another group":        {args: "list shop --kind Deployment --group other", out: "GROUP   KIND   NAMESPACE"},
		"one that fails":          {args: "list shop --kind Secret --resource-name x", code: 20, err: "denied"},
		"run":                     {args: "run shop restart --kind Deployment --resource-name web", out: "restart Deployment.apps shop/web of shop map[]\n"},
		"run with parameters":     {args: "run shop scale --kind Deployment --resource-name web --param replicas=3", out: "scale Deployment.apps shop/web of shop map[replicas:3]\n"},
		"run on a child":          {args: "run shop x --kind Pod --resource-name web-1", out: "x Pod shop/web-1 of shop map[]\n"},
		"run on all":              {args: "run shop restart --kind Deployment --all", out: "restart Deployment.apps shop/web of shop map[]\nrestart Deployment.apps shop/api"},
		"nothing to do":           {args: "run shop nothing --kind ConfigMap", out: "ConfigMap shop/c is so already\n"},
		"run on too many":         {args: "run shop restart --kind Deployment", code: 2, err: "2 objects match"},
		"run on none":             {args: "run shop restart --kind Service", code: 20, err: "no such object"},
		"run that fails":          {args: "run shop explode --kind ConfigMap", code: 20, err: "no such action"},
		"run on what":             {args: "run shop restart", code: 2, err: "--kind"},
		"run what":                {args: "run shop --kind ConfigMap", code: 2, err: "an application and an action"},
		"a parameter with a slip": {args: "run shop x --kind ConfigMap --param a", code: 2, err: "NAME=VALUE"},
		"an unknown command":      {args: "ran", code: 2, err: `no command "ran"`},
		"an unknown application":  {args: "list other", code: 20, err: "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{hub: newMemory(app)}
			got := d.run(t, append([]string{"app", "actions"}, strings.Fields(c.args)...)...)
			if got.code != c.code || !strings.HasPrefix(got.out, c.out) || !strings.Contains(got.err, c.err) {
				t.Errorf("got %d\n%s%s", got.code, got.out, got.err)
			}
		})
	}
}
