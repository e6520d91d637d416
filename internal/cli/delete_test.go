package cli_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
)

const other = "example.com/keep"

func TestDeleteSetsTheFinalizer(t *testing.T) {
	tests := map[string]struct {
		before []string
		args   []string
		want   []string
	}{
		"cascade adds it":         {before: []string{other}, want: []string{other, v1alpha1.FinalizerResources}},
		"cascade finds it":        {before: []string{v1alpha1.FinalizerResourcesForeground, other}, want: []string{v1alpha1.FinalizerResourcesForeground, other}},
		"foreground replaces":     {before: []string{v1alpha1.FinalizerResourcesBackground, other}, want: []string{other, v1alpha1.FinalizerResources}},
		"background replaces":     {before: []string{other, v1alpha1.FinalizerResources}, args: []string{"--propagation-policy", "background"}, want: []string{other, v1alpha1.FinalizerResourcesBackground}},
		"no cascade takes it off": {before: []string{other, v1alpha1.FinalizerResources}, args: []string{"--cascade=false"}, want: []string{other}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			app := shop("shop")
			app.Finalizers = test.before
			m := newMemory(app)
			wantCode(t, (&desk{hub: m}).run(t, append([]string{"app", "delete", "shop", "-y"}, test.args...)...), 0)
			got := m.shop()
			if d := cmp.Diff(test.want, got.Finalizers); d != "" {
				t.Errorf("finalizers (-want +got):\n%s", d)
			}
			if got.DeletionTimestamp == nil {
				t.Error("it was not deleted")
			}
			if slices.Equal(test.before, test.want) != (len(m.patches) == 0) {
				t.Errorf("patches: %q", m.patches)
			}
		})
	}
}

func TestDeleteAsks(t *testing.T) {
	tests := map[string]struct {
		d       desk
		args    []string
		code    int
		deleted bool
		says    string
	}{
		"yes":                 {d: desk{atInput: true, in: "y\n"}, deleted: true, says: `also deletes the 3 objects that it is known to have in in-cluster/shop and waits for each to be gone`},
		"the name":            {d: desk{atInput: true, in: "shop\n"}, deleted: true, says: "Type y or shop to go on: "},
		"no":                  {d: desk{atInput: true, in: "n\n"}, code: 20, says: `deleting application "shop": not confirmed, nothing was deleted`},
		"nothing":             {d: desk{atInput: true}, code: 20, says: "not confirmed"},
		"a script":            {d: desk{in: "y\n"}, code: 2, says: "nobody is there to ask; add --yes if you mean it"},
		"a script that means": {args: []string{"--yes"}, deleted: true, says: `asked for the deletion of application "shop"`},
		"objects stay":        {args: []string{"-y", "--cascade=false"}, deleted: true, says: "leaves the 3 objects that it is known to have in in-cluster/shop as they are, and nothing manages them"},
		"a contradiction":     {args: []string{"-y", "--cascade=false", "--propagation-policy=background"}, code: 2, says: "--cascade=false deletes none"},
		"a wrong policy":      {args: []string{"-y", "--propagation-policy=sideways"}, code: 2, says: `foreground or background, not "sideways"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMemory(shop("shop"))
			d := test.d
			d.hub = m
			got := d.run(t, append([]string{"app", "delete", "shop"}, test.args...)...)
			wantCode(t, got, test.code)
			wantText(t, "stderr", got.err, test.says)
			app := m.shop()
			if gone := app == nil || app.DeletionTimestamp != nil; gone != test.deleted {
				t.Errorf("deleted: %t, want %t", gone, test.deleted)
			}
			if !test.deleted && len(m.patches) > 0 {
				t.Errorf("something was written: %q", m.patches)
			}
		})
	}
}

func TestDeleteWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(shop("shop"))
		m.patched = func(*v1alpha1.Application) {
			go func() {
				time.Sleep(9 * time.Second)
				m.drop("shop")
			}()
		}
		got := (&desk{hub: m, now: time.Now}).run(t, "app", "delete", "shop", "-y", "--wait")
		wantCode(t, got, 0)
		wantText(t, "stderr", got.err, "00:00:09  shop  gone")
	})
}

func TestDeleteOfWhatIsOnItsWay(t *testing.T) {
	app := shop("shop")
	app.DeletionTimestamp = new(metav1.NewTime(today))
	app.Finalizers = []string{v1alpha1.FinalizerResources}
	m := newMemory(app)
	got := (&desk{hub: m}).run(t, "app", "delete", "shop", "-y", "--propagation-policy", "background")
	wantCode(t, got, 0)
	wantText(t, "stderr", got.err, "is being deleted already")
	// Without the finalizer it could go before its objects did.
	if d := cmp.Diff([]string{v1alpha1.FinalizerResources}, m.shop().Finalizers); d != "" {
		t.Errorf("finalizers (-want +got):\n%s", d)
	}
}
