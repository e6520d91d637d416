package settings

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/internal/core/repository"
)

// ReadRepositories reads once what is known of repositories, for a command. Who
// may not read secrets signs in nowhere.
func ReadRepositories(ctx context.Context, config *rest.Config, namespace string) (*repository.Set, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the repositories: %w", err)
	}
	r := newRepositories(client, namespace, nil)
	secrets, err := client.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{LabelSelector: repositorySecrets})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("reading the repository secrets: %w", err)
	}
	if err == nil {
		for i := range secrets.Items {
			r.readSecret(ctx, &secrets.Items[i])
		}
	}
	for name := range r.trusted {
		cm, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading config map %q: %w", name, err)
		}
		r.readTrust(name, cm.Data)
	}
	r.begin()
	return r.current.Load(), nil
}
