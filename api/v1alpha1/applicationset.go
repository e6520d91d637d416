package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ApplicationSet makes Applications from a template and the parameters of its generators.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=applicationsets,shortName=appset;appsets
// +kubebuilder:metadata:labels="app.kubernetes.io/name=applicationsets.argoproj.io"
// +kubebuilder:metadata:labels="app.kubernetes.io/part-of=argocd"
type ApplicationSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   ApplicationSetSpec   `json:"spec"`
	Status ApplicationSetStatus `json:"status,omitzero"`
}

// ApplicationSetList is a list of ApplicationSets.
//
// +kubebuilder:object:root=true
type ApplicationSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []ApplicationSet `json:"items"`
}

// ApplicationSetSpec is a template and the generators that fill it.
type ApplicationSetSpec struct {
	// GoTemplate renders with Go's text/template, and not by replacing {{name}}.
	GoTemplate bool `json:"goTemplate,omitempty"`
	// Generators yield the parameters.
	Generators []ApplicationSetGenerator `json:"generators,omitempty"`
	// Template of the Applications.
	Template ApplicationSetTemplate `json:"template"`
	// SyncPolicy says what may be done to the Applications.
	SyncPolicy *ApplicationSetSyncPolicy `json:"syncPolicy,omitempty"`
	// Strategy says in which order the Applications are updated.
	Strategy *ApplicationSetStrategy `json:"strategy,omitempty"`
	// PreservedFields are kept on the Applications although the template lacks them.
	PreservedFields *ApplicationPreservedFields `json:"preservedFields,omitempty"`
	// GoTemplateOptions are options of Go's text/template, such as missingkey=error.
	GoTemplateOptions []string `json:"goTemplateOptions,omitempty"`
	// ApplyNestedSelectors is accepted and always on.
	ApplyNestedSelectors bool `json:"applyNestedSelectors,omitempty"`
	// IgnoreApplicationDifferences lists fields of the Applications that are left as they are.
	IgnoreApplicationDifferences ApplicationSetIgnoreDifferences `json:"ignoreApplicationDifferences,omitempty"`
	// TemplatePatch is rendered and merged over the rendered template; only with GoTemplate.
	TemplatePatch *string `json:"templatePatch,omitempty"`
}

// ApplicationSetTemplate is an Application with parameters in it.
type ApplicationSetTemplate struct {
	ApplicationSetTemplateMeta `json:"metadata"`

	Spec ApplicationSpec `json:"spec"`
}

// ApplicationSetTemplateMeta is the metadata of an Application with parameters in it.
type ApplicationSetTemplateMeta struct {
	Name        string            `json:"name,omitempty"`
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Finalizers  []string          `json:"finalizers,omitempty"`
}

// ApplicationsSyncPolicy says what may be done to the Applications of an ApplicationSet.
type ApplicationsSyncPolicy string

// What may be done to the Applications of an ApplicationSet.
const (
	ApplicationsSyncPolicySync         ApplicationsSyncPolicy = "sync"
	ApplicationsSyncPolicyCreateOnly   ApplicationsSyncPolicy = "create-only"
	ApplicationsSyncPolicyCreateUpdate ApplicationsSyncPolicy = "create-update"
	ApplicationsSyncPolicyCreateDelete ApplicationsSyncPolicy = "create-delete"
)

// AllowUpdate tells whether Applications may be changed.
func (p ApplicationsSyncPolicy) AllowUpdate() bool {
	return p == ApplicationsSyncPolicySync || p == ApplicationsSyncPolicyCreateUpdate
}

// AllowDelete tells whether Applications may be deleted.
func (p ApplicationsSyncPolicy) AllowDelete() bool {
	return p == ApplicationsSyncPolicySync || p == ApplicationsSyncPolicyCreateDelete
}

// ApplicationSetSyncPolicy says what may be done to the Applications.
type ApplicationSetSyncPolicy struct {
	// PreserveResourcesOnDeletion deletes an Application without the objects that it deployed.
	PreserveResourcesOnDeletion bool                    `json:"preserveResourcesOnDeletion,omitempty"`
	ApplicationsSync            *ApplicationsSyncPolicy `json:"applicationsSync,omitempty"`
}

// ApplicationSetStrategyType says how the Applications are updated.
type ApplicationSetStrategyType string

// How the Applications are updated.
const (
	ApplicationSetStrategyAllAtOnce   ApplicationSetStrategyType = "AllAtOnce"
	ApplicationSetStrategyRollingSync ApplicationSetStrategyType = "RollingSync"
)

// ApplicationSetDeletionOrder says how the Applications are deleted.
type ApplicationSetDeletionOrder string

// How the Applications are deleted.
const (
	ApplicationSetDeletionOrderAllAtOnce ApplicationSetDeletionOrder = "AllAtOnce"
	ApplicationSetDeletionOrderReverse   ApplicationSetDeletionOrder = "Reverse"
)

// ApplicationSetStrategy says in which order the Applications are updated and deleted.
type ApplicationSetStrategy struct {
	Type          ApplicationSetStrategyType     `json:"type,omitempty"`
	RollingSync   *ApplicationSetRolloutStrategy `json:"rollingSync,omitempty"`
	DeletionOrder ApplicationSetDeletionOrder    `json:"deletionOrder,omitempty"`
}

// ApplicationSetRolloutStrategy updates the Applications step by step.
type ApplicationSetRolloutStrategy struct {
	Steps []ApplicationSetRolloutStep `json:"steps,omitempty"`
}

// ApplicationSetRolloutStep selects Applications by label, and says how many of them to update at once.
type ApplicationSetRolloutStep struct {
	MatchExpressions []ApplicationMatchExpression `json:"matchExpressions,omitempty"`
	// MaxUpdate is a number or a percentage; zero waits for a person.
	MaxUpdate *intstr.IntOrString `json:"maxUpdate,omitempty"`
}

// ApplicationMatchOperator compares a label with values.
type ApplicationMatchOperator string

// The operators of a rollout step.
const (
	ApplicationMatchOperatorIn    ApplicationMatchOperator = "In"
	ApplicationMatchOperatorNotIn ApplicationMatchOperator = "NotIn"
)

// ApplicationMatchExpression compares a label with values.
type ApplicationMatchExpression struct {
	Key      string                   `json:"key,omitempty"`
	Operator ApplicationMatchOperator `json:"operator,omitempty"`
	Values   []string                 `json:"values,omitempty"`
}

// ApplicationPreservedFields are kept on the Applications although the template lacks them.
type ApplicationPreservedFields struct {
	Annotations []string `json:"annotations,omitempty"`
	Labels      []string `json:"labels,omitempty"`
}

// ApplicationSetIgnoreDifferences lists fields of the Applications that are left as they are.
type ApplicationSetIgnoreDifferences []ApplicationSetResourceIgnoreDifferences

// ApplicationSetResourceIgnoreDifferences selects fields of one Application, or of all if it names none.
type ApplicationSetResourceIgnoreDifferences struct {
	Name              string   `json:"name,omitempty"`
	JSONPointers      []string `json:"jsonPointers,omitempty"`
	JQPathExpressions []string `json:"jqPathExpressions,omitempty"`
}
