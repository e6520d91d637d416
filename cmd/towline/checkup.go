package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/doctor"
	"github.com/towline-cd/towline/internal/core/webhook"
	"github.com/towline-cd/towline/internal/settings"
)

// probePatience is how long one repository or cluster may take to answer.
const probePatience = 10 * time.Second

// examination is a checkup under way.
type examination struct {
	flags  cli.Flags
	config *rest.Config
	kube   kubernetes.Interface
	asked  cli.Checkup
	facts  doctor.Facts
}

// checkup gathers what is known of an installation.
func checkup(ctx context.Context, f cli.Flags, c cli.Checkup) doctor.Facts {
	x := &examination{flags: f, asked: c, facts: doctor.Facts{
		Version: version, Namespace: f.Namespace, As: c.As, Unknown: map[string]string{},
	}}
	if err := x.callServer(ctx); err != nil {
		x.facts.Unreachable = err.Error()
		return x.facts
	}
	x.learn("namespace", x.namespace(ctx))
	x.learn("kinds", x.kinds())
	x.learn("permissions", x.rights(ctx))
	x.learn("controllers", x.controllers(ctx))
	x.learn("settings", x.settings(ctx))
	x.learn("webhooks", x.webhooks(ctx))
	x.learn("default-project", x.project(ctx))
	x.learn("admin", x.admin(ctx))
	if c.Offline {
		x.facts.Unknown["repositories"], x.facts.Unknown["clusters"] = "--offline", "--offline"
	} else {
		x.learn("repositories", x.repositories(ctx))
		x.learn("clusters", x.clusters(ctx))
	}
	x.learn("cache", x.cache())
	x.learn("sandbox", x.sandbox())
	return x.facts
}

// learn notes what could not be looked at.
func (x *examination) learn(check string, err error) {
	if err != nil {
		x.facts.Unknown[check] = err.Error()
	}
}

// callServer reaches the API server, whose answer tells the time.
func (x *examination) callServer(ctx context.Context) error {
	var err error
	if x.config, err = restConfig(x.flags.Kubeconfig, x.flags.Context); err != nil {
		return err
	}
	x.facts.Server = x.config.Host
	if x.kube, err = kubernetes.NewForConfig(x.config); err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(x.config)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodGet, strings.TrimSuffix(x.config.Host, "/")+"/version", http.NoBody)
	if err != nil {
		return err
	}
	began := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	// The header has whole seconds, and was written somewhere on the way.
	if at, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		middle := began.Add(time.Since(began) / 2)
		x.facts.Skew = metav1.Duration{Duration: middle.Sub(at.Add(500 * time.Millisecond)).Round(time.Second)}
	}
	v, err := x.kube.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	x.facts.Kubernetes = v.GitVersion
	return nil
}

func (x *examination) namespace(ctx context.Context) error {
	_, err := x.kube.CoreV1().Namespaces().Get(ctx, x.flags.Namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		x.facts.NoNamespace = true
		return nil
	}
	return err
}

func (x *examination) kinds() error {
	list, err := x.kube.Discovery().ServerResourcesForGroupVersion(v1alpha1.GroupVersion().String())
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	for _, name := range []string{v1alpha1.ApplicationResource, v1alpha1.ApplicationSetResource, v1alpha1.AppProjectResource} {
		kind := doctor.Kind{Name: name + "." + v1alpha1.Group}
		if err == nil {
			for _, r := range list.APIResources {
				kind.Served = kind.Served || r.Name == name
			}
		}
		x.facts.Kinds = append(x.facts.Kinds, kind)
	}
	return nil
}

// rights asks the API server about each, for the person or for an account.
func (x *examination) rights(ctx context.Context) error {
	for _, r := range doctor.Rights(x.flags.Namespace) {
		what := &authorizationv1.ResourceAttributes{Verb: r.Verb, Group: r.Group, Resource: r.Resource, Namespace: r.Namespace}
		var status authorizationv1.SubjectAccessReviewStatus
		if x.asked.As == "" {
			review, err := x.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: what},
			}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			status = review.Status
		} else {
			review, err := x.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: what, User: x.asked.As, Groups: groupsOf(x.asked.As)},
			}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			status = review.Status
		}
		r.Allowed = status.Allowed
		x.facts.Rights = append(x.facts.Rights, r)
	}
	return nil
}

