package identity

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
	"github.com/towline-cd/towline/internal/core/secret"
)

// Reader reads the accounts once, for a command.
type Reader struct {
	secrets Secrets
	config  func(ctx context.Context) (*account.Config, error)
}

// NewReader makes a reader for the control namespace; config is what argocd-cm
// says.
func NewReader(c *rest.Config, namespace string, config func(ctx context.Context) (*account.Config, error)) (*Reader, error) {
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("making a client for the accounts: %w", err)
	}
	return &Reader{secrets: client.CoreV1().Secrets(namespace), config: config}, nil
}

// Accounts are the local accounts, in the order of their names.
func (r *Reader) Accounts(ctx context.Context) ([]account.Account, error) {
	config, err := r.config(ctx)
	if err != nil {
		return nil, err
	}
	stored := &account.Stored{}
	s, err := r.secrets.Get(ctx, v1alpha1.SecretSettings, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading secret %q: %w", v1alpha1.SecretSettings, err)
	}
	if err == nil {
		stored = account.NewStored(s.ResourceVersion, s.Data)
	}
	return account.NewBook(config, stored).All(), nil
}

// InitialPassword is the one that was made for whoever installs.
func (r *Reader) InitialPassword(ctx context.Context) (secret.Text, error) {
	s, err := r.secrets.Get(ctx, v1alpha1.SecretInitialAdmin, metav1.GetOptions{})
	if err != nil {
		return secret.Text{}, fmt.Errorf("reading secret %q: %w", v1alpha1.SecretInitialAdmin, err)
	}
	return secret.New(string(s.Data[v1alpha1.KeyInitialAdminPassword])), nil
}
