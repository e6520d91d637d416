package e2e_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/forge/forgetest"
)

// forges are one of each, with a set over its repositories and a set over the
// pull requests of one of them.
type forges struct {
	*fixture
	all []*forgetest.Forge
}

const (
	forgeToken = "a-login"
	oneSHA     = "1111111111aaaaaaaaaabbbbbbbbbbcccccccccc"
	otherSHA   = "2222222222aaaaaaaaaabbbbbbbbbbcccccccccc"
)

func newForges(t *testing.T) *forges {
	f := &forges{fixture: setup(t)}
	f.quick()
	f.must(f.git.Create("home", map[string]string{"README.md": "home\n"}))
	f.kubectl("-n", f.control, "create", "secret", "generic", "login", "--from-literal=token="+forgeToken)
	for _, kind := range []forgetest.Kind{forgetest.GitHub, forgetest.GitLab, forgetest.Gitea} {
		at := forgetest.New(kind)
		t.Cleanup(at.Close)
		at.Token = forgeToken
		at.Repos = []forgetest.Repo{
			{
				ID: 1, Name: "shop", Default: "main", Labels: []string{"deploy"}, Commits: map[string]string{"main": oneSHA},
				Pulls: []forgetest.Pull{pull(7), pull(8), pull(9)},
			},
			{ID: 2, Name: "blog", Default: "trunk", Commits: map[string]string{"trunk": otherSHA}},
			{ID: 3, Name: "empty", Default: "main"},
		}
		f.all = append(f.all, at)
	}
	f.start()
	for _, at := range f.all {
		f.forgeSet(at, "repos", "{{ .repository }}", reposParameters)
		f.forgeSet(at, "pulls", "{{ .number }}", pullsParameters)
	}
	return f
}

func pull(number int64) forgetest.Pull {
	return forgetest.Pull{
		Number: number, Title: fmt.Sprint("Change ", number), Branch: fmt.Sprintf("feature/Change_%d", number), Target: "main",
		SHA: oneSHA, Author: "ann", Labels: []string{"preview", "ui"},
	}
}

// The parameters as a template has them, which an annotation of each
// application tells.
const (
	reposParameters = `{{ .organization }}/{{ .repository }}@{{ .branch }}={{ .sha }} {{ .short_sha_7 }} {{ .branchNormalized }} {{ .url }}`
	pullsParameters = `{{ .number }} {{ .title }} by {{ .author }}: {{ .branch }} ({{ .branch_slug }}) to {{ .target_branch }} at ` +
		`{{ .head_sha }} {{ .head_short_sha }} {{ .labels | join "+" }}`
)

// asking is a generator that asks a forge.
func asking(at *forgetest.Forge, what string) string {
	generator := map[string]string{"repos": "scmProvider", "pulls": "pullRequest"}[what]
	whose := map[forgetest.Kind]map[string]string{
		forgetest.GitHub: {"repos": "organization: acme", "pulls": "owner: acme, repo: shop"},
		forgetest.GitLab: {"repos": "group: acme", "pulls": "project: acme/shop, pullRequestState: opened"},
		forgetest.Gitea:  {"repos": "owner: acme", "pulls": "owner: acme, repo: shop"},
	}[at.Kind][what]
	protocol := ""
	if what == "repos" {
		protocol = "cloneProtocol: https, "
	}
	return fmt.Sprintf("- %s: {%s%s: {%s, api: %q, tokenRef: {secretName: login, key: token}}}",
		generator, protocol, at.Kind, whose, at.URL)
}

