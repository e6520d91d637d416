package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Application says what must run where: sources, a destination, and the rules of synchronising them.
//
// The kind has no status subresource: status and operation are plain fields that several programs patch. Status is left
// out of the JSON while it is empty, so that applying a generated Application never takes ownership of it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=applications,shortName=app;apps
// +kubebuilder:metadata:labels="app.kubernetes.io/name=applications.argoproj.io"
// +kubebuilder:metadata:labels="app.kubernetes.io/part-of=argocd"
// +kubebuilder:printcolumn:name="Sync Status",type=string,JSONPath=`.status.sync.status`
// +kubebuilder:printcolumn:name="Health Status",type=string,JSONPath=`.status.health.status`
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.status.sync.revision`,priority=10
// +kubebuilder:printcolumn:name="Project",type=string,JSONPath=`.spec.project`,priority=10
type Application struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec      ApplicationSpec   `json:"spec"`
	Status    ApplicationStatus `json:"status,omitzero"`
	Operation *Operation        `json:"operation,omitempty"`
}

// ApplicationList is a list of Applications.
//
// +kubebuilder:object:root=true
type ApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []Application `json:"items"`
}

// ApplicationSpec is the wish of the user: what, where and how.
type ApplicationSpec struct {
	// Source is the one place to take manifests from; it is not read when Sources or SourceHydrator is set.
	Source *ApplicationSource `json:"source,omitempty"`
	// Destination is the cluster and namespace to deploy to.
	Destination ApplicationDestination `json:"destination"`
	// Project is the AppProject that the Application belongs to; empty means the default project.
	Project string `json:"project"`
	// SyncPolicy says when and how to sync.
	SyncPolicy *SyncPolicy `json:"syncPolicy,omitempty"`
	// IgnoreDifferences lists fields whose difference does not count.
	IgnoreDifferences []ResourceIgnoreDifferences `json:"ignoreDifferences,omitempty"`
	// Info is free text and links for people.
	Info []Info `json:"info,omitempty"`
	// RevisionHistoryLimit is how many history entries to keep; nil means 10, zero keeps none.
	RevisionHistoryLimit *int64 `json:"revisionHistoryLimit,omitempty"`
	// Sources are several places to take manifests from, joined in this order.
	Sources ApplicationSources `json:"sources,omitempty"`
	// SourceHydrator takes manifests from where they are written, and syncs them from where they were rendered to.
	SourceHydrator *SourceHydrator `json:"sourceHydrator,omitempty"`
}

// ApplicationDestination names a cluster, by server or by name, and a namespace in it.
type ApplicationDestination struct {
	// Server is the URL of the cluster's API server; not together with Name.
	Server string `json:"server,omitempty"`
	// Namespace is where objects go that are namespaced and name no namespace.
	Namespace string `json:"namespace,omitempty"`
	// Name is the symbolic name of the cluster; not together with Server.
	Name string `json:"name,omitempty"`
}

// ResourceIgnoreDifferences selects objects, and the fields of them whose difference does not count.
type ResourceIgnoreDifferences struct {
	// Group is a glob over API groups.
	Group string `json:"group,omitempty"`
	// Kind is a glob over kinds.
	Kind string `json:"kind"`
	// Name is the exact name; empty matches every name.
	Name string `json:"name,omitempty"`
	// Namespace is the exact namespace; empty matches every namespace.
	Namespace string `json:"namespace,omitempty"`
	// JSONPointers are RFC 6901 pointers to ignored fields.
	JSONPointers []string `json:"jsonPointers,omitempty"`
	// JQPathExpressions are jq path expressions that select ignored fields.
	JQPathExpressions []string `json:"jqPathExpressions,omitempty"`
	// ManagedFieldsManagers are field managers whose fields are ignored.
	ManagedFieldsManagers []string `json:"managedFieldsManagers,omitempty"`
}

// Info is a name and a value for people, often a link.
type Info struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Sources returns the sources that the spec itself names: spec.sources if there are any, else spec.source.
// A source hydrator, which precedes both, is the caller's to look at.
func (a *Application) Sources() ApplicationSources {
	if len(a.Spec.Sources) > 0 {
		return a.Spec.Sources
	}
	if a.Spec.Source == nil {
		return nil
	}
	return ApplicationSources{*a.Spec.Source}
}

// ProjectName returns the name of the project, which is the default project if none is named.
func (a *Application) ProjectName() string {
	if a.Spec.Project == "" {
		return DefaultProjectName
	}
	return a.Spec.Project
}
