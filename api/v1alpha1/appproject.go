package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AppProject says what the Applications of a tenant may use, and who may do what with them.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=appprojects,shortName=appproj;appprojs
// +kubebuilder:metadata:labels="app.kubernetes.io/name=appprojects.argoproj.io"
// +kubebuilder:metadata:labels="app.kubernetes.io/part-of=argocd"
type AppProject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   AppProjectSpec   `json:"spec"`
	Status AppProjectStatus `json:"status,omitzero"`
}

// AppProjectList is a list of AppProjects.
//
// +kubebuilder:object:root=true
type AppProjectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []AppProject `json:"items"`
}

// AppProjectSpec has the limits of a project. Lists are globs; an entry that begins with ! denies.
type AppProjectSpec struct {
	// SourceRepos are the repositories that may be used.
	SourceRepos []string `json:"sourceRepos,omitempty"`
	// Destinations are the clusters and namespaces that may be deployed to.
	Destinations []ApplicationDestination `json:"destinations,omitempty"`
	Description  string                   `json:"description,omitempty"`
	Roles        []ProjectRole            `json:"roles,omitempty"`
	// ClusterResourceWhitelist has the cluster-scoped kinds that are permitted; empty permits none.
	ClusterResourceWhitelist []ClusterResourceRestriction `json:"clusterResourceWhitelist,omitempty"`
	// NamespaceResourceBlacklist has the namespaced kinds that are forbidden.
	NamespaceResourceBlacklist []metav1.GroupKind `json:"namespaceResourceBlacklist,omitempty"`
	// OrphanedResources turns on looking for objects that no Application owns.
	OrphanedResources *OrphanedResourcesMonitorSettings `json:"orphanedResources,omitempty"`
	SyncWindows       SyncWindows                       `json:"syncWindows,omitempty"`
	// NamespaceResourceWhitelist has the namespaced kinds that are permitted. Absent permits all and empty permits none,
	// so an empty list stays in the JSON.
	NamespaceResourceWhitelist []metav1.GroupKind `json:"namespaceResourceWhitelist,omitzero"`
	// SignatureKeys are the keys that commits must be signed with.
	SignatureKeys []SignatureKey `json:"signatureKeys,omitempty"`
	// ClusterResourceBlacklist has the cluster-scoped kinds that are forbidden.
	ClusterResourceBlacklist []ClusterResourceRestriction `json:"clusterResourceBlacklist,omitempty"`
	// SourceNamespaces are the namespaces that Applications of the project may live in.
	SourceNamespaces []string `json:"sourceNamespaces,omitempty"`
	// PermitOnlyProjectScopedClusters forbids clusters that are not the project's own.
	PermitOnlyProjectScopedClusters bool `json:"permitOnlyProjectScopedClusters,omitempty"`
	// DestinationServiceAccounts are whom to impersonate when syncing; the first match decides.
	DestinationServiceAccounts []ApplicationDestinationServiceAccount `json:"destinationServiceAccounts,omitempty"`
	// SourceIntegrity says what must be true about commits.
	SourceIntegrity *SourceIntegrity `json:"sourceIntegrity,omitempty"`
}

// AppProjectStatus has the tokens that were issued.
type AppProjectStatus struct {
	JWTTokensByRole map[string]JWTTokens `json:"jwtTokensByRole,omitempty"`
}

// ClusterResourceRestriction selects cluster-scoped objects by globs over group, kind and, if it is given, name.
type ClusterResourceRestriction struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Name  string `json:"name,omitempty"`
}

// ProjectRole is a named set of permissions in a project.
type ProjectRole struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Policies are lines of the RBAC language about the project.
	Policies  []string   `json:"policies,omitempty"`
	JWTTokens []JWTToken `json:"jwtTokens,omitempty"`
	// Groups are the groups of the login provider that have the role.
	Groups []string `json:"groups,omitempty"`
}

// JWTTokens are tokens that were issued for a role.
type JWTTokens struct {
	Items []JWTToken `json:"items,omitempty"`
}

