package cli_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// spec is the spec of the shop as somebody reads it.
func spec(t *testing.T, m *memory) string {
	t.Helper()
	text, err := yaml.Marshal(m.shop().Spec)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestChangesByFlags(t *testing.T) {
	several := shop("shop")
	several.Spec.Sources = v1alpha1.ApplicationSources{{RepoURL: "a", Name: "chart"}, {RepoURL: "b", Name: "env", Ref: "values"}}
	several.Spec.Source = nil
	for name, test := range map[string]struct {
		several   bool
		args      string
		code      int
		want, err string
		out       string
	}{
		"a revision":             {args: "set shop --revision v2", want: "targetRevision: v2", out: "application 'shop' changed"},
		"nothing new":            {args: "set shop --revision main", out: "is so already"},
		"nothing at all":         {args: "set shop", code: 2, err: "say what to change"},
		"by position":            {several: true, args: "set shop --source-position 2 --path p", want: "path: p\n  ref: values"},
		"by name":                {several: true, args: "set shop --source-name env --path p", want: "path: p\n  ref: values"},
		"of which":               {several: true, args: "set shop --path p", code: 2, err: "say which with --source-position"},
		"of nobody":              {several: true, args: "set shop --source-name x --path p", code: 2, err: "there are: chart, env"},
		"in two ways":            {several: true, args: "set shop --source-name env --source-position 2 --path p", code: 2, err: "either"},
		"of a missing one":       {args: "set other --path p", code: 20, err: "not found"},
		"validated anyway":       {args: "set shop --revision v2 --validate=false", want: "v2", err: "--validate=false has no effect"},
		"refused":                {args: "set shop --dest-name nowhere", code: 20, err: `cluster "nowhere" is not known`},
		"taken away":             {several: true, args: "unset shop --source-position 2 --ref", want: "sources:\n- name: chart\n  repoURL: a\n- name: env\n  repoURL: b\n"},
		"taken away of what":     {args: "unset shop --nameprefix", out: "is so already"},
		"a source more":          {args: "add-source shop --repo c --ref values", want: "sources:", out: "has one more source"},
		"a source without flags": {args: "add-source shop", code: 2, err: "say what to change"},
		"a source with a policy": {args: "add-source shop --repo c --sync-policy none", code: 2, err: "unknown flag: --sync-policy"},
		"a source less":          {several: true, args: "remove-source shop --source-position 1", want: "sources:\n- name: env", out: "one source less"},
		"a source less by name":  {several: true, args: "remove-source shop --source-name env", want: "sources:\n- name: chart"},
		"which source less":      {several: true, args: "remove-source shop", code: 2, err: "say which source"},
		"the only source":        {args: "remove-source shop --source-position 1", code: 2, err: "several sources"},
	} {
		t.Run(name, func(t *testing.T) {
			app := shop("shop")
			if test.several {
				app = several
			}
			m := newMemory(app)
			d := &desk{hub: m, refuses: func(app *v1alpha1.Application) []string {
				if app.Spec.Destination.Name == "nowhere" {
					return []string{`cluster "nowhere" is not known`}
				}
				return nil
			}}
			got := d.run(t, append([]string{"app"}, strings.Fields(test.args)...)...)
			wantCode(t, got, test.code)
			wantText(t, "stdout", got.out, test.out)
			wantText(t, "stderr", got.err, test.err)
			wantText(t, "the spec", spec(t, m), test.want)
			if (test.code != 0 || test.want == "") && len(m.patches) > 0 {
				t.Errorf("it wrote %s", m.patches)
			}
		})
	}
}

func TestPatchByHand(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		code int
		want string
		err  string
	}{
		"merge": {args: []string{"--type", "merge", "--patch", `{"spec":{"source":{"targetRevision":"v2"}}}`}, want: "targetRevision: v2"},
		"steps": {args: []string{"--patch", `[{"op":"replace","path":"/spec/source/path","value":"other"}]`}, want: "path: other"},
		"an object for steps": {
			args: []string{"--patch", `{"spec":{}}`}, code: 2, err: "--type merge takes an object",
		},
		"nothing":      {code: 2, err: "--patch"},
		"another type": {args: []string{"--patch", "{}", "--type", "strategic"}, code: 2, err: "--type is json or merge"},
		"the status":   {args: []string{"--type", "merge", "--patch", `{"status":{"sync":{"status":"Synced"}}}`}, code: 2, err: "towline app sync"},
		"an operation": {args: []string{"--type", "merge", "--patch", `{"operation":{"sync":{}}}`}, code: 2, err: "towline app sync"},
		"the UID":      {args: []string{"--type", "merge", "--patch", `{"metadata":{"uid":"x"}}`}, code: 2, err: "metadata besides labels"},
		"a step that does not fit": {
			args: []string{"--patch", `[{"op":"test","path":"/spec/project","value":"x"}]`}, code: 2, err: "a test failed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(shop("shop"))
			got := (&desk{hub: m}).run(t, append([]string{"app", "patch", "shop"}, test.args...)...)
			wantCode(t, got, test.code)
			wantText(t, "stderr", got.err, test.err)
			wantText(t, "the spec", spec(t, m), test.want)
			if test.code != 0 && len(m.patches) > 0 {
				t.Errorf("it wrote %s", m.patches)
			}
		})
	}
}

