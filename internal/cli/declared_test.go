package cli_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/core/roster"
)

// ledger is what was written, a line each.
type ledger struct{ lines []string }

func (l *ledger) add(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// kept are objects of one kind without a server.
type kept[T, L any] struct {
	*ledger
	what    string
	objects map[string]*T
	list    func([]T) *L
	// raced is called before a patch, as somebody else who is faster.
	raced func(*T)
}

func meta[T any](o *T) metav1.Object { return any(o).(metav1.Object) }

func (k *kept[T, L]) missing(name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: v1alpha1.Group, Resource: k.what}, name)
}

func clone[T any](o *T) *T {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	out := new(T)
	if err := json.Unmarshal(b, out); err != nil {
		panic(err)
	}
	return out
}

func (k *kept[T, L]) Get(_ context.Context, name string) (*T, error) {
	if k.objects[name] == nil {
		return nil, k.missing(name)
	}
	return clone(k.objects[name]), nil
}

func (k *kept[T, L]) List(_ context.Context, o metav1.ListOptions) (*L, error) {
	s, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return nil, err
	}
	var out []T
	// Backwards, so that nobody relies on the order of the server.
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(k.objects))) {
		if s.Matches(labels.Set(meta(k.objects[name]).GetLabels())) {
			out = append(out, *clone(k.objects[name]))
		}
	}
	return k.list(out), nil
}

func (k *kept[T, L]) Create(_ context.Context, o *T, dryRun bool) (*T, error) {
	name := meta(o).GetName()
	if k.objects[name] != nil {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: k.what}, name)
	}
	if !dryRun {
		k.objects[name] = clone(o)
		meta(k.objects[name]).SetResourceVersion("1")
		b, _ := json.Marshal(o)
		k.add("create %s %s", k.what, b)
	}
	return clone(o), nil
}

func (k *kept[T, L]) Patch(_ context.Context, name string, patch []byte, dryRun bool) (*T, error) {
	if k.objects[name] == nil {
		return nil, k.missing(name)
	}
	if k.raced != nil {
		k.raced(k.objects[name])
	}
	var now, change map[string]any
	b, _ := json.Marshal(k.objects[name])
	if err := errors.Join(json.Unmarshal(b, &now), json.Unmarshal(patch, &change)); err != nil {
		return nil, err
	}
	version := meta(k.objects[name]).GetResourceVersion()
	if m, ok := change["metadata"].(map[string]any); !ok || m["resourceVersion"] != version {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: k.what}, name, errors.New("the object has been modified"))
	}
	b, _ = json.Marshal(merge(now, change))
	out := new(T)
	if err := json.Unmarshal(b, out); err != nil {
		return nil, err
	}
	if !dryRun {
		n, _ := strconv.Atoi(version)
		meta(out).SetResourceVersion(strconv.Itoa(n + 1))
		k.objects[name] = out
		k.add("patch %s %s %s", k.what, name, patch)
	}
	return clone(out), nil
}

func (k *kept[T, L]) Delete(_ context.Context, name string, uid types.UID) error {
	if k.objects[name] == nil || meta(k.objects[name]).GetUID() != uid {
		return k.missing(name)
	}
	delete(k.objects, name)
	k.add("delete %s %s", k.what, name)
	return nil
}

func (k *kept[T, L]) Gone(context.Context, string) error { return nil }

func newKept[T, L any](t *testing.T, l *ledger, what, text string, list func([]T) *L) *kept[T, L] {
	t.Helper()
	k := &kept[T, L]{ledger: l, what: what, objects: map[string]*T{}, list: list}
	for doc := range strings.SplitSeq(text, "---\n") {
		o := new(T)
		if err := yaml.UnmarshalStrict([]byte(doc), o); err != nil {
			t.Fatalf("reading a %s: %v", what, err)
		}
		if name := meta(o).GetName(); name != "" {
			meta(o).SetResourceVersion("1")
			meta(o).SetUID(types.UID("uid-of-" + name))
			k.objects[name] = o
		}
	}
	return k
}

