package registrar

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/repository"
)

// Repositories are what is written down of repositories: their secrets in the control namespace.
type Repositories struct {
	client    kubernetes.Interface
	namespace string
}

// NewRepositories makes those of one control namespace.
func NewRepositories(config *rest.Config, namespace string) (*Repositories, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the repositories: %w", err)
	}
	return &Repositories{client: client, namespace: namespace}, nil
}

func kindOf(many bool) string {
	if many {
		return v1alpha1.SecretTypeRepoCreds
	}
	return v1alpha1.SecretTypeRepository
}

// find is the secret of an entry; nil is that there is none.
func (r *Repositories) find(ctx context.Context, e repository.Repository, many bool) (*corev1.Secret, error) {
	list, err := r.client.CoreV1().Secrets(r.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: v1alpha1.LabelSecretType + "=" + kindOf(many),
	})
	if err != nil {
		return nil, failed("listing the secrets of repositories", err)
	}
	for i := range list.Items {
		data := list.Items[i].Data
		if repository.Same(string(data[v1alpha1.KeyRepoURL]), e.URL) && string(data[v1alpha1.KeyRepoProject]) == e.Project {
			return &list.Items[i], nil
		}
	}
	return nil, nil
}

// Put writes an entry, in the secret that it stands in or in a new one.
func (r *Repositories) Put(ctx context.Context, e repository.Repository, many bool) error {
	secrets := r.client.CoreV1().Secrets(r.namespace)
	for attempt := 1; ; attempt++ {
		s, err := r.find(ctx, e, many)
		switch {
		case err != nil:
			return err
		case s == nil:
			s = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
				Name: repository.SecretName(e, many), Namespace: r.namespace,
				Labels:      map[string]string{v1alpha1.LabelSecretType: kindOf(many)},
				Annotations: map[string]string{v1alpha1.AnnotationManagedBy: v1alpha1.ManagedByValue},
			}, Data: repository.Write(nil, e, many)}
			_, err = secrets.Create(ctx, s, by())
		default:
			s.Data = repository.Write(s.Data, e, many)
			_, err = secrets.Update(ctx, s, metav1.UpdateOptions{FieldManager: v1alpha1.FieldManagerAction})
		}
		if err == nil {
			return nil
		}
		if !apierrors.IsConflict(err) || attempt == maxConflicts {
			return failed(fmt.Sprintf("writing secret %q", s.Name), err)
		}
	}
}

// Drop takes an entry away. A secret that putting one made is deleted; another belongs to whoever made it, and loses only
// the label that made it count.
func (r *Repositories) Drop(ctx context.Context, e repository.Repository, many bool) (found bool, err error) {
	s, err := r.find(ctx, e, many)
	if err != nil || s == nil {
		return false, err
	}
	secrets := r.client.CoreV1().Secrets(r.namespace)
	if s.Annotations[v1alpha1.AnnotationManagedBy] == v1alpha1.ManagedByValue {
		o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion}}
		err = secrets.Delete(ctx, s.Name, o)
	} else {
		delete(s.Labels, v1alpha1.LabelSecretType)
		_, err = secrets.Update(ctx, s, metav1.UpdateOptions{FieldManager: v1alpha1.FieldManagerAction})
	}
	if err != nil {
		return true, failed(fmt.Sprintf("removing secret %q", s.Name), err)
	}
	return true, nil
}

// Change has the data of a config map changed by edit, and makes one that is not there.
func (r *Repositories) Change(ctx context.Context, name string, edit func(data map[string]string) error) error {
	configMaps := r.client.CoreV1().ConfigMaps(r.namespace)
	for attempt := 1; ; attempt++ {
		cm, err := configMaps.Get(ctx, name, metav1.GetOptions{})
		absent := apierrors.IsNotFound(err)
		if err != nil && !absent {
			return failed(fmt.Sprintf("reading config map %q", name), err)
		}
		if absent {
			cm = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: r.namespace, Labels: map[string]string{v1alpha1.LabelPartOf: v1alpha1.PartOfLabelValue},
			}}
		}
		if cm.Data == nil {
			cm.Data = map[string]string{}
		}
		before := maps.Clone(cm.Data)
		if err := edit(cm.Data); err != nil {
			return err
		}
		switch {
		case maps.Equal(before, cm.Data):
			return nil
		case absent:
			_, err = configMaps.Create(ctx, cm, by())
		default:
			_, err = configMaps.Update(ctx, cm, metav1.UpdateOptions{FieldManager: v1alpha1.FieldManagerAction})
		}
		if err == nil {
			return nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) || attempt == maxConflicts {
			return failed(fmt.Sprintf("writing config map %q", name), err)
		}
	}
}

// failed gives an error its class.
func failed(doing string, err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return fault.Transientf("Conflict", "%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
