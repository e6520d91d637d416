package object_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/object"
)

func TestTrackerStamps(t *testing.T) {
	long := strings.Repeat("a", 61) + "-.b"
	cases := map[string]struct {
		tracker             object.Tracker
		app                 string
		annotations, labels map[string]string
	}{
		"by annotation unless told otherwise": {
			app: "shop", annotations: map[string]string{"argocd.argoproj.io/tracking-id": "shop:/ConfigMap:ns/web"},
		},
		"by annotation": {
			tracker: object.Tracker{Method: object.ByAnnotation, LabelKey: "mine"},
			app:     "shop", annotations: map[string]string{"argocd.argoproj.io/tracking-id": "shop:/ConfigMap:ns/web"},
		},
		"by both": {
			tracker: object.Tracker{Method: object.ByBoth},
			app:     "shop", annotations: map[string]string{"argocd.argoproj.io/tracking-id": "shop:/ConfigMap:ns/web"},
			labels: map[string]string{"app.kubernetes.io/instance": "shop"},
		},
		"by both, cut to what a label takes": {
			tracker: object.Tracker{Method: object.ByBoth},
			app:     long, annotations: map[string]string{"argocd.argoproj.io/tracking-id": long + ":/ConfigMap:ns/web"},
			labels: map[string]string{"app.kubernetes.io/instance": strings.Repeat("a", 61)},
		},
		"by label": {
			tracker: object.Tracker{Method: object.ByLabel},
			app:     "shop", labels: map[string]string{"app.kubernetes.io/instance": "shop"},
		},
		"by a label of one's own, never cut": {
			tracker: object.Tracker{Method: object.ByLabel, LabelKey: "example.com/app"},
			app:     long, labels: map[string]string{"example.com/app": long},
		},
		"with an installation": {
			tracker: object.Tracker{InstallationID: "blue"},
			app:     "shop",
			annotations: map[string]string{
				"argocd.argoproj.io/tracking-id": "shop:/ConfigMap:ns/web", "argocd.argoproj.io/installation-id": "blue",
			},
		},
		"by label with an installation": {
			tracker: object.Tracker{Method: object.ByLabel, InstallationID: "blue"},
			app:     "shop", annotations: map[string]string{"argocd.argoproj.io/installation-id": "blue"},
			labels: map[string]string{"app.kubernetes.io/instance": "shop"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in := body("v1", "ConfigMap", "ns", "web")
			before := in.DeepCopy()
			out := c.tracker.Stamp(in, c.app, "dest")
			if d := gocmp.Diff(before.Object, in.Object); d != "" {
				t.Errorf("the input was changed:\n%s", d)
			}
			if d := gocmp.Diff(c.annotations, out.GetAnnotations()); d != "" {
				t.Errorf("the annotations differ (-want +got):\n%s", d)
			}
			if d := gocmp.Diff(c.labels, out.GetLabels()); d != "" {
				t.Errorf("the labels differ (-want +got):\n%s", d)
			}
			if mark, self := c.tracker.Of(out); !self || mark.App != c.app || mark.Key != object.KeyOf(in) {
				t.Errorf("it reads its own mark as %+v, %v", mark, self)
			}
		})
	}
}

func TestTrackerReads(t *testing.T) {
	const tracking, installation = "argocd.argoproj.io/tracking-id", "argocd.argoproj.io/installation-id"
	cases := map[string]struct {
		tracker             object.Tracker
		annotations, labels map[string]string
		app                 string
		self                bool
	}{
		"a label says nothing to the annotation": {labels: map[string]string{"app.kubernetes.io/instance": "shop"}},
		"nor to both": {
			tracker: object.Tracker{Method: object.ByBoth}, labels: map[string]string{"app.kubernetes.io/instance": "shop"},
		},
		"of both only the annotation counts": {
			tracker: object.Tracker{Method: object.ByBoth}, annotations: map[string]string{tracking: "shop:/ConfigMap:ns/web"},
			labels: map[string]string{"app.kubernetes.io/instance": "cart"}, app: "shop", self: true,
		},
		"a copied annotation": {annotations: map[string]string{tracking: "shop:/ConfigMap:ns/other"}, app: "shop"},
		"an annotation says nothing to the label": {
			tracker: object.Tracker{Method: object.ByLabel}, annotations: map[string]string{tracking: "shop:/ConfigMap:ns/web"},
		},
		"a label": {
			tracker: object.Tracker{Method: object.ByLabel}, labels: map[string]string{"app.kubernetes.io/instance": "shop"}, app: "shop", self: true,
		},
		"another label": {
			tracker: object.Tracker{Method: object.ByLabel, LabelKey: "mine"}, labels: map[string]string{"app.kubernetes.io/instance": "shop"},
		},
		"another installation": {
			tracker:     object.Tracker{InstallationID: "blue"},
			annotations: map[string]string{tracking: "shop:/ConfigMap:ns/web", installation: "green"},
		},
		"no installation where there should be one": {
			tracker: object.Tracker{InstallationID: "blue"}, annotations: map[string]string{tracking: "shop:/ConfigMap:ns/web"},
		},
		"a label of another installation": {
			tracker:     object.Tracker{Method: object.ByLabel, InstallationID: "blue"},
			annotations: map[string]string{installation: "green"}, labels: map[string]string{"app.kubernetes.io/instance": "shop"},
		},
		"without an installation of one's own all marks count": {
			annotations: map[string]string{tracking: "shop:/ConfigMap:ns/web", installation: "green"}, app: "shop", self: true,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			u := body("v1", "ConfigMap", "ns", "web")
			u.SetAnnotations(c.annotations)
			u.SetLabels(c.labels)
			mark, self := c.tracker.Of(u)
			if mark.App != c.app || self != c.self {
				t.Errorf("got %q, self %v", mark.App, self)
			}
		})
	}
}
