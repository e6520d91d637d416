package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
)

const gadgetCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.health.example.com}
spec:
  group: health.example.com
  names: {kind: Gadget, plural: gadgets, singular: gadget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

const gadget = `apiVersion: health.example.com/v1
kind: Gadget
metadata: {name: g}
spec: {size: small}
`

var gadgets = schema.GroupVersionResource{Group: "health.example.com", Version: "v1", Resource: "gadgets"}

// healthOf is the health that an application's status gives an object.
func healthOf(app *v1alpha1.Application, kind string) v1alpha1.HealthStatus {
	for _, r := range app.Status.Resources {
		if r.Kind == kind && r.Health != nil {
			return *r.Health
		}
	}
	return v1alpha1.HealthStatus{}
}

// readings are the lists and watches of towline's user that have ended, by
// resource.
func (f *fixture) readings() map[string]int {
	f.Helper()
	all, err := f.trail.Events()
	f.must(err)
	out := map[string]int{}
	for _, e := range all {
		if e.User == f.user && (e.Verb == "watch" || e.Verb == "list") {
			out[e.Resource]++
		}
	}
	return out
}

// TestHealthScript: a script in argocd-cm decides at once, for the objects of
// its kind and for no others, and a bad one says so.
func TestHealthScript(t *testing.T) {
	f := setup(t)
	if out, err := f.kubectlTry(gadgetCRD, "apply", "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd/gadgets.health.example.com")
	f.must(f.git.Create("shop", map[string]string{"gadget.yaml": gadget, "web.yaml": web}))
	first, err := f.git.Revision("shop", "main")
	f.must(err)
	f.start()
	f.application("judged", "shop", ".", automated)
	app := f.await("judged", "synced", synced(first))
	if h := healthOf(app, "Gadget"); h.Status != "" {
		t.Fatalf("without a script the gadget is %+v", h)
	}
	const key = "resource.customizations.health.health.example.com_Gadget"
	becomes := func(status v1alpha1.HealthStatusCode, message string) *v1alpha1.Application {
		t.Helper()
		return f.await("judged", fmt.Sprintf("%s with %q", status, message), func(app *v1alpha1.Application) bool {
			h := healthOf(app, "Gadget")
			return h.Status == status && strings.Contains(h.Message, message) && (status == "" || app.Status.Health.Status == status)
		})
	}

	t.Run("a new script", func(t *testing.T) {
		before := f.readings()
		f.settings(map[string]string{key: `
hs = {status = "Progressing", message = "no phase"}
if obj.status ~= nil and obj.status.phase ~= nil then
  hs.status = obj.status.phase
  hs.message = "size " .. obj.spec.size
end
return hs`})
		becomes("Progressing", "no phase")
		after := f.readings()
		if after["gadgets"] != before["gadgets"]+1 {
			t.Errorf("gadgets were read %d times anew, want 1", after["gadgets"]-before["gadgets"])
		}
		for resource, n := range after {
			if resource != "gadgets" && n != before[resource] {
				t.Errorf("%s was read anew %d times", resource, n-before[resource])
			}
		}
	})

	t.Run("an event", func(t *testing.T) {
		f.edit(gadgets, "g", `{"status":{"phase":"Degraded"}}`)
		becomes("Degraded", "size small")
		f.edit(gadgets, "g", `{"status":{"phase":"Healthy"}}`)
		becomes("Healthy", "size small")
	})

	t.Run("a script that does not compile", func(t *testing.T) {
		f.settings(map[string]string{key: "local hs = {}\nif then\nreturn hs"})
		app := becomes("Unknown", "line 2")
		if h := healthOf(app, "Gadget"); !strings.Contains(h.Message, key) {
			t.Errorf("the message does not name the key: %s", h.Message)
		}
	})

	t.Run("a script that never ends", func(t *testing.T) {
		f.settings(map[string]string{key: "while true do end"})
		becomes("Unknown", "limit of")
	})

	t.Run("a script that takes all memory", func(t *testing.T) {
		f.settings(map[string]string{key: `local s = "xxxxxxxxxxxxxxxx" while true do s = s .. s end`})
		becomes("Unknown", "limit of")
	})

	t.Run("another setting reads nothing anew", func(t *testing.T) {
		f.settings(map[string]string{key: `return {status = "Suspended"}`})
		becomes("Suspended", "")
		before := f.readings()["gadgets"]
		f.settings(map[string]string{key: `return {status = "Suspended"}`, "timeout.reconciliation": "90s"})
		f.settings(map[string]string{"timeout.reconciliation": "90s"})
		becomes("", "")
		// One for the script that went, none for the setting before it.
		if n := f.readings()["gadgets"] - before; n != 1 {
			t.Errorf("gadgets were read %d times anew, want 1", n)
		}
	})
}
