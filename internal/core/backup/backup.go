// Package backup is what an installation keeps, as one text: which objects belong to it, what of them is worth keeping, and
// what to write so that an installation is as a text says. It must not read or write any of them.
package backup

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
)

const (
	configMap = "ConfigMap"
	secret    = "Secret"
)

// ConfigMaps are those of an installation, and Secrets its own besides those that a label makes count.
func ConfigMaps() []string {
	return []string{
		v1alpha1.ConfigMapSettings, v1alpha1.ConfigMapRBAC, v1alpha1.ConfigMapCmdParams, v1alpha1.ConfigMapSSHKnownHosts,
		v1alpha1.ConfigMapTLSCerts, v1alpha1.ConfigMapGPGKeys, v1alpha1.ConfigMapNotifications,
	}
}

// Secrets are those of an installation by their names.
func Secrets() []string { return []string{v1alpha1.SecretSettings, v1alpha1.SecretNotifications} }

// secretTypes are the values of the label that makes a secret count.
var secretTypes = []string{
	v1alpha1.SecretTypeCluster, v1alpha1.SecretTypeRepository, v1alpha1.SecretTypeRepoCreds, v1alpha1.SecretTypeRepositoryWrite,
	v1alpha1.SecretTypeRepoWriteCreds, v1alpha1.SecretTypeSCMCreds,
}

// classes are what belongs to an installation, in the order in which it is written: what others refer to comes first.
var classes = []string{
	configMap, secret, v1alpha1.AppProjectKind, v1alpha1.ApplicationKind, v1alpha1.ApplicationSetKind,
}

// classOf is what an object is for an installation; empty is that it does not belong to it. Secrets that a label makes count
// are told apart by it.
func classOf(u *unstructured.Unstructured) string {
	gvk := u.GroupVersionKind()
	switch {
	case gvk.Group == "" && gvk.Kind == configMap && slices.Contains(ConfigMaps(), u.GetName()):
		return configMap
	case gvk.Group == "" && gvk.Kind == secret && slices.Contains(Secrets(), u.GetName()):
		return secret
	case gvk.Group == "" && gvk.Kind == secret && slices.Contains(secretTypes, u.GetLabels()[v1alpha1.LabelSecretType]):
		return secret + " of a " + u.GetLabels()[v1alpha1.LabelSecretType]
	case gvk.Group == v1alpha1.Group && slices.Contains(classes, gvk.Kind):
		return gvk.Kind
	}
	return ""
}

// Belongs says that an object is a part of an installation.
func Belongs(u *unstructured.Unstructured) bool { return classOf(u) != "" }

// byHand says that an object is one that an installation always has: it is never deleted for not being in a text.
func byHand(u *unstructured.Unstructured) bool {
	class := classOf(u)
	return class == configMap || class == secret ||
		class == v1alpha1.AppProjectKind && u.GetName() == v1alpha1.DefaultProjectName
}

func rank(u *unstructured.Unstructured) int { return slices.Index(classes, u.GetKind()) }

func order(a, b *unstructured.Unstructured) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}

// Kept is what an export holds of the objects of an installation, in the order in which they are written. What a server adds
// is left out, and so are owners: their ids are of one cluster, and another would delete what they seem to have left behind.
func Kept(all []*unstructured.Unstructured, namespace string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, u := range all {
		if Belongs(u) {
			out = append(out, kept(u, namespace))
		}
	}
	slices.SortStableFunc(out, order)
	return out
}

func kept(u *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: maps.Clone(u.DeepCopy().Object)}
	// An operation is a wish of its time, and the state of a set is made anew.
	delete(out.Object, "operation")
	if u.GetKind() == v1alpha1.ApplicationSetKind {
		delete(out.Object, "status")
	}
	out.Object["metadata"] = map[string]any{}
	out.SetName(u.GetName())
	if ns := u.GetNamespace(); ns != namespace && ns != "" {
		out.SetNamespace(ns)
	}
	if len(u.GetLabels()) > 0 {
		out.SetLabels(u.GetLabels())
	}
	if len(u.GetAnnotations()) > 0 {
		out.SetAnnotations(u.GetAnnotations())
	}
	if len(u.GetFinalizers()) > 0 {
		out.SetFinalizers(u.GetFinalizers())
	}
	return out
}
