package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/wish"
)

func retail(t *testing.T, spec string) *v1alpha1.AppProject {
	t.Helper()
	p := &v1alpha1.AppProject{ObjectMeta: metav1.ObjectMeta{Name: "retail"}}
	if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
		t.Fatal(err)
	}
	return p
}

const (
	noSpec  = "{}"
	aWindow = "syncWindows: [{kind: deny, schedule: 0 22 * * *, duration: 8h, applications: ['*']}]"
	aRole   = "roles: [{name: ci, policies: ['p, proj:retail:ci, applications, sync, retail/*, allow'], groups: [devs]}]"
)

// TestProjectEdits: what an edit makes of a project, what it says, and what is
// a mistake. Where "then" is empty the project stays as it was.
func TestProjectEdits(t *testing.T) {
	server := v1alpha1.ApplicationDestination{Server: "https://a", Namespace: "shop"}
	named := v1alpha1.ApplicationDestination{Name: "prod", Namespace: "shop"}
	account := v1alpha1.ApplicationDestinationServiceAccount{Server: "https://a", Namespace: "shop", DefaultServiceAccount: "ops:deployer"}
	secret := v1alpha1.ClusterResourceRestriction{Kind: "Secret"}
	role := v1alpha1.ClusterResourceRestriction{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "shop-*"}
	jobs := v1alpha1.OrphanedResourceKey{Group: "batch", Kind: "Job", Name: "tmp-*"}
	sync := grant{resource: "applications", action: "sync", object: "*", permission: "allow"}
	get := grant{resource: "logs", action: "get", object: "web", permission: "deny"}
	for name, test := range map[string]struct {
		given string
		edit  projEdit
		then  string
		says  string
		fails bool
	}{
		"a repository":               {noSpec, addSource("https://g/a"), "sourceRepos: [https://g/a]", "is allowed", false},
		"a repository again":         {"sourceRepos: [https://g/a.git]", addSource("https://G/a/"), "", "allowed already", false},
		"all repositories":           {"sourceRepos: [https://g/a]", addSource("*"), "sourceRepos: [https://g/a, '*']", "is allowed", false},
		"no repository":              {"sourceRepos: [https://g/a, https://g/b]", removeSource("https://g/a"), "sourceRepos: [https://g/b]", "no more", false},
		"no repository, twice":       {noSpec, removeSource("https://g/a"), "", "was not in the list", false},
		"a namespace":                {noSpec, addSourceNamespace("team"), "sourceNamespaces: [team]", "are allowed", false},
		"a namespace of all":         {"sourceNamespaces: ['*']", addSourceNamespace("team"), "", `by "*"`, false},
		"no namespace":               {"sourceNamespaces: [team]", removeSourceNamespace("team"), noSpec, "no more", false},
		"a destination":              {noSpec, addDestination(server), "destinations: [{server: https://a, namespace: shop}]", "is a destination", false},
		"a destination again":        {"destinations: [{server: https://a, namespace: shop}]", addDestination(server), "", "has this destination already", true},
		"a destination by its name":  {"destinations: [{server: https://a, namespace: shop}]", addDestination(named), "destinations: [{server: https://a, namespace: shop}, {name: prod, namespace: shop}]", `cluster "prod"`, false},
		"no destination":             {"destinations: [{server: https://a, namespace: shop}]", removeDestination("https://a", "shop"), noSpec, "no more", false},
		"no destination by its name": {"destinations: [{name: prod, namespace: shop}]", removeDestination("prod", "shop"), noSpec, "no more", false},
		"no such destination":        {"destinations: [{server: https://a, namespace: x}]", removeDestination("https://a", "shop"), "", `"towline proj get retail" shows it`, true},
		"an account":                 {noSpec, addDestinationAccount(account), "destinationServiceAccounts: [{server: https://a, namespace: shop, defaultServiceAccount: 'ops:deployer'}]", `as "ops:deployer"`, false},
		"a second account":           {"destinationServiceAccounts: [{server: https://a, namespace: shop, defaultServiceAccount: other}]", addDestinationAccount(account), "", `already: "other"`, true},
		"no account":                 {"destinationServiceAccounts: [{server: https://a, namespace: shop, defaultServiceAccount: 'ops:deployer'}]", removeDestinationAccount(account), noSpec, "no more", false},
		"no such account":            {noSpec, removeDestinationAccount(account), "", "has no account", true},
		"an orphan":                  {noSpec, addOrphanedIgnore(jobs), "orphanedResources: {ignore: [{group: batch, kind: Job, name: tmp-*}]}", "batch/Job tmp-* is ignored", false},
		"no orphan":                  {"orphanedResources: {warn: true, ignore: [{group: batch, kind: Job, name: tmp-*}]}", removeOrphanedIgnore(jobs), "orphanedResources: {warn: true}", "any more", false},
		"no such orphan":             {noSpec, removeOrphanedIgnore(jobs), "", "does not ignore", true},
		"a key":                      {noSpec, addSignatureKey("4AEE18F83AFDEB23"), "signatureKeys: [{keyID: 4AEE18F83AFDEB23}]", "must be signed", false},
		"the last key":               {"signatureKeys: [{keyID: 4AEE18F83AFDEB23}]", removeSignatureKey("4AEE18F83AFDEB23"), noSpec, "need not be signed", false},
		"a cluster kind":             {noSpec, addKind(kindList{}, role), "clusterResourceWhitelist: [{group: rbac.authorization.k8s.io, kind: ClusterRole, name: shop-*}]", "allowed cluster resources", false},
		"a denied kind":              {noSpec, addKind(kindList{namespaced: true, denied: true}, secret), "namespaceResourceBlacklist: [{group: '', kind: Secret}]", "denied namespaced resources", false},
		"a denied kind, again":       {"namespaceResourceBlacklist: [{group: '', kind: Secret}]", addKind(kindList{namespaced: true, denied: true}, secret), "", "already", false},
		// An empty list allows none, and no list allows all: the difference must not get lost.
		"the last allowed kind": {"namespaceResourceWhitelist: [{group: '', kind: Secret}]", removeKind(kindList{namespaced: true}, secret), "namespaceResourceWhitelist: []", "an empty list allows none", false},

		"a role":          {noSpec, createRole("ci", "the pipeline"), "roles: [{name: ci, description: the pipeline}]", "created", false},
		"a role again":    {aRole, createRole("ci", "other"), "", "already", false},
		"no role":         {aRole, deleteRole("ci"), noSpec, "deleted", false},
		"a policy":        {aRole, addPolicy("ci", get), "roles: [{name: ci, policies: ['p, proj:retail:ci, applications, sync, retail/*, allow', 'p, proj:retail:ci, logs, get, retail/web, deny'], groups: [devs]}]", "p, proj:retail:ci, logs, get, retail/web, deny", false},
		"a policy again":  {aRole, addPolicy("ci", sync), "", "already", false},
		"no policy":       {aRole, removePolicy("ci", sync), "roles: [{name: ci, groups: [devs]}]", "no more", false},
		"a foreign role":  {aRole, addPolicy("cd", sync), "", `has no role "cd"; "towline proj role list retail"`, true},
		"a group":         {aRole, addGroup("ci", "ops"), strings.Replace(aRole, "[devs]", "[devs, ops]", 1), "has the role", false},
		"no group":        {aRole, removeGroup("ci", "devs"), strings.Replace(aRole, ", groups: [devs]", "", 1), "no more", false},
		"no such group":   {aRole, removeGroup("ci", "ops"), "", "did not have", false},
		"a window":        {noSpec, addWindow(v1alpha1.SyncWindow{Kind: "deny", Schedule: "0 22 * * *", Duration: "8h", Applications: []string{"*"}}), aWindow, "sync window 0 (deny", false},
		"a silly window":  {noSpec, addWindow(v1alpha1.SyncWindow{Kind: "deny", Schedule: "always", Duration: "8h", Applications: []string{"*"}}), "", "schedule cannot be read", true},
		"another length":  {aWindow, updateWindow("0", func(w *v1alpha1.SyncWindow) { w.Duration = "1h" }), strings.Replace(aWindow, "8h", "1h", 1), "for 1h", false},
		"a silly length":  {aWindow, updateWindow("0", func(w *v1alpha1.SyncWindow) { w.Duration = "long" }), "", "duration", true},
		"no such window":  {aWindow, updateWindow("1", func(*v1alpha1.SyncWindow) {}), "", `"towline proj windows list retail"`, true},
		"no window":       {aWindow, deleteWindow("0"), noSpec, "deleted", false},
		"a window's name": {aWindow, deleteWindow("first"), "", `no sync window "first"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := retail(t, test.given)
			said, err := test.edit(p)
			if (err != nil) != test.fails {
				t.Fatalf("fails: %v, want %t", err, test.fails)
			}
			if err != nil {
				said = err.Error()
			} else if d := cmp.Diff(encoded(t, retail(t, orElse(test.then, test.given))), encoded(t, p)); d != "" {
				t.Errorf("the project (-want +got):\n%s", d)
			}
			if !strings.Contains(said, test.says) {
				t.Errorf("it says %q, want %q", said, test.says)
			}
		})
	}
}

// encoded is a project as the server gets it.
func encoded(t *testing.T, p *v1alpha1.AppProject) string {
	t.Helper()
	b, err := yaml.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func orElse(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// A token that is still on one of the two lists would still be good.
func TestDeleteToken(t *testing.T) {
	p := retail(t, "roles: [{name: ci, jwtTokens: [{iat: 1, id: a}, {iat: 2}]}]")
	p.Status.JWTTokensByRole = map[string]v1alpha1.JWTTokens{"ci": {Items: []v1alpha1.JWTToken{{IssuedAt: 1, ID: "a"}, {IssuedAt: 3}}}}
	if _, err := deleteToken("ci", 1)(p); err != nil {
		t.Fatal(err)
	}
	r, err := roleOf(p, "ci")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]v1alpha1.JWTToken{{IssuedAt: 3}, {IssuedAt: 2}}, tokensOf(p, r)); d != "" {
		t.Errorf("tokens (-want +got):\n%s", d)
	}
	if _, err := deleteToken("ci", 1)(p); err == nil {
		t.Error("a token that is not there is deleted")
	}
}

// A change mentions what was changed and the version that it was made on, and
// nothing else: what this version does not know of an object stays.
func TestDifference(t *testing.T) {
	p := retail(t, "sourceRepos: [a]")
	p.ResourceVersion = "7"
	patch, err := wish.Difference(p, func(p *v1alpha1.AppProject) error {
		p.Spec.Description = "shops"
		return nil
	})
	if want := `{"metadata":{"resourceVersion":"7"},"spec":{"description":"shops"}}`; err != nil || string(patch) != want {
		t.Errorf("got %s, %v, want %s", patch, err, want)
	}
	if patch, err = wish.Difference(p, func(*v1alpha1.AppProject) error { return nil }); patch != nil || err != nil {
		t.Errorf("nothing was changed, and yet: %s, %v", patch, err)
	}
}
