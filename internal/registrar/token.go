package registrar

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/core/roster"
)

// tokenPatience is how long the cluster may take to write a token.
const tokenPatience = 30 * time.Second

// Token is a login of the account that does not run out, as the controller needs it: the one that it has, or a new one.
// Kubernetes writes it into a secret.
func (t *Target) Token(ctx context.Context, a roster.Account, fresh bool) (roster.Token, error) {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: a.Name + roster.TokenSuffix, Namespace: a.Namespace,
			Annotations: map[string]string{corev1.ServiceAccountNameKey: a.Name},
		},
		Type: corev1.SecretTypeServiceAccountToken,
	}
	if fresh {
		s.Name, s.GenerateName = "", a.Name+"-token-"
	}
	made, err := t.client.CoreV1().Secrets(a.Namespace).Create(ctx, s, by())
	switch {
	case apierrors.IsAlreadyExists(err):
		made = s
	case err != nil:
		return roster.Token{}, fmt.Errorf("making a token of ServiceAccount %s/%s: %w", a.Namespace, a.Name, err)
	}
	token := roster.Token{Account: a, Secret: made.Name}
	token.Value, err = t.await(ctx, a, made.Name)
	if err != nil && fresh {
		err = errors.Join(err, t.Forget(context.WithoutCancel(ctx), token))
	}
	return token, err
}

// await reads the token as soon as it is there.
func (t *Target) await(ctx context.Context, a roster.Account, name string) (repository.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, tokenPatience)
	defer cancel()
	words := fmt.Sprintf("secret %s/%s", a.Namespace, name)
	w, err := t.client.CoreV1().Secrets(a.Namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String(),
	})
	if err != nil {
		return repository.Secret{}, fmt.Errorf("waiting for the token in %s: %w", words, err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		s, ok := event.Object.(*corev1.Secret)
		if !ok {
			return repository.Secret{}, fmt.Errorf("waiting for the token in %s: %w", words, apierrors.FromObject(event.Object))
		}
		if s.Type != corev1.SecretTypeServiceAccountToken || s.Annotations[corev1.ServiceAccountNameKey] != a.Name {
			return repository.Secret{}, fmt.Errorf("%s is no token of ServiceAccount %q; delete it, or name another account",
				words, a.Name)
		}
		if value := s.Data[corev1.ServiceAccountTokenKey]; len(value) > 0 {
			return repository.NewSecret(string(value)), nil
		}
	}
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return repository.Secret{}, ctx.Err()
	}
	return repository.Secret{}, fmt.Errorf("the cluster wrote no token into %s within %s; does ServiceAccount %s/%s exist,"+
		" and does the cluster run a controller manager?", words, tokenPatience, a.Namespace, a.Name)
}

// Forget deletes the secret of a token, and with it the token ends. What is no such secret is left alone.
func (t *Target) Forget(ctx context.Context, token roster.Token) error {
	secrets := t.client.CoreV1().Secrets(token.Account.Namespace)
	words := fmt.Sprintf("secret %s/%s", token.Account.Namespace, token.Secret)
	s, err := secrets.Get(ctx, token.Secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", words, err)
	}
	if s.Type != corev1.SecretTypeServiceAccountToken || s.Annotations[corev1.ServiceAccountNameKey] != token.Account.Name {
		return fmt.Errorf("%s is no token of ServiceAccount %q, and stays", words, token.Account.Name)
	}
	if err := secrets.Delete(ctx, s.Name, only(s.ObjectMeta)); err != nil {
		return fmt.Errorf("deleting %s: %w", words, err)
	}
	return nil
}
