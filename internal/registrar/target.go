package registrar

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/towline-cd/towline/internal/core/roster"
)

// Target is a cluster, reached with a login that may give rights there.
type Target struct {
	config *rest.Config
	client kubernetes.Interface
}

// NewTarget makes one from a login of this machine.
func NewTarget(config *rest.Config) (*Target, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the target cluster: %w", err)
	}
	return &Target{config: config, client: client}, nil
}

// Target makes one from the login that the hub has.
func (h *Hub) Target(c roster.Cluster) (*Target, error) {
	config, err := h.reach(c)
	if err != nil {
		return nil, err
	}
	return NewTarget(config)
}

// Endpoint is the address by which we reach the cluster, or the one that it publishes of itself.
func (t *Target) Endpoint(ctx context.Context, published bool) (roster.Endpoint, error) {
	c := t.config
	e := roster.Endpoint{
		Server: c.Host, Insecure: c.Insecure, ServerName: c.ServerName, CAData: c.CAData, DisableCompression: c.DisableCompression,
	}
	if len(e.CAData) == 0 && c.CAFile != "" {
		ca, err := os.ReadFile(c.CAFile)
		if err != nil {
			return e, fmt.Errorf("reading the certificate authority of the cluster: %w", err)
		}
		e.CAData = ca
	}
	if c.Proxy != nil {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Host, nil)
		if err != nil {
			return e, fmt.Errorf("reading the address of the cluster: %w", err)
		}
		if proxy, err := c.Proxy(request); err == nil && proxy != nil {
			e.ProxyURL = roster.ProxyURL(proxy.String())
		}
	}
	if !published {
		return e, nil
	}
	return t.published(ctx, e)
}

// published reads what kubeadm and its like tell everybody.
func (t *Target) published(ctx context.Context, e roster.Endpoint) (roster.Endpoint, error) {
	cm, err := t.client.CoreV1().ConfigMaps(metav1.NamespacePublic).Get(ctx, "cluster-info", metav1.GetOptions{})
	if err != nil {
		return e, fmt.Errorf("reading the published address of the cluster: %w; not every cluster has one: use another --cluster-endpoint",
			err)
	}
	info, err := clientcmd.Load([]byte(cm.Data["kubeconfig"]))
	if err != nil {
		return e, fmt.Errorf("reading the kubeconfig in config map kube-public/cluster-info: %w", err)
	}
	names := slices.Sorted(maps.Keys(info.Clusters))
	if len(names) == 0 {
		return e, errors.New("the kubeconfig in config map kube-public/cluster-info names no cluster; use another --cluster-endpoint")
	}
	c := info.Clusters[names[0]]
	e.Server, e.CAData = c.Server, c.CertificateAuthorityData
	return e, nil
}

// rules are what an account may do: everything, as Argo CD has it, or look at everything.
func rules(g roster.Grant) []rbacv1.PolicyRule {
	verbs := []string{rbacv1.VerbAll}
	if g.ReadOnly {
		verbs = []string{"get", "list", "watch"}
	}
	out := []rbacv1.PolicyRule{{APIGroups: []string{rbacv1.APIGroupAll}, Resources: []string{rbacv1.ResourceAll}, Verbs: verbs}}
	if len(g.Namespaces) > 0 {
		return out
	}
	if g.ReadOnly {
		verbs = []string{"get"}
	}
	return append(out, rbacv1.PolicyRule{NonResourceURLs: []string{rbacv1.NonResourceAll}, Verbs: verbs})
}

// Allow makes the account and gives it rights; it says what it did, also of the part before an error.
func (t *Target) Allow(ctx context.Context, g roster.Grant) (did []string, err error) {
	a := g.Account
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: a.Name, Namespace: a.Namespace}}
	_, err = t.client.CoreV1().ServiceAccounts(a.Namespace).Create(ctx, account, by())
	switch {
	case apierrors.IsAlreadyExists(err):
		did = append(did, fmt.Sprintf("ServiceAccount %s/%s is there already", a.Namespace, a.Name))
	case err != nil:
		return did, fmt.Errorf("making ServiceAccount %s/%s: %w", a.Namespace, a.Name, err)
	default:
		did = append(did, fmt.Sprintf("made ServiceAccount %s/%s", a.Namespace, a.Name))
	}
	for _, s := range t.scopes(g.Namespaces) {
		for _, step := range []func(context.Context, scope, roster.Grant) (string, error){ensureRole, ensureBinding} {
			what, err := step(ctx, s, g)
			if err != nil {
				return did, err
			}
			did = append(did, what)
		}
	}
	return append(did, t.more(ctx, g)...), nil
}

// more tells of rights everywhere that an account with rights in some namespaces has from before. Who may not look is not
// told: it is only a warning.
func (t *Target) more(ctx context.Context, g roster.Grant) []string {
	if len(g.Namespaces) == 0 {
		return nil
	}
	everywhere := scope{client: t.client}
	b, err := everywhere.binding(ctx)
	if err != nil || !slices.Contains(b.subjects, subjectOf(g.Account)) {
		return nil
	}
	return []string{"note: " + everywhere.bindingWords() + " gives the account rights in all namespaces, from before;" +
		" delete it if that is not meant"}
}

