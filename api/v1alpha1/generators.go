package v1alpha1

import (
	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The template of a generator is typed here and free-form in the schema: it is an override that may lack anything, and
// spelling it out at each of the places where it may stand would make the schema too large to apply.

// ApplicationSetGenerator yields parameters; exactly one of its generators is set.
type ApplicationSetGenerator struct {
	List                    *ListGenerator        `json:"list,omitempty"`
	Clusters                *ClusterGenerator     `json:"clusters,omitempty"`
	Git                     *GitGenerator         `json:"git,omitempty"`
	SCMProvider             *SCMProviderGenerator `json:"scmProvider,omitempty"`
	ClusterDecisionResource *DuckTypeGenerator    `json:"clusterDecisionResource,omitempty"`
	PullRequest             *PullRequestGenerator `json:"pullRequest,omitempty"`
	Matrix                  *MatrixGenerator      `json:"matrix,omitempty"`
	Merge                   *MergeGenerator       `json:"merge,omitempty"`
	// Selector keeps the parameters that it matches.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	Plugin   *PluginGenerator      `json:"plugin,omitempty"`
}

// ApplicationSetNestedGenerator is a generator inside of a matrix or a merge.
// A matrix or merge in it is kept as it was written, and is a NestedMatrixGenerator or a NestedMergeGenerator.
type ApplicationSetNestedGenerator struct {
	List                    *ListGenerator        `json:"list,omitempty"`
	Clusters                *ClusterGenerator     `json:"clusters,omitempty"`
	Git                     *GitGenerator         `json:"git,omitempty"`
	SCMProvider             *SCMProviderGenerator `json:"scmProvider,omitempty"`
	ClusterDecisionResource *DuckTypeGenerator    `json:"clusterDecisionResource,omitempty"`
	PullRequest             *PullRequestGenerator `json:"pullRequest,omitempty"`
	Matrix                  *apiextv1.JSON        `json:"matrix,omitempty"`
	Merge                   *apiextv1.JSON        `json:"merge,omitempty"`
	// Selector keeps the parameters that it matches.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	Plugin   *PluginGenerator      `json:"plugin,omitempty"`
}

// ApplicationSetTerminalGenerator is a generator that has no generators in it.
type ApplicationSetTerminalGenerator struct {
	List                    *ListGenerator        `json:"list,omitempty"`
	Clusters                *ClusterGenerator     `json:"clusters,omitempty"`
	Git                     *GitGenerator         `json:"git,omitempty"`
	SCMProvider             *SCMProviderGenerator `json:"scmProvider,omitempty"`
	ClusterDecisionResource *DuckTypeGenerator    `json:"clusterDecisionResource,omitempty"`
	PullRequest             *PullRequestGenerator `json:"pullRequest,omitempty"`
	// Selector keeps the parameters that it matches.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	Plugin   *PluginGenerator      `json:"plugin,omitempty"`
}

// MatrixGenerator yields every combination of what its two generators yield.
type MatrixGenerator struct {
	Generators []ApplicationSetNestedGenerator `json:"generators,omitempty"`
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Template ApplicationSetTemplate `json:"template,omitzero"`
}

// NestedMatrixGenerator is a matrix inside of a matrix or a merge.
type NestedMatrixGenerator struct {
	Generators []ApplicationSetTerminalGenerator `json:"generators,omitempty"`
}

// MergeGenerator yields what its first generator yields, with values of the others where the merge keys agree.
type MergeGenerator struct {
	Generators []ApplicationSetNestedGenerator `json:"generators,omitempty"`
	MergeKeys  []string                        `json:"mergeKeys,omitempty"`
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Template ApplicationSetTemplate `json:"template,omitzero"`
}

// NestedMergeGenerator is a merge inside of a matrix or a merge.
type NestedMergeGenerator struct {
	Generators []ApplicationSetTerminalGenerator `json:"generators,omitempty"`
	MergeKeys  []string                          `json:"mergeKeys,omitempty"`
}

// ListGenerator yields the elements of a list.
type ListGenerator struct {
	// Elements are objects of any shape.
	Elements []apiextv1.JSON `json:"elements,omitzero"`
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Template ApplicationSetTemplate `json:"template,omitzero"`
	// ElementsYAML is a list in YAML, which may have parameters in it.
	ElementsYAML string `json:"elementsYaml,omitempty"`
}

// ClusterGenerator yields the clusters that are known.
type ClusterGenerator struct {
	// Selector matches labels of the cluster secrets; without it all clusters are taken.
	Selector metav1.LabelSelector `json:"selector,omitzero"`
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Template ApplicationSetTemplate `json:"template,omitzero"`
	Values   map[string]string      `json:"values,omitempty"`
	// FlatList yields all the clusters as one list, and not one after another.
	FlatList bool `json:"flatList,omitempty"`
}

// DuckTypeGenerator yields the clusters that the status of some object lists.
type DuckTypeGenerator struct {
	// ConfigMapRef is the name of a config map that says which kind to read, and where in it.
	ConfigMapRef string `json:"configMapRef,omitempty"`
	// Name of the object; not together with LabelSelector.
	Name                string               `json:"name,omitempty"`
	RequeueAfterSeconds *int64               `json:"requeueAfterSeconds,omitempty"`
	LabelSelector       metav1.LabelSelector `json:"labelSelector,omitzero"`
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Template ApplicationSetTemplate `json:"template,omitzero"`
	Values   map[string]string      `json:"values,omitempty"`
}

// GitGenerator yields the folders or the files of a repository.
type GitGenerator struct {
	RepoURL             string                      `json:"repoURL"`
	Directories         []GitDirectoryGeneratorItem `json:"directories,omitempty"`
	Files               []GitFileGeneratorItem      `json:"files,omitempty"`
	Revision            string                      `json:"revision"`
	RequeueAfterSeconds *int64                      `json:"requeueAfterSeconds,omitempty"`
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Template ApplicationSetTemplate `json:"template,omitzero"`
	// PathParamPrefix goes before the names of the path parameters.
	PathParamPrefix string            `json:"pathParamPrefix,omitempty"`
	Values          map[string]string `json:"values,omitempty"`
}

// GitDirectoryGeneratorItem is a glob over folders; one that excludes precedes those that do not.
type GitDirectoryGeneratorItem struct {
	Path    string `json:"path"`
	Exclude bool   `json:"exclude,omitempty"`
}

// GitFileGeneratorItem is a glob over files; one that excludes precedes those that do not.
type GitFileGeneratorItem struct {
	Path    string `json:"path"`
	Exclude bool   `json:"exclude,omitempty"`
}

// PluginGenerator yields what a service answers.
type PluginGenerator struct {
	ConfigMapRef PluginConfigMapRef `json:"configMapRef"`
	Input        PluginInput        `json:"input,omitzero"`
	// RequeueAfterSeconds is how often to ask again.
	RequeueAfterSeconds *int64 `json:"requeueAfterSeconds,omitempty"`
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Template ApplicationSetTemplate `json:"template,omitzero"`
	Values   map[string]string      `json:"values,omitempty"`
}

// PluginConfigMapRef names the config map that says where the service is.
type PluginConfigMapRef struct {
	Name string `json:"name"`
}

// PluginInput is what the service is asked with.
type PluginInput struct {
	Parameters PluginParameters `json:"parameters,omitempty"`
}

// PluginParameters are named values of any shape.
type PluginParameters map[string]apiextv1.JSON

// SecretRef names a key of a secret.
type SecretRef struct {
	SecretName string `json:"secretName"`
	Key        string `json:"key"`
}

// ConfigMapKeyRef names a key of a config map.
type ConfigMapKeyRef struct {
	ConfigMapName string `json:"configMapName"`
	Key           string `json:"key"`
}

// BasicAuthBitbucketServer is a user and where the password is.
type BasicAuthBitbucketServer struct {
	Username    string     `json:"username"`
	PasswordRef *SecretRef `json:"passwordRef,omitempty"`
}

// BearerTokenBitbucket is where the token is.
type BearerTokenBitbucket struct {
	TokenRef *SecretRef `json:"tokenRef,omitempty"`
}