// groupsOf are those that the API server puts an account into.
func groupsOf(user string) []string {
	groups := []string{"system:authenticated"}
	if rest, ok := strings.CutPrefix(user, "system:serviceaccount:"); ok {
		namespace, _, _ := strings.Cut(rest, ":")
		groups = append(groups, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	}
	return groups
}

func (x *examination) controllers(ctx context.Context) error {
	l, err := x.kube.CoordinationV1().Leases(x.flags.Namespace).Get(ctx, v1alpha1.LeaseController, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err == nil && l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" && l.Spec.RenewTime != nil {
		leads := &doctor.Leader{Identity: *l.Spec.HolderIdentity}
		leads.Silent.Duration = time.Since(l.Spec.RenewTime.Time) - x.facts.Skew.Duration
		if l.Spec.LeaseDurationSeconds != nil {
			leads.Patience.Duration = time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
		}
		x.facts.Leader = leads
	}
	workloads, err := openRival(x.flags)
	if err != nil {
		return err
	}
	x.facts.Workloads, err = workloads.Workloads(ctx)
	return err
}

func (x *examination) settings(ctx context.Context) error {
	data, err := configMapData(ctx, x.flags, v1alpha1.ConfigMapSettings)
	if err != nil {
		return err
	}
	s := settings.Parse(data)
	x.facts.Settings, x.facts.Problems, x.facts.NotHonoured = data, s.Problems, s.NotHonoured
	x.facts.Anonymous = s.Accounts.Anonymous
	x.facts.AdminEnabled = s.Accounts.Accounts[v1alpha1.AdminAccount].Enabled
	return nil
}

// webhooks looks at which secrets are set, and at none of them.
func (x *examination) webhooks(ctx context.Context) error {
	s, err := x.kube.CoreV1().Secrets(x.flags.Namespace).Get(ctx, v1alpha1.SecretSettings, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, key := range webhook.Keys {
		if len(s.Data[key]) > 0 {
			x.facts.Webhooks = append(x.facts.Webhooks, strings.Split(key, ".")[1])
		}
	}
	return nil
}

func (x *examination) project(ctx context.Context) error {
	client, err := hubClient(x.flags, x.flags.Namespace)
	if err != nil {
		return err
	}
	p, err := client.Project(ctx, v1alpha1.DefaultProjectName)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		x.facts.DefaultProject = &p.Spec
	}
	return err
}

func (x *examination) admin(ctx context.Context) error {
	_, err := x.kube.CoreV1().Secrets(x.flags.Namespace).Get(ctx, v1alpha1.SecretInitialAdmin, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	x.facts.InitialAdmin = err == nil
	return err
}

func (x *examination) repositories(ctx context.Context) error {
	book, err := readRepositories(ctx, x.flags)
	if err != nil {
		return err
	}
	one, _ := book.Entries()
	for _, r := range one {
		limited, cancel := context.WithTimeout(ctx, probePatience)
		full := r
		if !r.SignsIn() {
			full = r.WithLogin(book.For(r.URL, r.Project))
		}
		p := doctor.Place{Name: r.URL}
		if err := tryRepository(limited, full, fetchOptions{}, book.Trust()); err != nil {
			p.Problem = err.Error()
		}
		cancel()
		x.facts.Repositories = append(x.facts.Repositories, p)
	}
	return nil
}

func (x *examination) clusters(ctx context.Context) error {
	roster, err := openRoster(x.flags)
	if err != nil {
		return err
	}
	entries, err := roster.Entries(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Secret == "" {
			continue // the one that is reached already
		}
		p := doctor.Place{Name: e.Name, Problem: e.Problem}
		if p.Problem == "" {
			limited, cancel := context.WithTimeout(ctx, probePatience)
			if _, err := roster.Probe(limited, e.Cluster); err != nil {
				p.Problem = err.Error()
			}
			cancel()
		}
		x.facts.Clusters = append(x.facts.Clusters, p)
	}
	return nil
}

// cache looks whether things can be kept here; it matters where a controller runs.
func (x *examination) cache() error {
	dir := x.asked.Data
	if dir == "" {
		home, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("finding the folder: %w", err)
		}
		dir = filepath.Join(home, "towline", "data")
	}
	x.facts.CacheFolder = dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		x.facts.CacheProblem = err.Error()
		return nil
	}
	file, err := os.CreateTemp(dir, ".towline-doctor-")
	if err != nil {
		x.facts.CacheProblem = err.Error()
		return nil
	}
	_ = file.Close()
	_ = os.Remove(file.Name())
	x.facts.CacheFreeMiB, err = freeMiB(dir)
	return err
}

func (x *examination) sandbox() error {
	host, err := newRenderHost("")
	if err != nil {
		return err
	}
	defer host.Close()
	x.facts.Sandbox = host.Sandbox()
	return nil
}
