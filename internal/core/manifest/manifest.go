// Package manifest is what a renderer is asked and what it answers, and the reading of YAML and JSON manifests.
// It works on bytes that were already read: it never opens a file, and it never changes an object that it read.
package manifest

import (
	"bytes"
	"io/fs"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/reads"
)

// Bounds on one file, checked before the work that they bound is done.
const (
	// MaxFileBytes is the largest file that is parsed.
	MaxFileBytes = 10 << 20
	// MaxDocuments is how many documents one file may hold.
	MaxDocuments = 10_000
	// MaxExpandedBytes is how large a document may become once its aliases are written out.
	MaxExpandedBytes = 10 << 20
	// MaxListDepth is how deep List objects may hold List objects.
	MaxListDepth = 8
)

// Request is what a renderer is asked for: the source of an Application, less what the fetch settled.
type Request struct {
	// Source is the source with its fields as they are written. Its Path is a folder within the tree "", with '/'
	// between names; "" and "." are the root.
	Source v1alpha1.ApplicationSource
	App    App
	Kube   Kube
	Build  Build
}

// App is what a render may know of the application that it is for.
type App struct {
	Name, Project string
	// Namespace is that of the destination.
	Namespace string
	// Revision is the commit, version or digest that the tree is of.
	Revision string
	// Instance is what it is called beside applications of other namespaces, where that is not its name.
	Instance string `json:",omitempty"`
}

// Called is the application's name in variables and in the names of files; a release of Helm has its plain name.
func (a App) Called() string {
	if a.Instance != "" {
		return a.Instance
	}
	return a.Name
}

// Kube is what a render may know of the cluster that it is for.
type Kube struct {
	// Version is like "1.36.3"; APIs are like "apps/v1" and "apps/v1/Deployment", in order.
	Version string
	APIs    []string
	// Digest names the APIs, so that they need not be compared one by one.
	Digest string
}

// Build is how the installation wants things rendered. The zero value has Argo CD's defaults.
type Build struct {
	// KustomizeOptions are those of `kustomize build`, as kustomize.buildOptions has them.
	KustomizeOptions string
	// ValuesSchemes are the URL schemes that value files may be fetched by; nil is http and https.
	ValuesSchemes []string
	// NoHelm, NoKustomize and NoJsonnet switch a type of source off.
	NoHelm, NoKustomize, NoJsonnet bool
	// MaxDirectoryBytes bounds the manifests of a folder together; zero is 10 MiB.
	MaxDirectoryBytes int64
	// Origins has each object of a kustomization say in OriginAnnotation which file it was written in. It is for those who look:
	// what is deployed must not have it.
	Origins bool `json:",omitempty"`
}

// OriginAnnotation is how kustomize says where an object was written.
const OriginAnnotation = "config.kubernetes.io/origin"

// Trees are what a render may read, by name: "" is the content of the source, "$name" that of the source whose ref is
// name, and the ID of a Need what was fetched for it. A tree may also be an fs.ReadDirFS, fs.ReadFileFS, fs.StatFS,
// fs.ReadLinkFS and a Traced, and should be.
type Trees map[string]fs.FS

// Traced is a tree that can tell what reading it depended on.
type Traced interface {
	// Trace is what a read of the path depends on, the symbolic links on the way among it.
	Trace(kind reads.Kind, path string) ([]reads.Read, error)
	// Same reports whether a read of another commit would be the same here. The Tree of the Read does not matter.
	Same(read reads.Read) (bool, error)
}

// Need is something that a render cannot go on without, and cannot fetch itself.
type Need struct {
	Kind NeedKind
	// URL is that of the repository, or of the file.
	URL string
	// Chart is the name of a chart in a repository.
	Chart string
	// Revision is a revision of git, or a version or range of versions of a chart.
	Revision string
	// Variables are what a plugin is told, each as NAME=value, with a zero byte between them. They may hold secrets.
	Variables string
	// Why names what asks for it: a file and what it says there.
	Why string
}

// NeedKind is what sort of thing is needed.
type NeedKind string

const (
	// NeedGit is the content of a git repository at a revision.
	NeedGit NeedKind = "git"
	// NeedChart is a chart of a Helm repository or, with an oci:// URL, of a registry. Its tree begins where its
	// Chart.yaml is.
	NeedChart NeedKind = "chart"
	// NeedFile is the file behind a URL. Its tree holds that one file, under the name "content".
	NeedFile NeedKind = "file"
	// NeedPlugin is what the config management plugin makes of the source whose name is in URL; with none, one that says
	// that it can. Its tree holds a file for each manifest, in the order of their names.
	NeedPlugin NeedKind = "plugin"
)

// ID names the tree that the need is met with.
func (n Need) ID() string {
	return string(n.Kind) + " " + n.URL + " " + n.Chart + " " + n.Revision
}

// Result is what a renderer answers.
type Result struct {
	// Objects are in the order of their files and, within a file, in the order in which they are written.
	Objects []*unstructured.Unstructured
	// Type is what the source turned out to be.
	Type v1alpha1.SourceType
	// Needs are what has to be fetched before there can be an answer; then there are no Objects.
	Needs []Need
	// Reads are what the render read; nil where the trees could not tell.
	Reads reads.Set
	// UsesRevision says that the revision itself is part of the answer, UsesAPIs that the APIs of the cluster may be.
	UsesRevision, UsesAPIs bool
	// Files counts the files that were read, those that held no object among them.
	Files int
	// Skipped has one sentence per file or document that was left out, beginning with its path.
	Skipped []string
	// Notes are what people should know though the render did what it was asked.
	Notes []string
	// Incomplete says that something that was left out may have held objects which Argo CD would have rendered. That
	// an object is absent from such a Result proves nothing, so nothing may be deleted on its word.
	Incomplete bool
}

// Origin says where content comes from.
type Origin struct {
	RepoURL string
	// Chart is a chart of the repository; "" is a repository of git, or a plain artifact of a registry.
	Chart string
	// Revision is as it is written: a branch, a tag, a SHA, a version, a range of versions.
	Revision  string
	TagPrefix string
	// Project is whose credentials may be used.
	Project string
	// ByContent says that fetched content names this place and not the application, as for a Need. Content may only
	// choose places that everybody can reach, or such as have an entry.
	ByContent bool
	// PassCredentials is that of the source: the login goes to other hosts that the repository names, too.
	PassCredentials bool
}

// OriginOf says where the content of a source of an application comes from.
func OriginOf(app *v1alpha1.Application, s v1alpha1.ApplicationSource) Origin {
	return Origin{
		RepoURL: s.RepoURL, Chart: s.Chart, Revision: s.TargetRevision, TagPrefix: s.TagPrefix, Project: app.ProjectName(),
		PassCredentials: s.Helm != nil && s.Helm.PassCredentials,
	}
}

// skipMarker in a comment makes a file be left out.
const skipMarker = "+argocd:skip-file-rendering"

// SkipMarked reports whether the file asks, by the comment `# +argocd:skip-file-rendering`, not to be rendered.
func SkipMarked(data []byte) bool {
	if !bytes.Contains(data, []byte(skipMarker)) {
		return false
	}
	for line := range bytes.Lines(data) {
		comment, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("#"))
		if ok && bytes.HasPrefix(bytes.TrimLeft(comment, "# \t"), []byte(skipMarker)) {
			return true
		}
	}
	return false
}
