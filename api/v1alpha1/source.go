package v1alpha1

// ApplicationSources is an ordered list of sources.
type ApplicationSources []ApplicationSource

// ApplicationSource is one place to take manifests from, and how to render them.
type ApplicationSource struct {
	// RepoURL is the URL of the Git repository, Helm repository or OCI artifact.
	RepoURL string `json:"repoURL"`
	// Path is a folder in the repository.
	Path string `json:"path,omitempty"`
	// TargetRevision is a branch, tag, commit or version range; empty means HEAD.
	TargetRevision string `json:"targetRevision,omitempty"`
	// Helm has the settings of rendering a chart.
	Helm *ApplicationSourceHelm `json:"helm,omitempty"`
	// Kustomize has the settings of a kustomize build.
	Kustomize *ApplicationSourceKustomize `json:"kustomize,omitempty"`
	// Directory has the settings of reading plain files and jsonnet.
	Directory *ApplicationSourceDirectory `json:"directory,omitempty"`
	// Plugin has the settings of a config management plugin.
	Plugin *ApplicationSourcePlugin `json:"plugin,omitempty"`
	// Chart is the name of a chart in a Helm repository.
	Chart string `json:"chart,omitempty"`
	// Ref is the name under which other sources of the Application reach the files of this one, as $ref.
	Ref string `json:"ref,omitempty"`
	// Name is what people call this source.
	Name string `json:"name,omitempty"`
	// TagPrefix is stripped from tags before they are matched as versions; tags without it are not considered.
	TagPrefix string `json:"tagPrefix,omitempty"`
}

// SourceType says which tool renders a source.
type SourceType string

// The tools that render a source.
const (
	SourceTypeHelm      SourceType = "Helm"
	SourceTypeKustomize SourceType = "Kustomize"
	SourceTypeDirectory SourceType = "Directory"
	SourceTypePlugin    SourceType = "Plugin"
)

// ApplicationSourceDirectory has the settings of reading plain files and jsonnet.
type ApplicationSourceDirectory struct {
	// Recurse also reads the folders below.
	Recurse bool `json:"recurse,omitempty"`
	// Jsonnet has the settings of evaluating jsonnet files.
	Jsonnet ApplicationSourceJsonnet `json:"jsonnet"`
	// Exclude is a glob of paths not to read; it precedes Include.
	Exclude string `json:"exclude,omitempty"`
	// Include is a glob of paths to read.
	Include string `json:"include,omitempty"`
	// DisableExtensionFilter reads files whatever their name ends with.
	DisableExtensionFilter bool `json:"disableExtensionFilter,omitempty"`
}

// ApplicationSourceJsonnet has the settings of evaluating jsonnet files.
type ApplicationSourceJsonnet struct {
	// ExtVars are external variables.
	ExtVars []JsonnetVar `json:"extVars,omitempty"`
	// TLAs are top-level arguments.
	TLAs []JsonnetVar `json:"tlas,omitempty"`
	// Libs are library folders.
	Libs []string `json:"libs,omitempty"`
}

// JsonnetVar is a variable handed to jsonnet.
type JsonnetVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Code says that the value is jsonnet code and not a string.
	Code bool `json:"code,omitempty"`
}

// ApplicationSourcePlugin has the settings of a config management plugin.
type ApplicationSourcePlugin struct {
	// Name of the plugin; empty means that the plugin is found by looking at the files.
	Name string `json:"name,omitempty"`
	// Env are environment variables for the plugin.
	Env []EnvEntry `json:"env,omitempty"`
	// Parameters are what the plugin announced that it takes.
	Parameters []ApplicationSourcePluginParameter `json:"parameters,omitempty"`
}

// EnvEntry is an environment variable.
type EnvEntry struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ApplicationSourcePluginParameter is a named string, list or map.
// An empty list or map is not the same as none, and stays in the JSON.
type ApplicationSourcePluginParameter struct {
	Name   string            `json:"name,omitempty"`
	String *string           `json:"string,omitempty"`
	Map    map[string]string `json:"map,omitzero"`
	Array  []string          `json:"array,omitzero"`
}

// SourceHydrator names where manifests are written, where they are rendered to, and where they are synced from.
type SourceHydrator struct {
	// DrySource is what people edit.
	DrySource DrySource `json:"drySource"`
	// SyncSource is where the rendered manifests are synced from.
	SyncSource SyncSource `json:"syncSource"`
	// HydrateTo is where the rendered manifests are pushed, if that is not where they are synced from.
	HydrateTo *HydrateTo `json:"hydrateTo,omitempty"`
}

// DrySource is a place in Git with manifests that are still to be rendered.
type DrySource struct {
	RepoURL        string                      `json:"repoURL"`
	TargetRevision string                      `json:"targetRevision"`
	Path           string                      `json:"path"`
	Helm           *ApplicationSourceHelm      `json:"helm,omitempty"`
	Kustomize      *ApplicationSourceKustomize `json:"kustomize,omitempty"`
	Directory      *ApplicationSourceDirectory `json:"directory,omitempty"`
	Plugin         *ApplicationSourcePlugin    `json:"plugin,omitempty"`
}

// SyncSource is a place in Git with rendered manifests.
type SyncSource struct {
	TargetBranch string `json:"targetBranch"`
	Path         string `json:"path"`
	// RepoURL is empty if the repository is that of the dry source.
	RepoURL string `json:"repoURL,omitempty"`
}

// HydrateTo is the branch that rendered manifests are pushed to.
type HydrateTo struct {
	TargetBranch string `json:"targetBranch"`
}
