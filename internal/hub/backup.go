package hub

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/backup"
	"github.com/towline-cd/towline/internal/core/policy"
)

// Backup is everything that an installation keeps, as objects: for those who export it and import it again.
type Backup struct {
	client    dynamic.Interface
	namespace string
	others    Namespaces
}

// NewBackup is that of one control namespace, and of the namespaces that its applications and sets live in besides.
func NewBackup(config *rest.Config, namespace string, others Namespaces) (*Backup, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for a backup: %w", err)
	}
	return &Backup{client: client, namespace: namespace, others: others}, nil
}

func resourceOf(kind string) schema.GroupVersionResource {
	of := v1alpha1.GroupVersion()
	switch kind {
	case "ConfigMap":
		return schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	case "Secret":
		return schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	case v1alpha1.AppProjectKind:
		return of.WithResource(projects)
	case v1alpha1.ApplicationSetKind:
		return of.WithResource(v1alpha1.ApplicationSetResource)
	}
	return of.WithResource(v1alpha1.ApplicationResource)
}

// Read is all that there is.
func (b *Backup) Read(ctx context.Context) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, kind := range []string{"ConfigMap", "Secret", v1alpha1.AppProjectKind, v1alpha1.ApplicationKind, v1alpha1.ApplicationSetKind} {
		list, err := b.client.Resource(resourceOf(kind)).Namespace(b.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, classify(err, "listing the "+kind+"s of namespace", b.namespace)
		}
		for i := range list.Items {
			if backup.Belongs(&list.Items[i]) {
				out = append(out, &list.Items[i])
			}
		}
	}
	for kind, others := range map[string][]string{
		v1alpha1.ApplicationKind: b.others.Applications, v1alpha1.ApplicationSetKind: b.others.Sets,
	} {
		more, err := b.elsewhere(ctx, kind, others)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// elsewhere are those of a kind in other namespaces than that of the installation.
func (b *Backup) elsewhere(ctx context.Context, kind string, namespaces []string) ([]*unstructured.Unstructured, error) {
	if len(namespaces) == 0 {
		return nil, nil
	}
	list, err := b.client.Resource(resourceOf(kind)).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, classify(err, "listing the "+kind+"s of namespaces", "*")
	}
	var out []*unstructured.Unstructured
	for i := range list.Items {
		u := &list.Items[i]
		if fits, _ := policy.MatchesNamespace(namespaces, u.GetNamespace()); fits && u.GetNamespace() != b.namespace {
			out = append(out, u)
		}
	}
	return out, nil
}

func (b *Backup) of(u *unstructured.Unstructured) dynamic.ResourceInterface {
	return b.client.Resource(resourceOf(u.GetKind())).Namespace(u.GetNamespace())
}

// failing gives an error its class, where there is one.
func failing(err error, doing, name string) error {
	if err == nil {
		return nil
	}
	return classify(err, doing, name)
}

func whose(u *unstructured.Unstructured) string { return u.GetNamespace() + "/" + u.GetName() }

// Create makes an object, or only asks whether it could be.
func (b *Backup) Create(ctx context.Context, u *unstructured.Unstructured, dryRun bool) error {
	_, err := b.of(u).Create(ctx, u, metav1.CreateOptions{FieldManager: v1alpha1.FieldManagerAction, DryRun: dry(dryRun)})
	return failing(err, "creating "+u.GetKind(), whose(u))
}

// Update writes an object in place of the one that was read, or only asks whether it could be. anyway writes it in place of
// one that somebody else has changed since.
func (b *Backup) Update(ctx context.Context, u *unstructured.Unstructured, dryRun, anyway bool) error {
	o := metav1.UpdateOptions{FieldManager: v1alpha1.FieldManagerAction, DryRun: dry(dryRun)}
	for attempt := 1; ; attempt++ {
		_, err := b.of(u).Update(ctx, u, o)
		if !apierrors.IsConflict(err) || !anyway || attempt == maxAttempts {
			return failing(err, "changing "+u.GetKind(), whose(u))
		}
		now, err := b.of(u).Get(ctx, u.GetName(), metav1.GetOptions{})
		if err != nil {
			return classify(err, "reading "+u.GetKind(), whose(u))
		}
		if now.GetUID() != u.GetUID() {
			return fmt.Errorf("changing %s %q: it is another one meanwhile; import again", u.GetKind(), whose(u))
		}
		// How it does is not ours to write.
		u.SetResourceVersion(now.GetResourceVersion())
		if status, ok := now.Object["status"]; ok {
			u.Object["status"] = status
		}
	}
}

// maxAttempts is how often a write is tried against others who write at the same time.
const maxAttempts = 5

// Delete deletes the very object that was read, and nothing besides: an application without its objects, and a set without
// its applications.
func (b *Backup) Delete(ctx context.Context, u *unstructured.Unstructured, dryRun bool) error {
	version, uid := u.GetResourceVersion(), u.GetUID()
	if len(u.GetFinalizers()) > 0 && u.GetKind() != v1alpha1.AppProjectKind {
		free := u.DeepCopy()
		free.SetFinalizers(nil)
		freed, err := b.of(u).Update(ctx, free, metav1.UpdateOptions{FieldManager: v1alpha1.FieldManagerAction, DryRun: dry(dryRun)})
		if err != nil {
			return classify(err, "taking the finalizers off "+u.GetKind(), whose(u))
		}
		if !dryRun {
			version = freed.GetResourceVersion()
		}
	}
	o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}, DryRun: dry(dryRun)}
	if u.GetKind() == v1alpha1.ApplicationSetKind {
		orphan := metav1.DeletePropagationOrphan
		o.PropagationPolicy = &orphan
	}
	err := b.of(u).Delete(ctx, u.GetName(), o)
	return failing(err, "deleting "+u.GetKind(), whose(u))
}
