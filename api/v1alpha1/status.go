package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ApplicationStatus is what is known about an Application.
type ApplicationStatus struct {
	// Resources are the objects that the Application manages.
	Resources []ResourceStatus `json:"resources,omitempty"`
	// Sync is the result of the last comparison.
	Sync SyncStatus `json:"sync"`
	// Health of the Application as a whole.
	Health HealthStatus `json:"health"`
	// History has the successful syncs, oldest first.
	History RevisionHistories `json:"history,omitempty"`
	// Conditions are what people should know about, mostly errors and warnings.
	Conditions []ApplicationCondition `json:"conditions,omitempty"`
	// ReconciledAt is when the last full comparison was made.
	ReconciledAt *metav1.Time `json:"reconciledAt,omitempty"`
	// OperationState is the running operation, or the last one.
	OperationState *OperationState `json:"operationState,omitempty"`
	// ObservedAt is no longer written.
	ObservedAt *metav1.Time `json:"observedAt,omitempty"`
	// SourceType is the tool that renders the only source.
	SourceType SourceType `json:"sourceType,omitempty"`
	// Summary has what people look for first.
	Summary ApplicationSummary `json:"summary"`
	// ResourceHealthSource says where the health of the resources is kept.
	ResourceHealthSource ResourceHealthLocation `json:"resourceHealthSource,omitempty"`
	// SourceTypes are the tools that render the sources.
	SourceTypes []SourceType `json:"sourceTypes,omitempty"`
	// ControllerNamespace is where the controller runs that wrote this.
	ControllerNamespace string `json:"controllerNamespace,omitempty"`
	// SourceHydrator is the state of rendering to Git.
	SourceHydrator SourceHydratorStatus `json:"sourceHydrator,omitzero"`
}

// ResourceHealthLocation says where the health of the resources is kept.
type ResourceHealthLocation string

// Health is kept in the status itself, or in the resource tree only.
const (
	ResourceHealthLocationInline  ResourceHealthLocation = ""
	ResourceHealthLocationAppTree ResourceHealthLocation = "appTree"
)

// ResourceStatus is what is known about one object of an Application.
type ResourceStatus struct {
	Group     string         `json:"group,omitempty"`
	Version   string         `json:"version,omitempty"`
	Kind      string         `json:"kind,omitempty"`
	Namespace string         `json:"namespace,omitempty"`
	Name      string         `json:"name,omitempty"`
	Status    SyncStatusCode `json:"status,omitempty"`
	Health    *HealthStatus  `json:"health,omitempty"`
	Hook      bool           `json:"hook,omitempty"`
	// RequiresPruning says that the object is no longer in the source.
	RequiresPruning bool  `json:"requiresPruning,omitempty"`
	SyncWave        int64 `json:"syncWave,omitempty"`
	// RequiresDeletionConfirmation says that a person must agree before the object is deleted.
	RequiresDeletionConfirmation bool `json:"requiresDeletionConfirmation,omitempty"`
}

// SyncStatusCode is the verdict of a comparison.
type SyncStatusCode string

// The verdicts of a comparison.
const (
	SyncStatusCodeUnknown   SyncStatusCode = "Unknown"
	SyncStatusCodeSynced    SyncStatusCode = "Synced"
	SyncStatusCodeOutOfSync SyncStatusCode = "OutOfSync"
)

// SyncStatus is the result of a comparison, and what was compared.
type SyncStatus struct {
	Status     SyncStatusCode `json:"status"`
	ComparedTo ComparedTo     `json:"comparedTo"`
	Revision   string         `json:"revision,omitempty"`
	// Revisions has one for each source.
	Revisions []string `json:"revisions,omitempty"`
}

// ComparedTo is the part of the spec that a comparison was made with.
type ComparedTo struct {
	Source            ApplicationSource           `json:"source,omitzero"`
	Destination       ApplicationDestination      `json:"destination"`
	Sources           ApplicationSources          `json:"sources,omitempty"`
	IgnoreDifferences []ResourceIgnoreDifferences `json:"ignoreDifferences,omitempty"`
}

// HealthStatusCode says how well an object, or an Application, is.
type HealthStatusCode string

// The health codes, best first.
const (
	HealthStatusHealthy     HealthStatusCode = "Healthy"
	HealthStatusSuspended   HealthStatusCode = "Suspended"
	HealthStatusProgressing HealthStatusCode = "Progressing"
	HealthStatusMissing     HealthStatusCode = "Missing"
	HealthStatusDegraded    HealthStatusCode = "Degraded"
	HealthStatusUnknown     HealthStatusCode = "Unknown"
)

// HealthStatus is a health code with its reason.
type HealthStatus struct {
	Status             HealthStatusCode `json:"status,omitempty"`
	Message            string           `json:"message,omitempty"`
	LastTransitionTime *metav1.Time     `json:"lastTransitionTime,omitempty"`
}

// RevisionHistories are successful syncs, oldest first.
type RevisionHistories []RevisionHistory

// RevisionHistory is one successful sync.
type RevisionHistory struct {
	Revision   string      `json:"revision,omitempty"`
	DeployedAt metav1.Time `json:"deployedAt"`
	// ID counts up and is what a rollback names.
	ID              int64              `json:"id"`
	Source          ApplicationSource  `json:"source,omitzero"`
	DeployStartedAt *metav1.Time       `json:"deployStartedAt,omitempty"`
	Sources         ApplicationSources `json:"sources,omitempty"`
	// Revisions has one for each source.
	Revisions   []string           `json:"revisions,omitempty"`
	InitiatedBy OperationInitiator `json:"initiatedBy"`
}

// ApplicationConditionType names a condition; one that ends in Error is an error, one that ends in Warning a warning.
type ApplicationConditionType string

// The conditions of an Application.
const (
	ApplicationConditionDeletionError           ApplicationConditionType = "DeletionError"
	ApplicationConditionInvalidSpecError        ApplicationConditionType = "InvalidSpecError"
	ApplicationConditionComparisonError         ApplicationConditionType = "ComparisonError"
	ApplicationConditionSyncError               ApplicationConditionType = "SyncError"
	ApplicationConditionUnknownError            ApplicationConditionType = "UnknownError"
	ApplicationConditionSharedResourceWarning   ApplicationConditionType = "SharedResourceWarning"
	ApplicationConditionRepeatedResourceWarning ApplicationConditionType = "RepeatedResourceWarning"
	ApplicationConditionExcludedResourceWarning ApplicationConditionType = "ExcludedResourceWarning"
	ApplicationConditionOrphanedResourceWarning ApplicationConditionType = "OrphanedResourceWarning"
)

// ApplicationCondition is something that people should know about.
type ApplicationCondition struct {
	Type               ApplicationConditionType `json:"type"`
	Message            string                   `json:"message"`
	LastTransitionTime *metav1.Time             `json:"lastTransitionTime,omitempty"`
}

// ApplicationSummary has what people look for first.
type ApplicationSummary struct {
	ExternalURLs []string `json:"externalURLs,omitempty"`
	Images       []string `json:"images,omitempty"`
	IsAppOfApps  bool     `json:"isAppOfApps,omitempty"`
}