func replacing(old, now string) func(string) string {
	return func(text string) string { return strings.ReplaceAll(text, old, now) }
}

// A text that cannot be read or is refused is shown again with the reason; who leaves it as it is gives up.
func TestEdit(t *testing.T) {
	refuses := func(app *v1alpha1.Application) []string {
		if app.Spec.Project == "nobody" {
			return []string{"project nobody does not exist"}
		}
		return nil
	}
	m := newMemory(shop("shop"))
	d := &desk{hub: m, refuses: refuses, edits: []func(string) string{
		replacing("project:", "projekt:"), replacing("projekt: default", "project: nobody"), replacing("project: nobody", "project: retail"),
	}}
	got := d.run(t, "app", "edit", "shop")
	wantCode(t, got, 0)
	wantText(t, "stdout", got.out, "application 'shop': changed")
	wantText(t, "the second text", d.shown[1], `# This is refused: it cannot be read`, `unknown field "projekt"`)
	wantText(t, "the third text", d.shown[2], "# This is refused: application \"shop\" is refused: project nobody does not exist")
	if p := m.shop().Spec.Project; p != "retail" || len(m.patches) != 1 {
		t.Errorf("project %s after %d writes", p, len(m.patches))
	}

	m = newMemory(shop("shop"))
	d = &desk{hub: m, refuses: refuses, edits: []func(string) string{replacing("project: default", "project: nobody")}}
	got = d.run(t, "app", "edit", "shop")
	wantCode(t, got, 20)
	wantText(t, "stderr", got.err, "nothing was written: application \"shop\" is refused")

	m = newMemory(shop("shop"))
	got = (&desk{hub: m, edits: []func(string) string{replacing("", "")}}).run(t, "app", "edit", "shop")
	wantCode(t, got, 0)
	wantText(t, "stdout", got.out, "nothing was changed")

	// Somebody else was faster, and what was typed is not lost.
	m = newMemory(shop("shop"))
	got = (&desk{hub: m, edits: []func(string) string{func(text string) string {
		m.edit("shop", func(app *v1alpha1.Application) { app.Spec.Project = "theirs" })
		return replacing("project: default", "project: ours")(text)
	}}}).run(t, "app", "edit", "shop")
	wantCode(t, got, 20)
	wantText(t, "stderr", got.err, "nothing was written", "project: ours", "somebody else changes it")
	if m.shop().Spec.Project != "theirs" {
		t.Error("it wrote over what nobody has seen")
	}
}