// town is what a hub has besides applications, and what a target cluster says.
type town struct {
	ledger
	projects *kept[v1alpha1.AppProject, v1alpha1.AppProjectList]
	sets     *kept[v1alpha1.ApplicationSet, v1alpha1.ApplicationSetList]
	clusters clusters
}

func newTown(t *testing.T, section func(name string) string) *town {
	t.Helper()
	w := &town{}
	w.projects = newKept(t, &w.ledger, "project", section("given/projects.yaml"), func(items []v1alpha1.AppProject) *v1alpha1.AppProjectList {
		return &v1alpha1.AppProjectList{Items: items}
	})
	w.sets = newKept(t, &w.ledger, "set", section("given/sets.yaml"), func(items []v1alpha1.ApplicationSet) *v1alpha1.ApplicationSetList {
		return &v1alpha1.ApplicationSetList{Items: items}
	})
	w.clusters.ledger = &w.ledger
	if err := yaml.UnmarshalStrict([]byte(section("given/clusters.yaml")), &w.clusters); err != nil {
		t.Fatalf("reading the clusters: %v", err)
	}
	return w
}

func (w *town) join(env *cli.Env, files map[string]string) {
	env.AppProjects = func(context.Context, cli.Flags) (cli.AppProjects, error) { return w.projects, nil }
	env.AppSets = func(context.Context, cli.Flags) (cli.AppSets, error) { return w.sets, nil }
	env.Roster = func(context.Context, cli.Flags) (cli.Roster, error) { return &w.clusters, nil }
	env.Target = func(_ context.Context, _ cli.Flags, name string) (cli.Target, error) {
		if name != "prod-admin" {
			return nil, fmt.Errorf("the kubeconfig has no context %q; it has: prod-admin", name)
		}
		return &w.clusters, nil
	}
	env.Member = func(context.Context, cli.Flags, roster.Cluster) (cli.Target, error) { return &w.clusters, nil }
	env.Generator = func(context.Context, cli.Flags) (cli.Generator, error) { return oneEach{}, nil }
	env.ReadFile = func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, fmt.Errorf("open %s: no such file", name)
	}
	env.Edit = func(_ context.Context, _ string, text []byte) ([]byte, error) {
		for old, now := range map[string]string{"sourceRepos:\n": "description: by hand\nsourceRepos:\n", "kind: Sekret": "kind: Secret"} {
			text = []byte(strings.ReplaceAll(string(text), old, now))
		}
		return text, nil
	}
}

// oneEach stands for a generator: one application for each element of a list,
// and those without a name are a problem.
type oneEach struct{}

func (oneEach) Generate(_ context.Context, s *v1alpha1.ApplicationSet) ([]*v1alpha1.Application, []appset.Problem, error) {
	var apps []*v1alpha1.Application
	var problems []appset.Problem
	for _, g := range s.Spec.Generators {
		if g.List == nil {
			return nil, nil, errors.New("generator 1: no such repository")
		}
		for _, e := range g.List.Elements {
			var params struct{ Name string }
			if err := json.Unmarshal(e.Raw, &params); err != nil || params.Name == "" {
				problems = append(problems, appset.Problem{Message: "the name is empty"})
				continue
			}
			apps = append(apps, &v1alpha1.Application{
				ObjectMeta: metav1.ObjectMeta{Name: params.Name, Namespace: s.Namespace}, Spec: s.Spec.Template.Spec,
			})
		}
	}
	return apps, problems, nil
}

