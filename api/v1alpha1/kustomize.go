package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ApplicationSourceKustomize has the settings of a kustomize build, on top of the kustomization file.
type ApplicationSourceKustomize struct {
	NamePrefix string `json:"namePrefix,omitempty"`
	NameSuffix string `json:"nameSuffix,omitempty"`
	// Images are image overrides, written as [old=]name[:tag|@digest].
	Images            []string          `json:"images,omitempty"`
	CommonLabels      map[string]string `json:"commonLabels,omitempty"`
	Version           string            `json:"version,omitempty"`
	CommonAnnotations map[string]string `json:"commonAnnotations,omitempty"`
	// ForceCommonLabels replaces labels that the kustomization file already sets.
	ForceCommonLabels bool `json:"forceCommonLabels,omitempty"`
	// ForceCommonAnnotations replaces annotations that the kustomization file already sets.
	ForceCommonAnnotations bool   `json:"forceCommonAnnotations,omitempty"`
	Namespace              string `json:"namespace,omitempty"`
	// CommonAnnotationsEnvsubst replaces build variables in the values of CommonAnnotations.
	CommonAnnotationsEnvsubst bool               `json:"commonAnnotationsEnvsubst,omitempty"`
	Replicas                  []KustomizeReplica `json:"replicas,omitempty"`
	Patches                   []KustomizePatch   `json:"patches,omitempty"`
	Components                []string           `json:"components,omitempty"`
	// IgnoreMissingComponents leaves out components that do not exist.
	IgnoreMissingComponents bool `json:"ignoreMissingComponents,omitempty"`
	// LabelWithoutSelector adds CommonLabels to objects and not to their selectors.
	LabelWithoutSelector bool `json:"labelWithoutSelector,omitempty"`
	// KubeVersion to render charts for, if it is not that of the destination.
	KubeVersion string `json:"kubeVersion,omitempty"`
	// APIVersions to render charts for, if they are not those of the destination.
	APIVersions []string `json:"apiVersions,omitempty"`
	// LabelIncludeTemplates also adds CommonLabels to templates, with LabelWithoutSelector.
	LabelIncludeTemplates bool `json:"labelIncludeTemplates,omitempty"`
}

// KustomizeReplica overrides the replica count of the objects with a name.
type KustomizeReplica struct {
	Name  string             `json:"name"`
	Count intstr.IntOrString `json:"count"`
}

// KustomizePatch is a patch, inline or in a file, for the objects that it targets.
type KustomizePatch struct {
	Path    string           `json:"path,omitempty"`
	Patch   string           `json:"patch,omitempty"`
	Target  *KustomizeTarget `json:"target,omitempty"`
	Options map[string]bool  `json:"options,omitempty"`
}

// KustomizeTarget selects objects to patch; every field that is set must match.
type KustomizeTarget struct {
	Group              string `json:"group,omitempty"`
	Version            string `json:"version,omitempty"`
	Kind               string `json:"kind,omitempty"`
	Name               string `json:"name,omitempty"`
	Namespace          string `json:"namespace,omitempty"`
	AnnotationSelector string `json:"annotationSelector,omitempty"`
	LabelSelector      string `json:"labelSelector,omitempty"`
}
