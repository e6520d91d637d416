package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OperationPhase is how far an operation is.
type OperationPhase string

// The phases of an operation. A wait before a retry is Running with a finish time.
const (
	OperationRunning     OperationPhase = "Running"
	OperationTerminating OperationPhase = "Terminating"
	OperationFailed      OperationPhase = "Failed"
	OperationError       OperationPhase = "Error"
	OperationSucceeded   OperationPhase = "Succeeded"
)

// Completed tells whether the operation is over, well or not.
func (p OperationPhase) Completed() bool {
	return p == OperationFailed || p == OperationError || p == OperationSucceeded
}

// OperationState is a running operation, or the last one.
type OperationState struct {
	// Operation is what was asked for.
	Operation  Operation            `json:"operation"`
	Phase      OperationPhase       `json:"phase"`
	Message    string               `json:"message,omitempty"`
	SyncResult *SyncOperationResult `json:"syncResult,omitempty"`
	StartedAt  metav1.Time          `json:"startedAt"`
	FinishedAt *metav1.Time         `json:"finishedAt,omitempty"`
	RetryCount int64                `json:"retryCount,omitempty"`
}

// SyncOperationResult is what a sync did, object by object.
type SyncOperationResult struct {
	Resources ResourceResults `json:"resources,omitempty"`
	// Revision that was synced to.
	Revision string             `json:"revision"`
	Source   ApplicationSource  `json:"source,omitzero"`
	Sources  ApplicationSources `json:"sources,omitempty"`
	// Revisions has one for each source.
	Revisions                []string                  `json:"revisions,omitempty"`
	ManagedNamespaceMetadata *ManagedNamespaceMetadata `json:"managedNamespaceMetadata,omitempty"`
}

// ResultCode is what happened to an object in a sync.
type ResultCode string

// What happened to an object in a sync.
const (
	ResultCodeSynced       ResultCode = "Synced"
	ResultCodeSyncFailed   ResultCode = "SyncFailed"
	ResultCodePruned       ResultCode = "Pruned"
	ResultCodePruneSkipped ResultCode = "PruneSkipped"
)

// ResourceResults are the results of a sync, object by object.
type ResourceResults []ResourceResult

// ResourceResult is what a sync did to one object.
type ResourceResult struct {
	Group     string     `json:"group"`
	Version   string     `json:"version"`
	Kind      string     `json:"kind"`
	Namespace string     `json:"namespace"`
	Name      string     `json:"name"`
	Status    ResultCode `json:"status,omitempty"`
	Message   string     `json:"message,omitempty"`
	HookType  HookType   `json:"hookType,omitempty"`
	// HookPhase is how far the hook is, or the health of an object that is no hook.
	HookPhase OperationPhase `json:"hookPhase,omitempty"`
	SyncPhase SyncPhase      `json:"syncPhase,omitempty"`
	Images    []string       `json:"images,omitempty"`
}

// SourceHydratorStatus is the state of rendering to Git.
type SourceHydratorStatus struct {
	LastSuccessfulOperation *SuccessfulHydrateOperation `json:"lastSuccessfulOperation,omitempty"`
	CurrentOperation        *HydrateOperation           `json:"currentOperation,omitempty"`
	LastComparedDryRevision string                      `json:"lastComparedDryRevision,omitempty"`
}

// HydrateOperationPhase is how far a rendering to Git is.
type HydrateOperationPhase string

// The phases of rendering to Git.
const (
	HydrateOperationPhaseHydrating HydrateOperationPhase = "Hydrating"
	HydrateOperationPhaseFailed    HydrateOperationPhase = "Failed"
	HydrateOperationPhaseHydrated  HydrateOperationPhase = "Hydrated"
)

// HydrateOperation is one rendering to Git.
type HydrateOperation struct {
	StartedAt  metav1.Time           `json:"startedAt,omitzero"`
	FinishedAt *metav1.Time          `json:"finishedAt,omitempty"`
	Phase      HydrateOperationPhase `json:"phase"`
	Message    string                `json:"message"`
	// DrySHA is the commit that was rendered.
	DrySHA string `json:"drySHA,omitempty"`
	// HydratedSHA is the commit that was made of it.
	HydratedSHA    string         `json:"hydratedSHA,omitempty"`
	SourceHydrator SourceHydrator `json:"sourceHydrator,omitzero"`
}

// SuccessfulHydrateOperation is the last rendering to Git that went well.
type SuccessfulHydrateOperation struct {
	// DrySHA is the commit that was rendered.
	DrySHA string `json:"drySHA,omitempty"`
	// HydratedSHA is the commit that was made of it.
	HydratedSHA    string         `json:"hydratedSHA,omitempty"`
	SourceHydrator SourceHydrator `json:"sourceHydrator,omitzero"`
}