// JWTToken is a token that was issued; times are seconds since 1970.
type JWTToken struct {
	IssuedAt  int64  `json:"iat"`
	ExpiresAt int64  `json:"exp,omitempty"`
	ID        string `json:"id,omitempty"`
}

// OrphanedResourcesMonitorSettings says which objects without an Application to tell about.
type OrphanedResourcesMonitorSettings struct {
	// Warn sets a condition on the Applications of the namespace.
	Warn   *bool                 `json:"warn,omitempty"`
	Ignore []OrphanedResourceKey `json:"ignore,omitempty"`
}

// OrphanedResourceKey selects objects by globs.
type OrphanedResourceKey struct {
	Group string `json:"group,omitempty"`
	Kind  string `json:"kind,omitempty"`
	Name  string `json:"name,omitempty"`
}

// SyncWindowKind says whether a window permits or forbids.
type SyncWindowKind string

// The kinds of sync windows.
const (
	SyncWindowKindAllow SyncWindowKind = "allow"
	SyncWindowKindDeny  SyncWindowKind = "deny"
)

// SyncWindows are the times at which syncing is permitted or forbidden.
type SyncWindows []SyncWindow

// SyncWindow is a repeated time at which syncing is permitted or forbidden for what it selects.
type SyncWindow struct {
	Kind SyncWindowKind `json:"kind,omitempty"`
	// Schedule is a cron expression of five fields.
	Schedule string `json:"schedule,omitempty"`
	// Duration is how long the window is open.
	Duration     string   `json:"duration,omitempty"`
	Applications []string `json:"applications,omitempty"`
	Namespaces   []string `json:"namespaces,omitempty"`
	Clusters     []string `json:"clusters,omitempty"`
	// ManualSync permits people to sync all the same.
	ManualSync bool `json:"manualSync,omitempty"`
	// TimeZone of the schedule; empty means UTC.
	TimeZone string `json:"timeZone,omitempty"`
	// UseAndOperator makes the three lists match together, and not one for another.
	UseAndOperator bool   `json:"andOperator,omitempty"`
	Description    string `json:"description,omitempty"`
	// SyncOverrun lets a sync go on that was permitted when it began.
	SyncOverrun bool `json:"syncOverrun,omitempty"`
}

// SignatureKey is a key that commits must be signed with.
type SignatureKey struct {
	KeyID string `json:"keyID"`
}

// ApplicationDestinationServiceAccount is whom to impersonate on a destination.
type ApplicationDestinationServiceAccount struct {
	Server    string `json:"server"`
	Namespace string `json:"namespace,omitempty"`
	// DefaultServiceAccount is a name, or namespace:name.
	DefaultServiceAccount string `json:"defaultServiceAccount"`
}

// SourceIntegrity says what must be true about what is deployed.
type SourceIntegrity struct {
	Git *SourceIntegrityGit `json:"git,omitempty"`
}

// SourceIntegrityGit says what must be true about commits.
type SourceIntegrityGit struct {
	Policies []SourceIntegrityGitPolicy `json:"policies,omitempty"`
}

// SourceIntegrityGitPolicy says what must be true about the commits of some repositories.
type SourceIntegrityGitPolicy struct {
	Repos []SourceIntegrityGitPolicyRepo `json:"repos,omitempty"`
	GPG   *SourceIntegrityGitPolicyGPG   `json:"gpg,omitempty"`
}

// SourceIntegrityGitPolicyRepo selects repositories by a glob over the URL.
type SourceIntegrityGitPolicyRepo struct {
	URL string `json:"url"`
}

// SourceIntegrityGPGMode says which commits must be signed.
type SourceIntegrityGPGMode string

// Which commits must be signed: none, the one that is deployed, or its history too.
const (
	SourceIntegrityGPGModeNone   SourceIntegrityGPGMode = "none"
	SourceIntegrityGPGModeHead   SourceIntegrityGPGMode = "head"
	SourceIntegrityGPGModeStrict SourceIntegrityGPGMode = "strict"
)

// SourceIntegrityGitPolicyGPG says which commits must be signed, and by whom.
type SourceIntegrityGitPolicyGPG struct {
	Mode SourceIntegrityGPGMode `json:"mode"`
	Keys []string               `json:"keys,omitempty"`
}