func TestObjects(t *testing.T) {
	for name, test := range map[string]struct {
		args     string
		code     int
		out, err string
		wrote    string
	}{
		"show":           {args: "get-resource shop --kind Deployment --resource-name web", out: "kind: Deployment\nmetadata:\n  name: web\n"},
		"show as JSON":   {args: "get-resource shop --kind Service -o json", out: `"kind": "Service"`},
		"show all":       {args: "get-resource shop --kind Deployment", out: "---\napiVersion"},
		"show a field":   {args: "get-resource shop --kind Deployment --filter-fields status.phase,metadata.name", out: "web             Running        web\n"},
		"show wide":      {args: "get-resource shop --kind Service -o wide", out: "RESOURCE NAME   KIND"},
		"who manages":    {args: "get-resource shop --kind Service --show-managed-fields", out: "manager: somebody"},
		"no such":        {args: "get-resource shop --kind Job", code: 20, err: "has no such object"},
		"gone":           {args: "get-resource shop --kind Pod --resource-name gone", code: 20, err: `application "shop": pods "gone" not found`},
		"show what":      {args: "get-resource shop", code: 2, err: "--kind"},
		"another":        {args: "get-resource shop --kind Service --project retail", code: 2, err: `is in project "default", and not in "retail"`},
		"patch":          {args: `patch-resource shop --kind Service --patch {"a":1}`, out: "Service shop/web patched", wrote: `patch Service shop/web: {"a":1}`},
		"patch of many":  {args: `patch-resource shop --kind Deployment --patch {}`, code: 2, err: "2 objects match"},
		"patch of all":   {args: `patch-resource shop --kind Deployment --all --patch {}`, wrote: "patch Deployment.apps shop/worker: {}"},
		"patch what":     {args: "patch-resource shop --kind Service", code: 2, err: "--patch"},
		"patch no JSON":  {args: "patch-resource shop --kind Service --patch a", code: 2, err: "no JSON"},
		"patch how":      {args: "patch-resource shop --kind Service --patch {} --patch-type x", code: 2, err: "--patch-type is"},
		"patch strategy": {args: "patch-resource shop --kind Service --patch {} --patch-type application/strategic-merge-patch+json", code: 2, err: "is not taken"},
		"delete":         {args: "delete-resource shop --kind Service", out: "Service shop/web deleted", wrote: "delete Service shop/web: Foreground, in time: true"},
		"delete now":     {args: "delete-resource shop --kind Service --force", wrote: "delete Service shop/web: Background, in time: false"},
		"delete alone":   {args: "delete-resource shop --kind Service --orphan", wrote: "delete Service shop/web: Orphan, in time: true"},
		"delete many":    {args: "delete-resource shop --kind Deployment", code: 2, err: "2 objects match"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{hub: newMemory(shop("shop"))}
			got := d.run(t, append([]string{"app"}, strings.Fields(test.args)...)...)
			wantCode(t, got, test.code)
			wantText(t, "stdout", got.out, test.out)
			wantText(t, "stderr", got.err, test.err)
			wantText(t, "what was written", strings.Join(d.town.lines, "\n"), test.wrote)
			if strings.Contains(got.out, "managedFields") != strings.Contains(test.args, "managed") {
				t.Errorf("managed fields: %s", got.out)
			}
		})
	}
}

