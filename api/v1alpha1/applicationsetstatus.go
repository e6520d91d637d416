package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ApplicationSetStatus is what is known about an ApplicationSet.
type ApplicationSetStatus struct {
	Conditions        []ApplicationSetCondition         `json:"conditions,omitempty"`
	ApplicationStatus []ApplicationSetApplicationStatus `json:"applicationStatus,omitempty"`
	// Resources are the Applications; a very long list is cut.
	Resources []ResourceStatus `json:"resources,omitempty"`
	// ResourcesCount is the number of Applications, also of those that were cut.
	ResourcesCount int64        `json:"resourcesCount,omitempty"`
	Health         HealthStatus `json:"health,omitzero"`
}

// ApplicationSetConditionType names a condition of an ApplicationSet.
type ApplicationSetConditionType string

// The conditions of an ApplicationSet.
const (
	ApplicationSetConditionErrorOccurred        ApplicationSetConditionType = "ErrorOccurred"
	ApplicationSetConditionParametersGenerated  ApplicationSetConditionType = "ParametersGenerated"
	ApplicationSetConditionResourcesUpToDate    ApplicationSetConditionType = "ResourcesUpToDate"
	ApplicationSetConditionRolloutProgressing   ApplicationSetConditionType = "RolloutProgressing"
	ApplicationSetConditionInvalidRolloutConfig ApplicationSetConditionType = "InvalidRolloutConfig"
)

// ApplicationSetConditionStatus says whether a condition holds.
type ApplicationSetConditionStatus string

// Whether a condition holds.
const (
	ApplicationSetConditionStatusTrue    ApplicationSetConditionStatus = "True"
	ApplicationSetConditionStatusFalse   ApplicationSetConditionStatus = "False"
	ApplicationSetConditionStatusUnknown ApplicationSetConditionStatus = "Unknown"
)

// ApplicationSetCondition is something that people should know about.
type ApplicationSetCondition struct {
	Type               ApplicationSetConditionType   `json:"type"`
	Message            string                        `json:"message"`
	LastTransitionTime *metav1.Time                  `json:"lastTransitionTime,omitempty"`
	Status             ApplicationSetConditionStatus `json:"status"`
	Reason             string                        `json:"reason"`
}

// ProgressiveSyncStatusCode is how far an Application is in a rollout.
type ProgressiveSyncStatusCode string

// How far an Application is in a rollout, in this order.
const (
	ProgressiveSyncWaiting     ProgressiveSyncStatusCode = "Waiting"
	ProgressiveSyncPending     ProgressiveSyncStatusCode = "Pending"
	ProgressiveSyncProgressing ProgressiveSyncStatusCode = "Progressing"
	ProgressiveSyncHealthy     ProgressiveSyncStatusCode = "Healthy"
)

// ApplicationSetApplicationStatus is how far one Application is in a rollout.
type ApplicationSetApplicationStatus struct {
	Application        string                    `json:"application"`
	LastTransitionTime *metav1.Time              `json:"lastTransitionTime,omitempty"`
	Message            string                    `json:"message"`
	Status             ProgressiveSyncStatusCode `json:"status"`
	// Step is the number of the rollout step, counted from one.
	Step            string   `json:"step"`
	TargetRevisions []string `json:"targetRevisions,omitempty"`
}
