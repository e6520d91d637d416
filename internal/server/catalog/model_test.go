package catalog_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/server/catalog"
)

// model is the catalog as anybody would write it: a list that is filtered and
// sorted for each question.
type model map[catalog.Key]*v1alpha1.Application

func (m model) find(q catalog.Query) []*v1alpha1.Application {
	var out []*v1alpha1.Application
	for _, app := range m {
		if q.Eye.Sees(app.ProjectName(), app.Namespace, app.Name) && matches(app, q) {
			out = append(out, app)
		}
	}
	slices.SortFunc(out, func(a, b *v1alpha1.Application) int { return compare(a, b, q) })
	return out
}

func compare(a, b *v1alpha1.Application, q catalog.Query) int {
	names := cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Namespace, b.Namespace))
	sign := 1
	if q.Descending {
		sign = -1
	}
	switch q.Sort {
	case catalog.ByCreate:
		return sign * cmp.Or(cmp.Compare(a.CreationTimestamp.Unix(), b.CreationTimestamp.Unix()), names)
	case catalog.BySynced:
		return sign * cmp.Or(cmp.Compare(synced(a), synced(b)), names)
	case catalog.ByHealth:
		return cmp.Or(sign*cmp.Compare(slices.Index(healths, healthOf(a)), slices.Index(healths, healthOf(b))), names)
	case catalog.BySync:
		return cmp.Or(sign*cmp.Compare(slices.Index(syncs, syncOf(a)), slices.Index(syncs, syncOf(b))), names)
	default:
		return sign * names
	}
}

var (
	healths = []string{"Healthy", "Suspended", "Progressing", "Missing", "Degraded", "Unknown"}
	syncs   = []string{"Synced", "OutOfSync", "Unknown"}
)

func healthOf(a *v1alpha1.Application) string {
	return cmp.Or(string(a.Status.Health.Status), "Unknown")
}

func syncOf(a *v1alpha1.Application) string { return cmp.Or(string(a.Status.Sync.Status), "Unknown") }

func synced(a *v1alpha1.Application) int64 {
	switch o := a.Status.OperationState; {
	case o == nil:
		return time.Time{}.Unix()
	case o.FinishedAt != nil:
		return o.FinishedAt.Unix()
	default:
		return o.StartedAt.Unix()
	}
}

func clusterOf(a *v1alpha1.Application) string {
	return cmp.Or(a.Spec.Destination.Name, a.Spec.Destination.Server, "None")
}

func phaseOf(a *v1alpha1.Application) string {
	switch {
	case a.DeletionTimestamp != nil:
		return "Deleting"
	case a.Operation != nil:
		return "Running"
	case a.Status.OperationState == nil:
		return "None"
	}
	return string(a.Status.OperationState.Phase)
}

func reposOf(a *v1alpha1.Application) []string {
	var out []string
	for _, s := range a.Sources() {
		if !slices.Contains(out, s.RepoURL) {
			out = append(out, s.RepoURL)
		}
	}
	return out
}

func bare(repo string) string { return strings.TrimSuffix(strings.TrimSuffix(repo, "/"), ".git") }

func matches(a *v1alpha1.Application, q catalog.Query) bool {
	in := func(list []string, text string) bool { return len(list) == 0 || slices.Contains(list, text) }
	if !in(q.Projects, a.ProjectName()) || !in(q.AppNamespaces, a.Namespace) || !in(q.Clusters, clusterOf(a)) ||
		!in(q.Namespaces, cmp.Or(a.Spec.Destination.Namespace, "None")) || !in(q.Health, healthOf(a)) || !in(q.Sync, syncOf(a)) ||
		!in(q.Operation, phaseOf(a)) {
		return false
	}
	if q.Name != "" && q.Name != a.Name || q.Repo != "" && !slices.ContainsFunc(reposOf(a), func(r string) bool { return bare(r) == bare(q.Repo) }) {
		return false
	}
	if q.AutoSync != nil && *q.AutoSync != a.Spec.SyncPolicy.AutomatedEnabled() {
		return false
	}
	if q.Selector != nil && !q.Selector.Matches(labels.Set(a.Labels)) {
		return false
	}
	for word := range strings.FieldsSeq(strings.ToLower(q.Search)) {
		if !found(a, word) {
			return false
		}
	}
	return true
}

