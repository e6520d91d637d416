package cli_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/towline-cd/towline/api/v1alpha1"
)

const shopFile = `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, labels: {team: shop}}
spec:
  source: {repoURL: https://git.example.com/shop.git, path: deploy}
  destination: {server: https://kubernetes.default.svc, namespace: shop}
`

func TestCreate(t *testing.T) {
	m := newMemory()
	d := &desk{hub: m, files: map[string]string{"values.yaml": "replicas: 2\n"}}
	got := d.run(t, "app", "create", "shop", "--repo", "https://git.example.com/shop.git", "--path", "deploy",
		"--dest-server", "https://kubernetes.default.svc", "--dest-namespace", "shop", "--values-literal-file", "values.yaml",
		"--sync-policy", "automated", "--auto-prune", "-l", "team=shop", "--annotations", "on=call", "--set-finalizer")
	wantCode(t, got, 0)
	wantText(t, "stdout", got.out, "application 'shop' created\n")
	want := v1alpha1.ApplicationSpec{
		Project: "default",
		Source: &v1alpha1.ApplicationSource{
			RepoURL: "https://git.example.com/shop.git", Path: "deploy", Helm: &v1alpha1.ApplicationSourceHelm{Values: "replicas: 2\n"},
		},
		Destination: v1alpha1.ApplicationDestination{Server: "https://kubernetes.default.svc", Namespace: "shop"},
		SyncPolicy:  &v1alpha1.SyncPolicy{Automated: &v1alpha1.SyncPolicyAutomated{Prune: new(true)}},
	}
	app := m.shop()
	if d := cmp.Diff(want, app.Spec); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if app.Namespace != "argocd" || app.Labels["team"] != "shop" || app.Annotations["on"] != "call" ||
		cmp.Diff([]string{v1alpha1.FinalizerResources}, app.Finalizers) != "" {
		t.Errorf("the metadata is %+v", app.ObjectMeta)
	}
}

// An application that is there is left alone, unless the user wants it changed; what is so already is no mistake.
func TestCreateAgain(t *testing.T) {
	files := map[string]string{"shop.yaml": shopFile}
	m := newMemory()
	run := func(args ...string) answer {
		t.Helper()
		return (&desk{hub: m, files: files}).run(t, append([]string{"app", "create", "-f", "shop.yaml"}, args...)...)
	}
	wantText(t, "stdout", run().out, "created")
	wantText(t, "stdout", run().out, "unchanged")
	got := run("--revision", "v2")
	wantCode(t, got, 20)
	wantText(t, "stderr", got.err, "is there already and is not as you say; --upsert changes it")
	m.edit("shop", func(app *v1alpha1.Application) { app.Labels["by"] = "others" })
	wantText(t, "stdout", run("--revision", "v2", "--upsert").out, "updated")
	if app := m.shop(); app.Spec.Source.TargetRevision != "v2" || app.Labels["by"] != "others" || app.Labels["team"] != "shop" {
		t.Errorf("it is %+v %v", app.Spec.Source, app.Labels)
	}
	if len(m.made) != 1 {
		t.Errorf("made %v", m.made)
	}
}

func TestCreateThatMakesNoSense(t *testing.T) {
	two := shopFile + "---\n" + strings.ReplaceAll(shopFile, "name: shop,", "name: two,")
	files := map[string]string{
		"shop.yaml": shopFile, "two.yaml": two, "none.yaml": "", "set.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n",
		"slip.yaml": strings.Replace(shopFile, "path:", "pth:", 1),
	}
	for name, test := range map[string]struct {
		args string
		code int
		want string
	}{
		"what":               {"", 2, "name the application"},
		"two names":          {"shop --name other", 2, `"other" by --name`},
		"another name":       {"other -f shop.yaml", 2, `holds the application "shop"`},
		"one of two":         {"other -f two.yaml", 2, "holds 2 Applications"},
		"an empty file":      {"-f none.yaml", 2, "holds no Application"},
		"another kind":       {"-f set.yaml", 2, "is no Application"},
		"a field with slip":  {"-f slip.yaml", 20, `unknown field "pth"`},
		"a hydrator":         {"shop --repo r --dry-source-repo x", 2, "--dry-source-repo is not taken"},
		"an unknown flag":    {"shop --repos r", 2, "--repos"},
		"a label":            {"shop --repo r -l team", 2, `--label: "team" is not of the form`},
		"prune by hand":      {"shop --repo r --auto-prune", 2, "--sync-policy automated"},
		"a missing file":     {"shop --repo r --values-literal-file nowhere.yaml", 20, "no such file"},
		"another namespace":  {"-f shop.yaml -N team-a -n argocd --label a=b --file shop.yaml x", 2, `not "x"`},
		"refused by a rule":  {"shop --repo r", 20, `application "shop" is refused: no such project; no destination`},
		"refused by a token": {"shop --repo denied", 4, "ask for that right"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			m.fails = func(verb string) error {
				if verb == "create" && name == "refused by a token" {
					return apierrors.NewForbidden(resource, "shop", errors.New("you are nobody"))
				}
				return nil
			}
			d := &desk{hub: m, files: files}
			if name == "refused by a rule" {
				d.refuses = func(*v1alpha1.Application) []string { return []string{"no such project", "no destination"} }
			}
			got := d.run(t, append([]string{"app", "create"}, strings.Fields(test.args)...)...)
			wantCode(t, got, test.code)
			wantText(t, "stderr", got.err, test.want)
			if len(m.made) > 0 {
				t.Errorf("it made %v", m.made)
			}
		})
	}
}

func TestCreateSeveral(t *testing.T) {
	m := newMemory()
	two := shopFile + "---\n" + strings.ReplaceAll(shopFile, "name: shop,", "name: two,")
	got := (&desk{hub: m, in: two}).run(t, "app", "create", "-f", "-", "--project", "retail")
	wantCode(t, got, 0)
	if d := cmp.Diff([]string{"shop", "two"}, m.made); d != "" || m.shop().Spec.Project != "retail" {
		t.Errorf("made %v, in project %s", m.made, m.shop().Spec.Project)
	}
}
