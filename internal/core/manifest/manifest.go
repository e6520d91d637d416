// Package manifest is what a renderer is asked and what it answers, and the reading of YAML and JSON manifests.
// It works on bytes that were already read: it never opens a file, and it never changes an object that it read.
package manifest

import (
	"bytes"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// Request is what a renderer is asked for: the source of an Application, less everything that the fetch settled.
type Request struct {
	// Path is the folder within the tree, with '/' between names; "" and "." are the root.
	Path string
	// Explicit says that the Application itself names the directory type, so that no other type is looked for.
	Explicit bool
	// Recurse takes the folders below Path too.
	Recurse bool
	// Include and Exclude are glob patterns over paths relative to Path; an empty pattern does nothing.
	Include, Exclude string
	// DisableExtensionFilter takes files of every name, and reads those of no known extension as YAML.
	DisableExtensionFilter bool
}

// Result is what a renderer answers.
type Result struct {
	// Objects are in the order of their files and, within a file, in the order in which they are written.
	Objects []*unstructured.Unstructured
	// Files counts the files that were read, those that held no object among them.
	Files int
	// Skipped has one sentence per file or document that was left out, beginning with its path.
	Skipped []string
	// Incomplete says that something that was left out may have held objects which Argo CD would have rendered. That
	// an object is absent from such a Result proves nothing, so nothing may be deleted on its word.
	Incomplete bool
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