// clusters are the hub's list and the target cluster.
type clusters struct {
	*ledger `json:"-"`

	Clusters []struct {
		Secret      string            `json:"secret"`
		Data        map[string]string `json:"data"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"clusters"`
	// Versions are what servers answer; one that is not among them does not.
	Versions map[string]string `json:"versions"`
	Target   roster.Endpoint   `json:"target"`
	// Shy is how often a new token is refused before it is taken.
	Shy int `json:"shy"`
	// Refuses is a step that the target refuses.
	Refuses string `json:"refuses"`
}

func (c *clusters) Entries(context.Context) ([]roster.Entry, error) {
	out := []roster.Entry{roster.Local()}
	for _, s := range c.Clusters {
		data := map[string][]byte{}
		for k, v := range s.Data {
			data[k] = []byte(strings.ReplaceAll(v, "MANAGER-TOKEN", managerToken))
		}
		out = append(out, roster.Read(roster.Secret{Name: s.Secret, Data: data, Labels: s.Labels, Annotations: s.Annotations}))
	}
	return out, nil
}

// managerToken is one that says where it is kept.
var managerToken = "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"kubernetes.io/serviceaccount/namespace":"kube-system",`+
	`"kubernetes.io/serviceaccount/secret.name":"argocd-manager-long-lived-token",`+
	`"kubernetes.io/serviceaccount/service-account.name":"argocd-manager"}`)) + ".hush"

func (c *clusters) Create(_ context.Context, cluster roster.Cluster) (string, error) {
	s, err := roster.Write(cluster)
	for _, k := range slices.Sorted(maps.Keys(s.Data)) {
		c.add("secret %s: %s=%s", s.Name, k, s.Data[k])
	}
	for _, l := range slices.Sorted(maps.Keys(s.Labels)) {
		c.add("secret %s: label %s=%s", s.Name, l, s.Labels[l])
	}
	return s.Name, err
}

func (c *clusters) Edit(_ context.Context, secret string, e roster.Edit) error {
	s, err := roster.Change(roster.Secret{Data: map[string][]byte{"config": []byte(`{"bearerToken":"` + e.Old.Reveal() + `"}`)}}, e)
	for _, k := range slices.Sorted(maps.Keys(s.Data)) {
		c.add("secret %s: %s=%s", secret, k, s.Data[k])
	}
	for _, l := range slices.Sorted(maps.Keys(s.Labels)) {
		c.add("secret %s: label %s=%s", secret, l, s.Labels[l])
	}
	return err
}

func (c *clusters) Remove(_ context.Context, e roster.Entry) (bool, error) {
	c.add("remove secret %s", e.Secret)
	return e.Managed, nil
}

func (c *clusters) Probe(ctx context.Context, cluster roster.Cluster) (string, error) {
	if cluster.Config.Exec != nil || cluster.Config.AWS != nil {
		return "", &roster.ElsewhereError{Login: cluster.Config.Login()}
	}
	v, ok := c.Versions[cluster.Server]
	switch {
	case c.Shy > 0 && cluster.Config.BearerToken.Reveal() == "hush-new":
		c.Shy--
		return "", apierrors.NewUnauthorized("Unauthorized")
	case v == "never":
		<-ctx.Done()
		return "", fmt.Errorf("Get %q: %w", cluster.Server+"/version", ctx.Err())
	case !ok:
		return "", errors.New("the server has asked for the client to provide credentials")
	}
	return v, nil
}

func (c *clusters) Endpoint(context.Context, bool) (roster.Endpoint, error) { return c.Target, nil }

func (c *clusters) Allow(_ context.Context, g roster.Grant) ([]string, error) {
	c.add("allow %+v", g)
	did := []string{"made ServiceAccount " + g.Account.Namespace + "/" + g.Account.Name}
	if c.Refuses == "allow" {
		return did, apierrors.NewForbidden(schema.GroupResource{Resource: "clusterroles"}, roster.ManagerRole, errors.New("you are nobody"))
	}
	return append(did, "made ClusterRole "+roster.ManagerRole), nil
}

func (c *clusters) Revoke(_ context.Context, g roster.Grant) ([]string, error) {
	c.add("revoke %+v", g)
	return []string{"deleted ServiceAccount " + g.Account.Namespace + "/" + g.Account.Name}, nil
}

func (c *clusters) Token(_ context.Context, a roster.Account, fresh bool) (roster.Token, error) {
	c.add("token of %+v, fresh: %t", a, fresh)
	return roster.Token{Account: a, Secret: a.Name + "-token-x", Value: repository.NewSecret("hush-new")}, nil
}

func (c *clusters) Forget(_ context.Context, t roster.Token) error {
	c.add("forget %s/%s", t.Account.Namespace, t.Secret)
	return nil
}