// The revisions of several sources, and the objects by their labels.
func TestSyncChoices(t *testing.T) {
	app := shop("shop")
	app.Spec.Sources = v1alpha1.ApplicationSources{{RepoURL: "a", Name: "chart"}, {RepoURL: "b", Name: "env"}}
	object := func(name, team string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("apps/v1")
		u.SetKind("Deployment")
		u.SetName(name)
		u.SetLabels(map[string]string{"team": team})
		return u
	}
	for name, test := range map[string]struct {
		args string
		code int
		want string
		err  string
	}{
		"positions":           {args: "--revisions v2 --source-positions 2", want: `"revisions":["","v2"]`},
		"both":                {args: "--revisions v2 --revisions v1 --source-positions 2,1", want: `"revisions":["v1","v2"]`},
		"names":               {args: "--revisions v2 --source-names env", want: `"revisions":["","v2"]`},
		"a name of nobody":    {args: "--revisions v2 --source-names x", code: 2, err: "there are: chart, env"},
		"not as many":         {args: "--revisions v2", code: 2, err: "1 --revisions for 0 sources"},
		"a position too far":  {args: "--revisions v2 --source-positions 3", code: 2, err: "2 sources, and none at position 3"},
		"positions of what":   {args: "--source-positions 3", code: 2, err: "which sources the --revisions are for"},
		"one for several":     {args: "--revision v2", code: 20, err: "--revisions with --source-positions"},
		"both kinds":          {args: "--revision v2 --revisions v2", code: 2, err: "one source"},
		"a label":             {args: "--label team=web", want: `"resources":[{"group":"apps","kind":"Deployment","name":"web"}]`},
		"a label of nobody":   {args: "--label team=x", code: 20, err: "none of its objects has the label team=x"},
		"a label with a slip": {args: "--label team", code: 2, err: "NAME=VALUE"},
		"label and object":    {args: "--label team=web --resource :A:b", code: 2, err: "either"},
		"a root of nothing":   {args: "--local-repo-root .", code: 2, err: "--local names"},
		"a preview":           {args: "--preview-changes --assume-yes", want: `"sync":{}`},
		"a preview of nobody": {args: "--preview-changes", code: 2, err: "--assume-yes"},
		"a local preview":     {args: "--preview-changes --local x", code: 2, err: "--dry-run"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(app)
			d := &desk{hub: m, rendered: []*unstructured.Unstructured{object("web", "web"), object("db", "db")}}
			got := d.run(t, append([]string{"app", "sync", "shop", "--async"}, strings.Fields(test.args)...)...)
			wantCode(t, got, test.code)
			wantText(t, "stderr", got.err, test.err)
			wantText(t, "what was written", strings.Join(m.patches, "\n"), test.want)
			if test.code != 0 && len(m.patches) > 0 {
				t.Errorf("it wrote %s", m.patches)
			}
		})
	}
}

func TestSyncOfAProject(t *testing.T) {
	other := shop("other")
	other.Spec.Project = "retail"
	m := newMemory(shop("shop"), other)
	wantCode(t, (&desk{hub: m}).run(t, "app", "sync", "--project", "retail", "--async"), 0)
	if len(m.patches) != 1 || m.shop().Operation != nil {
		t.Errorf("it wrote %s", m.patches)
	}
	wantText(t, "stderr", (&desk{hub: m}).run(t, "app", "sync", "--project", "nobody").err, "no such application")
}

func TestListOfAClusterAndARepository(t *testing.T) {
	other := shop("other")
	other.Spec.Destination = v1alpha1.ApplicationDestination{Name: "prod", Namespace: "shop"}
	other.Spec.Source.RepoURL = "https://git.example.com/other.git"
	m := newMemory(shop("shop"), other)
	for args, want := range map[string]string{
		"-c prod":               "argocd/other\n",
		"--path nowhere":        "",
		"--path deploy -c prod": "argocd/other\n",
		"-c in-cluster":         "argocd/shop\n",
		"--cluster https://kubernetes.default.svc": "argocd/shop\n",
		"-r https://git.example.com/other":         "argocd/other\n",
		"--repo https://git.example.com/nobody":    "",
	} {
		got := (&desk{hub: m}).run(t, append([]string{"app", "list", "-o", "name"}, strings.Fields(args)...)...)
		if got.out != want {
			t.Errorf("%s shows %q, want %q", args, got.out, want)
		}
	}
}