// forgeSet makes a set whose applications are called by the forge, the kind of
// thing and a name, and tell the parameters that they were made of.
func (f *forges) forgeSet(at *forgetest.Forge, what, name, parameters string) {
	f.Helper()
	manifest := fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  goTemplate: true
  goTemplateOptions: ["missingkey=error"]
  generators:
  %[3]s
  template:
    metadata: {name: '%[1]s-%[4]s', annotations: {example.com/parameters: '%[5]s'}}
    spec:
      project: default
      destination: {server: "https://kubernetes.default.svc", namespace: %[6]s}
      source: {repoURL: %[7]q, path: '%[1]s-%[4]s', targetRevision: main}
`, setOf(at, what), f.control, asking(at, what), name, parameters, f.dest, f.git.URL("home"))
	if out, err := f.kubectlTry(manifest, "apply", "-f", "-"); err != nil {
		f.Fatalf("creating an ApplicationSet for %s: %v\n%s", at.Kind, err, out)
	}
}

func setOf(at *forgetest.Forge, what string) string { return string(at.Kind) + "-" + what }

// each does something with every set.
func (f *forges) each(do func(at *forgetest.Forge, what, set string)) {
	f.Helper()
	for _, at := range f.all {
		for _, what := range []string{"repos", "pulls"} {
			do(at, what, setOf(at, what))
		}
	}
}

// applications are the names of all those that sets of these names would make.
func (f *forges) applications(repos, pulls []string) []string {
	var out []string
	f.each(func(_ *forgetest.Forge, what, set string) {
		for _, name := range map[string][]string{"repos": repos, "pulls": pulls}[what] {
			out = append(out, set+"-"+name)
		}
	})
	return out
}

// look has every set looked at again.
func (f *forges) look() {
	f.Helper()
	asked := []byte(`{"metadata":{"annotations":{"` + v1alpha1.AnnotationApplicationSetRefresh + `":"true"}}}`)
	f.each(func(_ *forgetest.Forge, _, set string) {
		_, err := f.hub.PatchApplicationSet(f.Context(), set, asked, "")
		f.must(err)
	})
}

// told are the parameters that an application was made of.
func (f *forges) told(app string) string {
	f.Helper()
	found, err := f.hub.Application(f.Context(), app)
	f.must(err)
	return found.Annotations["example.com/parameters"]
}

// TestForges: repositories and pull requests of each forge become applications,
// come and go with them, and stay whatever else a forge answers.
func TestForges(t *testing.T) {
	f := newForges(t)
	f.awaitGenerated(f.applications([]string{"shop", "blog"}, []string{"7", "8", "9"})...)
	for _, at := range f.all {
		address := "https://forge.example.com/acme/shop"
		if !strings.HasPrefix(f.told(setOf(at, "repos")+"-shop"), "acme/shop@main="+oneSHA+" 1111111 main "+address) {
			t.Errorf("a repository of %s gives %q", at.Kind, f.told(setOf(at, "repos")+"-shop"))
		}
		want := "7 Change 7 by ann: feature/Change_7 (feature-change-7) to main at " + oneSHA + " 11111111 preview+ui"
		if d := cmp.Diff(want, f.told(setOf(at, "pulls")+"-7")); d != "" {
			t.Errorf("a pull request of %s (-want +got):\n%s", at.Kind, d)
		}
	}
	t.Run("answers that are none", f.faults)
	if n := f.deletes("applications"); n != 0 {
		t.Fatalf("%d applications were deleted", n)
	}
	t.Run("one more and one less", f.moves)
}

// faults: whatever goes wrong, all applications stay, and each set says what.
func (f *forges) faults(t *testing.T) {
	before := f.generated()
	answering := func(change func(a *forgetest.Answer)) func(at *forgetest.Forge) {
		return func(at *forgetest.Forge) { at.After = func(_ *http.Request, a *forgetest.Answer) { change(a) } }
	}
	refusing := func(status int, header http.Header) func(at *forgetest.Forge) {
		return answering(func(a *forgetest.Answer) {
			*a = forgetest.Answer{Status: status, Header: header.Clone(), Body: []byte(`{"message":"not now"}`)}
		})
	}
	const failed, held = v1alpha1.ApplicationSetConditionErrorOccurred, v1alpha1.ApplicationSetConditionResourcesUpToDate
	faults := map[string]struct {
		begin func(at *forgetest.Forge)
		kind  v1alpha1.ApplicationSetConditionType
		is    v1alpha1.ApplicationSetConditionStatus
		says  string
	}{
		"an empty list": {
			func(at *forgetest.Forge) {
				at.Before = func(w http.ResponseWriter, _ *http.Request) bool {
					if at.Kind == forgetest.Gitea {
						w.Header().Set("X-Total-Count", "0")
					}
					w.Header().Set("Content-Type", "application/json")
					_, _ = w.Write([]byte("[]"))
					return true
				}
			}, held, v1alpha1.ApplicationSetConditionStatusUnknown, "answered with an empty list",
		},
		"half an answer": {
			answering(func(a *forgetest.Answer) { a.Body = a.Body[:len(a.Body)/2] }),
			failed, v1alpha1.ApplicationSetConditionStatusTrue, "its answer is not JSON to the end",
		},
		"500": {refusing(http.StatusInternalServerError, http.Header{}), failed, v1alpha1.ApplicationSetConditionStatusTrue, "it answers 500"},
		"401": {
			func(at *forgetest.Forge) { at.Token = "another-login" },
			failed, v1alpha1.ApplicationSetConditionStatusTrue, "it answers 401",
		},
		"429": {
			refusing(http.StatusTooManyRequests, http.Header{"Retry-After": {"2"}}),
			failed, v1alpha1.ApplicationSetConditionStatusTrue, "the limit of its API is reached until",
		},
	}
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		fault := faults[name]
		for _, at := range f.all {
			at.Do(func() { fault.begin(at) })
		}
		f.look()
		f.each(func(_ *forgetest.Forge, _, set string) {
			f.awaitCondition(set, fault.kind, fault.is, fault.says)
			if c := f.condition(set, fault.kind); !strings.Contains(c.Message, "acme") {
				t.Errorf("%s: %s does not say of whom: %s", name, set, c.Message)
			}
		})
		if d := cmp.Diff(before, f.generated()); d != "" {
			t.Errorf("%s changes what there is (-before +now):\n%s", name, d)
		}
		for _, at := range f.all {
			at.Do(func() { at.Before, at.After, at.Token = nil, nil, forgeToken })
		}
		f.look()
		f.each(func(_ *forgetest.Forge, _, set string) {
			f.awaitCondition(set, held, v1alpha1.ApplicationSetConditionStatusTrue, "")
		})
	}
}

// moves: a new repository and a new pull request are an application each, and a
// pull request that is closed is one less.
func (f *forges) moves(t *testing.T) {
	for _, at := range f.all {
		at.Do(func() {
			at.Repos = append(at.Repos, forgetest.Repo{ID: 4, Name: "wiki", Default: "main", Commits: map[string]string{"main": otherSHA}})
			at.Repos[0].Pulls = append(at.Repos[0].Pulls, pull(10))
		})
	}
	f.look()
	f.awaitGenerated(f.applications([]string{"shop", "blog", "wiki"}, []string{"7", "8", "9", "10"})...)
	for _, at := range f.all {
		at.Do(func() { at.Repos[0].Pulls[1].State = "closed" })
	}
	f.look()
	f.awaitGenerated(f.applications([]string{"shop", "blog", "wiki"}, []string{"7", "9", "10"})...)
	if n := f.deletes("applications"); n != len(f.all) {
		t.Errorf("%d applications were deleted, not one of each forge", n)
	}
}
