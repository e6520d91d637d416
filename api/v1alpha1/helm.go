package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// ApplicationSourceHelm has the settings of rendering a chart.
// Parameters precede ValuesObject, which precedes Values, which precedes ValueFiles; the last value file wins.
type ApplicationSourceHelm struct {
	// ValueFiles are paths, globs, URLs or $ref paths of values files.
	ValueFiles []string `json:"valueFiles,omitempty"`
	// Parameters are single values, as helm's --set.
	Parameters []HelmParameter `json:"parameters,omitempty"`
	// ReleaseName is the name of the release; empty means the name of the Application.
	ReleaseName string `json:"releaseName,omitempty"`
	// Values is a values file, inline.
	Values string `json:"values,omitempty"`
	// FileParameters are single values read from files, as helm's --set-file.
	FileParameters []HelmFileParameter `json:"fileParameters,omitempty"`
	// Version of Helm; it is accepted and has no effect.
	Version string `json:"version,omitempty"`
	// PassCredentials hands the repository's credentials to every host.
	PassCredentials bool `json:"passCredentials,omitempty"`
	// IgnoreMissingValueFiles leaves out value files that do not exist.
	IgnoreMissingValueFiles bool `json:"ignoreMissingValueFiles,omitempty"`
	// SkipCrds leaves out the chart's crds folder.
	SkipCrds bool `json:"skipCrds,omitempty"`
	// ValuesObject is a values file as an object; it precedes Values.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	ValuesObject *runtime.RawExtension `json:"valuesObject,omitempty"`
	// Namespace to render for, if it is not that of the destination.
	Namespace string `json:"namespace,omitempty"`
	// KubeVersion to render for, if it is not that of the destination.
	KubeVersion string `json:"kubeVersion,omitempty"`
	// APIVersions to render for, if they are not those of the destination.
	APIVersions []string `json:"apiVersions,omitempty"`
	// SkipTests leaves out the chart's tests.
	SkipTests bool `json:"skipTests,omitempty"`
	// SkipSchemaValidation does not check the values against the chart's schema.
	SkipSchemaValidation bool `json:"skipSchemaValidation,omitempty"`
}

// HelmParameter is a single value, as helm's --set or --set-string.
type HelmParameter struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
	// ForceString keeps a value that looks like a number or a boolean a string.
	ForceString bool `json:"forceString,omitempty"`
}

// HelmFileParameter is a single value that is read from a file.
type HelmFileParameter struct {
	Name string `json:"name,omitempty"`
	Path string `json:"path,omitempty"`
}