// Flags of Argo CD's that mean nothing here are refused by name, with the way out.
func TestRefusedFlags(t *testing.T) {
	for args, want := range map[string]string{
		"diff shop --local .":                "towline app sync shop --local . --dry-run",
		"diff shop --server-side-generate":   "--dry-run",
		"diff shop --server-side-diff=false": "every comparison is the server's own",
		"diff shop --diff-exit-code 300":     "from 0 to 255",
		"wait shop --hydrated":               "--hydrated is not taken",
		"wait shop --resource web":           "GROUP:KIND",
		"diff shop --revisions v1":           "--dry-run",
		"resources shop --project x":         `in project "default"`,
		"diff shop --local-repo-root .":      "--dry-run",
		"get shop --source-position 3":       "no source at position 3",
		"get shop --source-name x":           "none has a name",
		"manifests shop --revisions v1":      "1 --revisions for 0 sources",
		"manifests shop --local-repo-root .": "--local names",
	} {
		got := (&desk{hub: newMemory(shop("shop"))}).run(t, append([]string{"app"}, strings.Fields(args)...)...)
		wantCode(t, got, 2)
		wantText(t, "stderr", got.err, want)
	}
}

func TestParametersAreShown(t *testing.T) {
	app := shop("shop")
	app.Spec.Source.Helm = &v1alpha1.ApplicationSourceHelm{Parameters: []v1alpha1.HelmParameter{{Name: "replicas", Value: "3"}}}
	got := (&desk{hub: newMemory(app)}).run(t, "app", "get", "shop", "--show-params", "--show-operation")
	wantText(t, "stdout", got.out, "SOURCE   PARAMETER   VALUE\n1        replicas    3\n")
}

// An application of more objects than its status lists: whoever picks some is told that he cannot know them.
func TestObjectsThatAreNotListed(t *testing.T) {
	app := shop("shop")
	app.Status.Conditions = []v1alpha1.ApplicationCondition{{
		Type: "AbridgedWarning", Message: "status.resources lists 3 of 9000 objects, those that are not Synced and Healthy before all others",
	}}
	run := func(args string) answer {
		t.Helper()
		return (&desk{hub: newMemory(app)}).run(t, append([]string{"app"}, strings.Fields(args)...)...)
	}
	for args, want := range map[string]string{
		"sync shop --resource *:Deployment:*":                              "of 9000 objects",
		"wait shop --health --resource apps:Deployment:nobody --timeout 1": "of 9000; without --resource",
		"delete shop": "the 9000 objects",
	} {
		got := run(args)
		if got.code == 0 {
			t.Errorf("%s: it went well: %s", args, got.out)
		}
		wantText(t, "stderr", got.err, want)
	}
}

// One of several sources, where they are shown, and some objects, where they are waited for.
func TestPartsOfAnApplication(t *testing.T) {
	app := shop("shop")
	app.Spec.Sources = v1alpha1.ApplicationSources{{RepoURL: "https://a", Path: "x"}, {RepoURL: "https://b", Path: "y", Name: "env"}}
	app.Status.Health.Status = v1alpha1.HealthStatusDegraded
	app.Status.Resources[1].Health = &v1alpha1.HealthStatus{Status: v1alpha1.HealthStatusDegraded}
	app.Status.History = v1alpha1.RevisionHistories{{Sources: app.Spec.Sources, Revisions: []string{"one", "two"}}}
	run := func(args string) answer {
		t.Helper()
		return (&desk{hub: newMemory(app)}).run(t, append([]string{"app"}, strings.Fields(args)...)...)
	}
	if got := run("get shop --source-name env"); strings.Contains(got.out, "https://a") || !strings.Contains(got.out, "https://b") {
		t.Error(got.out, got.err)
	}
	wantText(t, "stdout", run("history shop").out, "one,two", "2 sources")
	wantText(t, "stdout", run("history shop --source-position 2").out, "two", "https://b, path y")
	wantCode(t, run("wait shop --health --resource :Service:web"), 0)
	wantCode(t, run("wait shop --health --resource !apps:Deployment:web"), 0)
	for args, want := range map[string]string{
		"wait shop --health --timeout 1":                                   "health Healthy",
		"wait shop --health --resource apps:Deployment:web --timeout 1":    "Deployment.apps shop/web to be Healthy (is Degraded)",
		"wait shop --health --resource apps:Deployment:nobody --timeout 1": "objects that fit --resource",
	} {
		got := run(args)
		wantCode(t, got, 20)
		wantText(t, "stderr", got.err, want)
	}
}
