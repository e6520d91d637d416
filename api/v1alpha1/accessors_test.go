package v1alpha1_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/towline-cd/towline/api/v1alpha1"
)

func TestAddToSchemeKnowsEveryKind(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{
		"Application", "ApplicationList", "ApplicationSet", "ApplicationSetList", "AppProject", "AppProjectList",
	} {
		if !scheme.Recognizes(v1alpha1.GroupVersion().WithKind(kind)) {
			t.Errorf("%s is not known", kind)
		}
	}
}

func TestSourcesWinOverSource(t *testing.T) {
	one := v1alpha1.ApplicationSource{RepoURL: "one"}
	two := v1alpha1.ApplicationSource{RepoURL: "two"}
	tests := map[string]struct {
		spec v1alpha1.ApplicationSpec
		want v1alpha1.ApplicationSources
	}{
		"none":          {},
		"source":        {spec: v1alpha1.ApplicationSpec{Source: &one}, want: v1alpha1.ApplicationSources{one}},
		"sources":       {spec: v1alpha1.ApplicationSpec{Sources: v1alpha1.ApplicationSources{one, two}}, want: v1alpha1.ApplicationSources{one, two}},
		"both":          {spec: v1alpha1.ApplicationSpec{Source: &one, Sources: v1alpha1.ApplicationSources{two}}, want: v1alpha1.ApplicationSources{two}},
		"empty sources": {spec: v1alpha1.ApplicationSpec{Source: &one, Sources: v1alpha1.ApplicationSources{}}, want: v1alpha1.ApplicationSources{one}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			app := &v1alpha1.Application{Spec: test.spec}
			if diff := cmp.Diff(test.want, app.Sources()); diff != "" {
				t.Errorf("sources differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAutomatedIsOnUnlessDisabled(t *testing.T) {
	yes, no := true, false
	tests := map[string]struct {
		policy *v1alpha1.SyncPolicy
		want   bool
	}{
		"no policy": {policy: nil, want: false},
		"no block":  {policy: &v1alpha1.SyncPolicy{}, want: false},
		"block":     {policy: &v1alpha1.SyncPolicy{Automated: &v1alpha1.SyncPolicyAutomated{}}, want: true},
		"enabled":   {policy: &v1alpha1.SyncPolicy{Automated: &v1alpha1.SyncPolicyAutomated{Enabled: &yes}}, want: true},
		"disabled":  {policy: &v1alpha1.SyncPolicy{Automated: &v1alpha1.SyncPolicyAutomated{Enabled: &no}}, want: false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.policy.AutomatedEnabled(); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

func TestSmallAnswers(t *testing.T) {
	got := map[string]any{
		"no project":      (&v1alpha1.Application{}).ProjectName(),
		"project":         (&v1alpha1.Application{Spec: v1alpha1.ApplicationSpec{Project: "team"}}).ProjectName(),
		"running is over": v1alpha1.OperationRunning.Completed(),
		"ending is over":  v1alpha1.OperationTerminating.Completed(),
		"failed is over":  v1alpha1.OperationFailed.Completed(),
		"error is over":   v1alpha1.OperationError.Completed(),
		"success is over": v1alpha1.OperationSucceeded.Completed(),
		"sync":            [2]bool{v1alpha1.ApplicationsSyncPolicySync.AllowUpdate(), v1alpha1.ApplicationsSyncPolicySync.AllowDelete()},
		"create-only":     [2]bool{v1alpha1.ApplicationsSyncPolicyCreateOnly.AllowUpdate(), v1alpha1.ApplicationsSyncPolicyCreateOnly.AllowDelete()},
		"create-update":   [2]bool{v1alpha1.ApplicationsSyncPolicyCreateUpdate.AllowUpdate(), v1alpha1.ApplicationsSyncPolicyCreateUpdate.AllowDelete()},
		"create-delete":   [2]bool{v1alpha1.ApplicationsSyncPolicyCreateDelete.AllowUpdate(), v1alpha1.ApplicationsSyncPolicyCreateDelete.AllowDelete()},
	}
	want := map[string]any{
		"no project": "default", "project": "team",
		"running is over": false, "ending is over": false,
		"failed is over": true, "error is over": true, "success is over": true,
		"sync": [2]bool{true, true}, "create-only": [2]bool{false, false},
		"create-update": [2]bool{true, false}, "create-delete": [2]bool{false, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers differ (-want +got):\n%s", diff)
	}
}

// TestWhatIsEmptyInJSON pins what an object says that says nothing: by encoding/json, and by the converter that clients
// of unstructured objects use.
func TestWhatIsEmptyInJSON(t *testing.T) {
	tests := map[string]struct {
		object any
		want   string
	}{
		"a new Application names no status": {
			object: &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
			want:   `{"metadata":{"name":"a"},"spec":{"destination":{},"project":""}}`,
		},
		"a new ApplicationSet names no status, and no template in its generators": {
			object: &v1alpha1.ApplicationSet{Spec: v1alpha1.ApplicationSetSpec{
				Generators: []v1alpha1.ApplicationSetGenerator{{Clusters: &v1alpha1.ClusterGenerator{}}},
			}},
			want: `{"metadata":{},"spec":{"generators":[{"clusters":{}}],"template":{"metadata":{},"spec":{"destination":{},"project":""}}}}`,
		},
		"a project that permits no namespaced kind keeps saying so": {
			object: &v1alpha1.AppProject{Spec: v1alpha1.AppProjectSpec{NamespaceResourceWhitelist: []metav1.GroupKind{}}},
			want:   `{"metadata":{},"spec":{"namespaceResourceWhitelist":[]}}`,
		},
		"a status always has verdict, health and summary": {
			object: &v1alpha1.ApplicationStatus{},
			want:   `{"sync":{"status":"","comparedTo":{"destination":{}}},"health":{},"summary":{}}`,
		},
		"an empty list of a plugin parameter is not the same as none": {
			object: &v1alpha1.ApplicationSourcePluginParameter{Name: "p", Array: []string{}},
			want:   `{"name":"p","array":[]}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			encoded, err := json.Marshal(test.object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(encoded)); diff != "" {
				t.Errorf("JSON differs (-want +got):\n%s", diff)
			}
			converted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(test.object)
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, converted); diff != "" {
				t.Errorf("unstructured differs (-want +got):\n%s", diff)
			}
		})
	}
}