func found(a *v1alpha1.Application, word string) bool {
	key, value, pair := strings.Cut(word, "=")
	for k, v := range a.Labels {
		k, v = strings.ToLower(k), strings.ToLower(v)
		if strings.Contains(v, word) || pair && strings.Contains(k, key) && strings.HasPrefix(v, value) {
			return true
		}
	}
	return slices.ContainsFunc(append(reposOf(a), a.Name, a.ProjectName()), func(text string) bool {
		return strings.Contains(strings.ToLower(text), word)
	})
}

// facet counts by one dimension, without the query's filter by it.
func (m model) facet(q catalog.Query, name string) map[string]int {
	switch name {
	case catalog.FacetProject:
		q.Projects = nil
	case catalog.FacetAppNamespace:
		q.AppNamespaces = nil
	case catalog.FacetCluster:
		q.Clusters = nil
	case catalog.FacetNamespace:
		q.Namespaces = nil
	case catalog.FacetHealth:
		q.Health = nil
	case catalog.FacetSync:
		q.Sync = nil
	case catalog.FacetOperation:
		q.Operation = nil
	case catalog.FacetAutoSync:
		q.AutoSync = nil
	case catalog.FacetRepo:
		q.Repo = ""
	}
	out := map[string]int{}
	for _, a := range m.find(q) {
		for _, value := range facetsOf(a, name) {
			out[value]++
		}
	}
	return out
}

func facetsOf(a *v1alpha1.Application, name string) []string {
	switch name {
	case catalog.FacetProject:
		return []string{a.ProjectName()}
	case catalog.FacetAppNamespace:
		return []string{a.Namespace}
	case catalog.FacetCluster:
		return []string{clusterOf(a)}
	case catalog.FacetNamespace:
		return []string{cmp.Or(a.Spec.Destination.Namespace, "None")}
	case catalog.FacetHealth:
		return []string{healthOf(a)}
	case catalog.FacetSync:
		return []string{syncOf(a)}
	case catalog.FacetOperation:
		return []string{phaseOf(a)}
	case catalog.FacetAutoSync:
		return []string{fmt.Sprint(a.Spec.SyncPolicy.AutomatedEnabled())}
	case catalog.FacetRepo:
		return reposOf(a)
	case catalog.FacetLabel:
		var keys []string
		for k := range a.Labels {
			keys = append(keys, k)
		}
		return keys
	case "label:team":
		if team, has := a.Labels["team"]; has {
			return []string{team}
		}
	}
	return nil
}

// The words that random applications are made of: few, so that they meet.
var (
	someNames      = []string{"web", "web-1", "api", "api-gateway", "db", "cart", "cart-worker", "a", "ab", "abc", "abcd", "zeta"}
	someProjects   = []string{"", "shop", "shop-eu", "platform", "data"}
	someNamespaces = []string{"argocd", "team-a", "team-b"}
	someClusters   = []string{"", "prod", "prod-eu", "staging"}
	someRepos      = []string{"https://git.example.com/shop", "https://git.example.com/Platform.git", "oci://registry.example.com/web"}
	someLabels     = []string{"team", "env", "app.kubernetes.io/part-of", "weight"}
	someValues     = []string{"Shop", "web", "prod", "1", "12", "-5", ""}
)

