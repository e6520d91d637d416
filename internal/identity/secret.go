package identity

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/account"
	"github.com/towline-cd/towline/internal/core/secret"
)

func newSecret(name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.LabelPartOf: v1alpha1.PartOfLabelValue}},
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{},
	}
}

// Ensure makes what an installation needs before anybody can sign in: the key
// that tokens are signed with, and the password of the administrator, which it
// leaves in a secret for whoever installs. What is there stays as it is, and of
// replicas that begin at once one writes and the others read it.
func (k *Keeper) Ensure(ctx context.Context) error {
	admin := k.o.Values.Accounts().Accounts[v1alpha1.AdminAccount].Enabled
	var made []string
	err := k.edit(ctx, func(data map[string][]byte) error {
		made = nil
		if len(data[v1alpha1.KeyServerSecretKey]) == 0 {
			data[v1alpha1.KeyServerSecretKey] = newKey()
			made = append(made, v1alpha1.KeyServerSecretKey)
		}
		if !admin || len(data[v1alpha1.KeyAdminPassword]) > 0 {
			return nil
		}
		password, err := k.initialPassword(ctx)
		if err != nil {
			return err
		}
		hash, err := Hash(password)
		if err != nil {
			return fmt.Errorf("hashing the password in secret %q: %w", v1alpha1.SecretInitialAdmin, err)
		}
		account.SetPassword(data, v1alpha1.AdminAccount, hash, k.o.Now())
		made = append(made, v1alpha1.KeyAdminPassword)
		return nil
	})
	if err == nil && len(made) > 0 {
		slog.InfoContext(ctx, "made what was missing for signing in", "secret", v1alpha1.SecretSettings, "keys", made,
			"initialPassword", v1alpha1.SecretInitialAdmin)
	}
	return err
}

// initialPassword is the one that whoever installs signs in with first. The
// secret comes before the hash: a process that is killed between them leaves a
// password that the next one takes.
func (k *Keeper) initialPassword(ctx context.Context) (secret.Text, error) {
	var out secret.Text
	_, err := k.change(ctx, v1alpha1.SecretInitialAdmin, func(data map[string][]byte) error {
		if len(data[v1alpha1.KeyInitialAdminPassword]) == 0 {
			data[v1alpha1.KeyInitialAdminPassword] = newPassword()
		}
		out = secret.New(string(data[v1alpha1.KeyInitialAdminPassword]))
		return nil
	})
	return out, err
}

// newKey is as long as the digests that it signs.
func newKey() []byte {
	var b [32]byte
	_, _ = rand.Read(b[:])
	return []byte(base64.StdEncoding.EncodeToString(b[:]))
}

// newPassword has sixteen letters and digits, some 95 bits.
func newPassword() []byte {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	// Bytes past the last whole round would make the first letters likelier.
	const whole = 256 - 256%len(letters)
	out := make([]byte, 0, 16)
	for b := [1]byte{}; len(out) < cap(out); {
		_, _ = rand.Read(b[:])
		if int(b[0]) < whole {
			out = append(out, letters[int(b[0])%len(letters)])
		}
	}
	return out
}

// edit changes argocd-secret. What it wrote counts here at once.
func (k *Keeper) edit(ctx context.Context, change func(data map[string][]byte) error) error {
	s, err := k.change(ctx, v1alpha1.SecretSettings, change)
	if err != nil {
		return err
	}
	k.written.Store(account.NewStored(s.ResourceVersion, s.Data))
	return nil
}

// change reads a secret, has its data changed, and writes it if that made a
// difference: as it was read, or not at all. It begins anew while others are
// faster. The answer is the secret as it stands then.
func (k *Keeper) change(ctx context.Context, name string, change func(data map[string][]byte) error) (*corev1.Secret, error) {
	for attempt := 1; ; attempt++ {
		s, err := k.secrets.Get(ctx, name, metav1.GetOptions{})
		absent := apierrors.IsNotFound(err)
		if err != nil && !absent {
			return nil, fmt.Errorf("reading secret %q: %w", name, err)
		}
		next := newSecret(name)
		if !absent {
			next = s.DeepCopy()
		}
		if next.Data == nil {
			next.Data = map[string][]byte{}
		}
		if err := change(next.Data); err != nil {
			return nil, err
		}
		if !absent && maps.EqualFunc(s.Data, next.Data, slices.Equal) {
			return s, nil
		}
		s, err = k.put(ctx, next, absent)
		if err == nil {
			return s, nil
		}
		if !overtaken(err) || attempt == maxConflicts {
			return nil, fmt.Errorf("writing secret %q: %w", name, err)
		}
	}
}

func (k *Keeper) put(ctx context.Context, s *corev1.Secret, absent bool) (*corev1.Secret, error) {
	if absent {
		return k.secrets.Create(ctx, s, metav1.CreateOptions{FieldManager: v1alpha1.FieldManagerAction})
	}
	return k.secrets.Update(ctx, s, metav1.UpdateOptions{FieldManager: v1alpha1.FieldManagerAction})
}

// overtaken says that somebody else has written, made or deleted a secret since
// it was read.
func overtaken(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}