func ensureRole(ctx context.Context, s scope, g roster.Grant) (string, error) {
	wanted := rules(g)
	now, err := s.role(ctx)
	switch {
	case apierrors.IsNotFound(err):
		if err := s.makeRole(ctx, wanted); err != nil {
			return "", fmt.Errorf("making %s: %w", s.roleWords(), err)
		}
		return "made " + s.roleWords() + " " + inWords(g), nil
	case err != nil:
		return "", fmt.Errorf("reading %s: %w", s.roleWords(), err)
	case equalRules(now.rules, wanted):
		return s.roleWords() + " is there already " + inWords(g), nil
	case g.ReadOnly:
		// Somebody relies on what it gives, and a second role beside it would not take it away.
		return "", fmt.Errorf("%s gives other rights already; delete it if nobody needs them, or leave --minimal out", s.roleWords())
	}
	now.rules = wanted
	if err := s.setRole(ctx, now); err != nil {
		return "", fmt.Errorf("changing %s: %w", s.roleWords(), err)
	}
	return "changed " + s.roleWords() + " " + inWords(g), nil
}

func ensureBinding(ctx context.Context, s scope, g roster.Grant) (string, error) {
	subject := subjectOf(g.Account)
	now, err := s.binding(ctx)
	switch {
	case apierrors.IsNotFound(err):
		if err := s.makeBinding(ctx, subject); err != nil {
			return "", fmt.Errorf("making %s: %w", s.bindingWords(), err)
		}
		return "made " + s.bindingWords(), nil
	case err != nil:
		return "", fmt.Errorf("reading %s: %w", s.bindingWords(), err)
	case now.role != roster.ManagerRole:
		return "", fmt.Errorf("%s is there and gives the role %q, which cannot be changed; delete it first", s.bindingWords(), now.role)
	case slices.Contains(now.subjects, subject):
		return s.bindingWords() + " is there already", nil
	}
	now.subjects = append(now.subjects, subject)
	if err := s.setBinding(ctx, now); err != nil {
		return "", fmt.Errorf("changing %s: %w", s.bindingWords(), err)
	}
	return "changed " + s.bindingWords(), nil
}

func subjectOf(a roster.Account) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: a.Name, Namespace: a.Namespace}
}

func inWords(g roster.Grant) string {
	if g.ReadOnly {
		return "(may read everything)"
	}
	return "(may do everything)"
}

// Revoke takes away what Allow gave, so far as it is only ours: a binding that others share loses the account alone.
func (t *Target) Revoke(ctx context.Context, g roster.Grant) (did []string, err error) {
	// In the whole cluster too: the list of namespaces may have come later.
	scopes := []scope{{client: t.client}}
	if len(g.Namespaces) > 0 {
		scopes = append(scopes, t.scopes(g.Namespaces)...)
	}
	for _, s := range scopes {
		some, err := revokeIn(ctx, s, g.Account)
		did = append(did, some...)
		if err != nil {
			return did, err
		}
	}
	accounts := t.client.CoreV1().ServiceAccounts(g.Account.Namespace)
	words := fmt.Sprintf("ServiceAccount %s/%s", g.Account.Namespace, g.Account.Name)
	now, err := accounts.Get(ctx, g.Account.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return append(did, words+" was not there"), nil
	case err != nil:
		return did, fmt.Errorf("reading %s: %w", words, err)
	}
	if err := accounts.Delete(ctx, now.Name, only(now.ObjectMeta)); err != nil {
		return did, fmt.Errorf("deleting %s: %w", words, err)
	}
	return append(did, "deleted "+words+" and with it its tokens"), nil
}

func revokeIn(ctx context.Context, s scope, a roster.Account) (did []string, err error) {
	now, err := s.binding(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", s.bindingWords(), err)
	}
	others := slices.DeleteFunc(slices.Clone(now.subjects), func(x rbacv1.Subject) bool { return x == subjectOf(a) })
	switch {
	case len(others) == len(now.subjects) || now.role != roster.ManagerRole:
		return []string{s.bindingWords() + " is not about this account and stays"}, nil
	case len(others) > 0:
		now.subjects = others
		if err := s.setBinding(ctx, now); err != nil {
			return nil, fmt.Errorf("changing %s: %w", s.bindingWords(), err)
		}
		return []string{"took the account out of " + s.bindingWords() + ", which others share"}, nil
	}
	if err := s.dropBinding(ctx, now); err != nil {
		return nil, fmt.Errorf("deleting %s: %w", s.bindingWords(), err)
	}
	did = append(did, "deleted "+s.bindingWords())
	role, err := s.role(ctx)
	if apierrors.IsNotFound(err) {
		return did, nil
	}
	if err == nil {
		err = s.dropRole(ctx, role)
	}
	if err != nil {
		return did, fmt.Errorf("deleting %s: %w", s.roleWords(), err)
	}
	return append(did, "deleted "+s.roleWords()), nil
}

// only is a deletion of the very object that was read.
func only(m metav1.ObjectMeta) metav1.DeleteOptions {
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &m.UID, ResourceVersion: &m.ResourceVersion}}
}