func randomApp(t *rapid.T, number int) *v1alpha1.Application {
	pick := func(label string, of []string) string { return rapid.SampledFrom(of).Draw(t, label) }
	name := pick("name", someNames)
	if number > 0 {
		name = fmt.Sprintf("%s-%d", name, number)
	}
	a := &v1alpha1.Application{}
	a.Name, a.Namespace = name, pick("namespace", someNamespaces)
	a.ResourceVersion = fmt.Sprint(rapid.IntRange(1, 1000).Draw(t, "version"))
	a.CreationTimestamp = metav1.Unix(int64(rapid.IntRange(0, 5).Draw(t, "created"))*60, 0)
	a.Spec.Project = pick("project", someProjects)
	a.Spec.Destination = v1alpha1.ApplicationDestination{Name: pick("cluster", someClusters), Namespace: pick("target", []string{"", "a", "b", "c"})}
	if rapid.Bool().Draw(t, "own namespace") {
		a.Spec.Destination.Namespace = name
		if a.Labels == nil {
			a.Labels = map[string]string{}
		}
		a.Labels["instance"] = name
	}
	if a.Spec.Destination.Name == "" {
		a.Spec.Destination.Server = pick("server", []string{"", "https://10.0.0.1"})
	}
	for range rapid.IntRange(0, 2).Draw(t, "sources") {
		a.Spec.Sources = append(a.Spec.Sources, v1alpha1.ApplicationSource{RepoURL: pick("repo", someRepos)})
	}
	for range rapid.IntRange(0, 3).Draw(t, "labels") {
		if a.Labels == nil {
			a.Labels = map[string]string{}
		}
		a.Labels[pick("key", someLabels)] = pick("value", someValues)
	}
	if rapid.Bool().Draw(t, "automated") {
		a.Spec.SyncPolicy = &v1alpha1.SyncPolicy{Automated: &v1alpha1.SyncPolicyAutomated{}}
	}
	a.Status.Health.Status = v1alpha1.HealthStatusCode(pick("health", append(slices.Clone(healths), "")))
	a.Status.Sync.Status = v1alpha1.SyncStatusCode(pick("sync", append(slices.Clone(syncs), "")))
	switch rapid.IntRange(0, 3).Draw(t, "operation") {
	case 1:
		a.Status.OperationState = &v1alpha1.OperationState{Phase: v1alpha1.OperationRunning, StartedAt: metav1.Unix(100, 0)}
	case 2:
		end := metav1.Unix(int64(rapid.IntRange(0, 9).Draw(t, "finished"))*30, 0)
		a.Status.OperationState = &v1alpha1.OperationState{Phase: v1alpha1.OperationFailed, FinishedAt: &end}
	case 3:
		a.DeletionTimestamp = new(metav1.Unix(500, 0))
	}
	return a
}

func randomQuery(t *rapid.T) catalog.Query {
	q := catalog.Query{
		Sort:       rapid.SampledFrom(catalog.Sorts).Draw(t, "sort"),
		Descending: rapid.Bool().Draw(t, "descending"),
		Facets:     catalog.Facets,
		FacetLimit: rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "facet limit"),
		Eye:        randomEye(t),
	}
	some := func(label string, of []string) []string {
		if rapid.IntRange(0, 3).Draw(t, "by "+label) > 0 {
			return nil
		}
		return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 1, 3, rapid.ID[string]).Draw(t, label)
	}
	q.Projects = some("projects", []string{"default", "shop", "shop-eu", "none"})
	q.AppNamespaces = some("namespaces", someNamespaces)
	q.Clusters = some("clusters", []string{"prod", "prod-eu", "None", "https://10.0.0.1"})
	q.Namespaces = some("targets", []string{"a", "b", "None"})
	q.Health = some("healths", healths)
	q.Sync = some("syncs", syncs)
	q.Operation = some("operations", []string{"None", "Running", "Failed", "Deleting"})
	if repos := some("repos", append([]string{"https://git.example.com/Platform", "https://git.example.com/shop.git"}, someRepos...)); repos != nil {
		q.Repo = repos[0]
	}
	if names := some("names", someNames); names != nil && rapid.IntRange(0, 3).Draw(t, "by exact name") == 0 {
		q.Name = names[0]
	}
	if rapid.IntRange(0, 5).Draw(t, "by autosync") == 0 {
		q.AutoSync = new(rapid.Bool().Draw(t, "autosync"))
	}
	if rapid.IntRange(0, 3).Draw(t, "by selector") == 0 {
		text := rapid.SampledFrom([]string{
			"team", "!team", "team=web", "team!=web", "env in (prod,web),team", "env notin (prod)", "weight>1", "weight<5", "nothing=1", "team=,env",
		}).Draw(t, "selector")
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		q.Selector = selector
	}
	if rapid.IntRange(0, 2).Draw(t, "by search") == 0 {
		q.Search = rapid.SampledFrom([]string{
			"w", "we", "web", "WEB-1", "gateway", "shop", "git.example.com", "example shop", "team=", "eam=we", "platform.git", "-1", "nothing", "abcd-1",
		}).Draw(t, "search")
	}
	return q
}

// randomEye sees all, some projects, or what a question says.
func randomEye(t *rapid.T) catalog.Eye {
	e := catalog.Eye{}
	switch rapid.IntRange(0, 4).Draw(t, "eye") {
	case 0, 1:
		e.All = true
	case 2:
		e.Projects = map[string]bool{"shop": true, "default": true}
	case 3:
		e.Projects = map[string]bool{"data": true}
		e.May = func(_, namespace, _ string) bool { return namespace == "team-a" }
	case 4:
		e.Key = "webs"
		e.May = func(project, _, name string) bool { return project == "shop" || strings.HasPrefix(name, "web") }
	}
	return e
}
