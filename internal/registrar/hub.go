// Package registrar puts clusters and repositories on the hub's lists and takes them off: a secret in the hub, and in a
// cluster itself an account with rights and a token. It writes whom to trust, too. It must not decide whether that is
// right, and it never tells a login.
package registrar

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/roster"
)

// Hub is the list of clusters: their secrets in the control namespace.
type Hub struct {
	config    *rest.Config
	client    kubernetes.Interface
	namespace string
}

// NewHub makes the list of one control namespace.
func NewHub(config *rest.Config, namespace string) (*Hub, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the hub: %w", err)
	}
	return &Hub{config: config, client: client, namespace: namespace}, nil
}

// Entries are the clusters by name, the hub's own among them unless the settings say that it is not to be used.
func (h *Hub) Entries(ctx context.Context) ([]roster.Entry, error) {
	list, err := h.client.CoreV1().Secrets(h.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: v1alpha1.LabelSecretType + "=" + v1alpha1.SecretTypeCluster,
	})
	if err != nil {
		return nil, fmt.Errorf("listing the cluster secrets of namespace %q: %w", h.namespace, err)
	}
	out := make([]roster.Entry, 0, len(list.Items)+1)
	local := false
	for i := range list.Items {
		e := roster.Read(valueOf(&list.Items[i]))
		local = local || e.Server == v1alpha1.InClusterServer
		out = append(out, e)
	}
	if !local {
		on, err := h.localEnabled(ctx)
		if err != nil {
			return nil, err
		}
		if on {
			out = append(out, roster.Local())
		}
	}
	slices.SortFunc(out, func(a, b roster.Entry) int {
		return strings.Compare(a.Name+" "+a.Server, b.Name+" "+b.Server)
	})
	return out, nil
}

// localEnabled says whether the hub may be deployed to without a secret.
func (h *Hub) localEnabled(ctx context.Context) (bool, error) {
	cm, err := h.client.CoreV1().ConfigMaps(h.namespace).Get(ctx, v1alpha1.ConfigMapSettings, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading config map %q: %w", v1alpha1.ConfigMapSettings, err)
	}
	return cm.Data[v1alpha1.KeyInClusterEnabled] != "false", nil
}

func valueOf(s *corev1.Secret) roster.Secret {
	return roster.Secret{Name: s.Name, Data: s.Data, Labels: s.Labels, Annotations: s.Annotations}
}

// Create writes the secret of a new cluster and returns its name.
func (h *Hub) Create(ctx context.Context, c roster.Cluster) (string, error) {
	v, err := roster.Write(c)
	if err != nil {
		return "", err
	}
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: v.Name, Namespace: h.namespace, Labels: v.Labels, Annotations: v.Annotations},
		Data:       v.Data,
	}
	_, err = h.client.CoreV1().Secrets(h.namespace).Create(ctx, s, by())
	if apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("creating secret %q: there is one that the hub does not take for a cluster (it lacks the label %s=%s); "+
			"delete it, or set the label: %w", v.Name, v1alpha1.LabelSecretType, v1alpha1.SecretTypeCluster, err)
	}
	if err != nil {
		return "", fmt.Errorf("creating secret %q in namespace %q: %w", v.Name, h.namespace, err)
	}
	return v.Name, nil
}

// maxConflicts is how often a write is tried against others who write at the same time.
const maxConflicts = 5

// Edit changes the secret of a cluster.
func (h *Hub) Edit(ctx context.Context, secret string, e roster.Edit) error {
	secrets := h.client.CoreV1().Secrets(h.namespace)
	for attempt := 1; ; attempt++ {
		s, err := secrets.Get(ctx, secret, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading secret %q: %w", secret, err)
		}
		v, err := roster.Change(valueOf(s), e)
		if err != nil {
			return fmt.Errorf("changing secret %q: %w", secret, err)
		}
		s.Data, s.Labels, s.Annotations = v.Data, v.Labels, v.Annotations
		_, err = secrets.Update(ctx, s, metav1.UpdateOptions{FieldManager: v1alpha1.FieldManagerAction})
		if err == nil {
			return nil
		}
		if !apierrors.IsConflict(err) || attempt == maxConflicts {
			return fmt.Errorf("changing secret %q: %w", secret, err)
		}
	}
}

// Remove takes a cluster off the list. A secret that adding a cluster made is deleted; another belongs to whoever made
// it, and loses only the label that made it count.
func (h *Hub) Remove(ctx context.Context, e roster.Entry) (deleted bool, err error) {
	secrets := h.client.CoreV1().Secrets(h.namespace)
	s, err := secrets.Get(ctx, e.Secret, metav1.GetOptions{})
	if err != nil {
		return false, fmt.Errorf("reading secret %q: %w", e.Secret, err)
	}
	if now := roster.Read(valueOf(s)); now.Server != e.Server {
		return false, fmt.Errorf("removing secret %q: it is about another server now, %s", e.Secret, now.Server)
	}
	if e.Managed {
		o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion}}
		if err := secrets.Delete(ctx, s.Name, o); err != nil {
			return false, fmt.Errorf("deleting secret %q: %w", e.Secret, err)
		}
		return true, nil
	}
	delete(s.Labels, v1alpha1.LabelSecretType)
	if _, err := secrets.Update(ctx, s, metav1.UpdateOptions{FieldManager: v1alpha1.FieldManagerAction}); err != nil {
		return false, fmt.Errorf("taking the label off secret %q: %w", e.Secret, err)
	}
	return false, nil
}

// Probe asks a cluster for its version, with the login that the hub has.
func (h *Hub) Probe(ctx context.Context, c roster.Cluster) (string, error) {
	config, err := h.reach(c)
	if err != nil {
		return "", err
	}
	return versionOf(ctx, config)
}

// Probe asks a cluster for its version from this machine, with the login that it comes with.
func Probe(ctx context.Context, c roster.Cluster) (string, error) {
	if c.Config.AWS != nil || c.Config.Exec != nil {
		return "", &roster.ElsewhereError{Login: c.Config.Login()}
	}
	config, err := configOf(c)
	if err != nil {
		return "", err
	}
	return versionOf(ctx, config)
}

func versionOf(ctx context.Context, config *rest.Config) (string, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("making a client: %w", err)
	}
	// Not the typed call: that one cannot be stopped.
	body, err := client.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", err
	}
	return readVersion(body)
}

func by() metav1.CreateOptions {
	return metav1.CreateOptions{FieldManager: v1alpha1.FieldManagerAction}
}
