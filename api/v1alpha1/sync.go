package v1alpha1

// SyncPolicy says when and how to sync.
type SyncPolicy struct {
	// Automated turns on syncing without being asked.
	Automated *SyncPolicyAutomated `json:"automated,omitempty"`
	// SyncOptions are options of the form Name=value.
	SyncOptions SyncOptions `json:"syncOptions,omitempty"`
	// Retry says how to repeat a sync that failed.
	Retry *RetryStrategy `json:"retry,omitempty"`
	// ManagedNamespaceMetadata goes onto the namespace that CreateNamespace=true makes.
	ManagedNamespaceMetadata *ManagedNamespaceMetadata `json:"managedNamespaceMetadata,omitempty"`
}

// SyncOptions are options of the form Name=value.
type SyncOptions []string

// SyncPolicyAutomated turns on syncing without being asked; its presence counts as on unless Enabled is false.
type SyncPolicyAutomated struct {
	// Prune also deletes what is no longer in the source.
	Prune *bool `json:"prune,omitempty"`
	// SelfHeal also syncs when the cluster changed and the source did not.
	SelfHeal *bool `json:"selfHeal,omitempty"`
	// AllowEmpty permits a sync that would delete everything.
	AllowEmpty *bool `json:"allowEmpty,omitempty"`
	// Enabled turns the block off without removing it.
	Enabled *bool `json:"enabled,omitempty"`
}

// RetryStrategy says how to repeat a sync that failed.
type RetryStrategy struct {
	// Limit is how often to retry: 0 is never, -1 is without end.
	Limit int64 `json:"limit,omitempty"`
	// Backoff is how long to wait in between.
	Backoff *Backoff `json:"backoff,omitempty"`
	// Refresh lets a retry take up newer commits.
	Refresh bool `json:"refresh,omitempty"`
}

// Backoff is a growing wait. A bare number is a number of seconds.
type Backoff struct {
	Duration    string `json:"duration,omitempty"`
	Factor      *int64 `json:"factor,omitempty"`
	MaxDuration string `json:"maxDuration,omitempty"`
}

// ManagedNamespaceMetadata goes onto the namespace that CreateNamespace=true makes.
type ManagedNamespaceMetadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Operation is a request to sync now; whoever may write the Application may set it.
type Operation struct {
	Sync        *SyncOperation     `json:"sync,omitempty"`
	InitiatedBy OperationInitiator `json:"initiatedBy"`
	Info        []Info             `json:"info,omitempty"`
	Retry       RetryStrategy      `json:"retry"`
}

// OperationInitiator is who asked for an operation.
type OperationInitiator struct {
	Username string `json:"username,omitempty"`
	// Automated says that the controller asked, by the sync policy.
	Automated bool `json:"automated,omitempty"`
}

// SyncOperation is what to sync, to which revision, and how.
type SyncOperation struct {
	// Revision is the one to sync to; empty means that of the spec.
	Revision string `json:"revision,omitempty"`
	// Prune also deletes what is no longer in the source.
	Prune bool `json:"prune,omitempty"`
	// DryRun changes nothing.
	DryRun bool `json:"dryRun,omitempty"`
	// SyncStrategy is with hooks unless it says otherwise.
	SyncStrategy *SyncStrategy `json:"syncStrategy,omitempty"`
	// Resources limits the sync to these objects.
	Resources []SyncOperationResource `json:"resources,omitempty"`
	// Source overrides that of the spec, as a rollback does.
	Source *ApplicationSource `json:"source,omitempty"`
	// Manifests to apply instead of those of the source, as a local sync does.
	Manifests []string `json:"manifests,omitempty"`
	// SyncOptions replace those of the spec.
	SyncOptions SyncOptions `json:"syncOptions,omitempty"`
	// Sources override those of the spec, as a rollback does.
	Sources ApplicationSources `json:"sources,omitempty"`
	// Revisions are those to sync to, one for each source.
	Revisions []string `json:"revisions,omitempty"`
	// AutoHealAttemptsCount is how often self-healing tried before.
	AutoHealAttemptsCount int64 `json:"autoHealAttemptsCount,omitempty"`
}

// SyncOperationResource selects objects by exact group, kind and name, and by namespace if it is given.
type SyncOperationResource struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
}

// SyncStrategy is either to apply only, or to apply and run hooks.
type SyncStrategy struct {
	Apply *SyncStrategyApply `json:"apply,omitempty"`
	Hook  *SyncStrategyHook  `json:"hook,omitempty"`
}

// SyncStrategyApply applies and runs no hooks.
type SyncStrategyApply struct {
	// Force deletes and makes anew what cannot be updated.
	Force bool `json:"force,omitempty"`
}

// SyncStrategyHook applies and runs hooks.
type SyncStrategyHook struct {
	SyncStrategyApply `json:",inline"`
}

// SyncPhase is a part of a sync; phases run in the order given here.
type SyncPhase string

// The phases of a sync. SyncFail runs only after a failure.
const (
	SyncPhasePreSync  SyncPhase = "PreSync"
	SyncPhaseSync     SyncPhase = "Sync"
	SyncPhasePostSync SyncPhase = "PostSync"
	SyncPhaseSyncFail SyncPhase = "SyncFail"
)

// HookType is a value of the hook annotation.
type HookType string

// The hook types: those of a sync, those of deleting an Application, and the mark of an object to leave alone.
const (
	HookTypePreSync    HookType = "PreSync"
	HookTypeSync       HookType = "Sync"
	HookTypePostSync   HookType = "PostSync"
	HookTypeSyncFail   HookType = "SyncFail"
	HookTypePreDelete  HookType = "PreDelete"
	HookTypePostDelete HookType = "PostDelete"
	HookTypeSkip       HookType = "Skip"
)

// HookDeletePolicy is a value of the hook-delete-policy annotation.
type HookDeletePolicy string

// When a hook is deleted.
const (
	HookDeletePolicyHookSucceeded      HookDeletePolicy = "HookSucceeded"
	HookDeletePolicyHookFailed         HookDeletePolicy = "HookFailed"
	HookDeletePolicyBeforeHookCreation HookDeletePolicy = "BeforeHookCreation"
)

// RefreshType is a value of the refresh annotation.
type RefreshType string

// How far a refresh goes: a hard one also renders anew.
const (
	RefreshTypeNormal RefreshType = "normal"
	RefreshTypeHard   RefreshType = "hard"
)

// AutomatedEnabled tells whether syncing without being asked is on. It may be called on nil.
func (p *SyncPolicy) AutomatedEnabled() bool {
	if p == nil || p.Automated == nil {
		return false
	}
	return p.Automated.Enabled == nil || *p.Automated.Enabled
}
