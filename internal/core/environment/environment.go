// Package environment is the build environment of a render: the variables of Argo CD that may stand in the fields of a
// source, and the fields that they may stand in. It works on values: it must not read the environment of any process.
package environment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// The variables that tell the revision: what they stand for is another thing with each commit.
const (
	revision       = "ARGOCD_APP_REVISION"
	revisionShort  = "ARGOCD_APP_REVISION_SHORT"
	revisionShort8 = "ARGOCD_APP_REVISION_SHORT_8"
)

// Of are the variables of a request, by name.
func Of(req manifest.Request) map[string]string {
	commit := req.App.Revision
	return map[string]string{
		"ARGOCD_APP_NAME":                   req.App.Called(),
		"ARGOCD_APP_NAMESPACE":              req.App.Namespace,
		"ARGOCD_APP_PROJECT_NAME":           req.App.Project,
		revision:                            commit,
		revisionShort:                       commit[:min(7, len(commit))],
		revisionShort8:                      commit[:min(8, len(commit))],
		"ARGOCD_APP_SOURCE_REPO_URL":        req.Source.RepoURL,
		"ARGOCD_APP_SOURCE_PATH":            req.Source.Path,
		"ARGOCD_APP_SOURCE_TARGET_REVISION": req.Source.TargetRevision,
	}
}

// Result is a source in which variables no longer stand for something else.
type Result struct {
	Source v1alpha1.ApplicationSource
	// UsesRevision says that the revision itself is part of it.
	UsesRevision bool
	// Notes name the fields that hold a variable which there is not.
	Notes []string
}

// Substitute replaces the variables in the fields where Argo CD does: the parameters, value files and file parameters of
// Helm, the images, labels and (if asked to) annotations of Kustomize, and the variables of jsonnet. A reference to
// another source ($ref/…) is no variable.
func Substitute(req manifest.Request) Result {
	s := substitution{values: Of(req)}
	source := req.Source.DeepCopy()
	if of := source.Helm; of != nil {
		s.helm(of)
	}
	if of := source.Kustomize; of != nil {
		s.texts("kustomize.images", of.Images)
		s.mapping("kustomize.commonLabels", of.CommonLabels)
		if of.CommonAnnotationsEnvsubst {
			s.mapping("kustomize.commonAnnotations", of.CommonAnnotations)
		}
	}
	if of := source.Directory; of != nil {
		s.jsonnet("directory.jsonnet.extVars", of.Jsonnet.ExtVars)
		s.jsonnet("directory.jsonnet.tlas", of.Jsonnet.TLAs)
	}
	return Result{Source: *source, UsesRevision: s.usesRevision, Notes: s.notes}
}

type substitution struct {
	values       map[string]string
	usesRevision bool
	notes        []string
}

func (s *substitution) helm(of *v1alpha1.ApplicationSourceHelm) {
	for i := range of.Parameters {
		p := &of.Parameters[i]
		p.Value = s.text("helm.parameters "+p.Name, p.Value)
	}
	for i, file := range of.ValueFiles {
		of.ValueFiles[i] = s.path("helm.valueFiles", file)
	}
	for i := range of.FileParameters {
		p := &of.FileParameters[i]
		p.Path = s.path("helm.fileParameters "+p.Name, p.Path)
	}
}

func (s *substitution) jsonnet(field string, of []v1alpha1.JsonnetVar) {
	for i := range of {
		of[i].Value = s.text(field+" "+of[i].Name, of[i].Value)
	}
}

func (s *substitution) texts(field string, of []string) {
	for i := range of {
		of[i] = s.text(field, of[i])
	}
}

func (s *substitution) mapping(field string, of map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(of)) {
		of[key] = s.text(field+" "+key, of[key])
	}
}

// path replaces variables in a path, but for a first segment that is a reference to another source.
func (s *substitution) path(field, text string) string {
	if first, rest, ok := strings.Cut(text, "/"); ok && strings.HasPrefix(first, "$") {
		if _, variable := s.values[strings.Trim(first, "${}")]; !variable {
			return first + "/" + s.text(field, rest)
		}
	}
	return s.text(field, text)
}

// text replaces variables. The text itself may be a secret, so a note names the field alone.
func (s *substitution) text(field, text string) string {
	unknown := false
	out := Expand(text, func(name string) string {
		value, ok := s.values[name]
		unknown = unknown || !ok
		if name == revision || name == revisionShort || name == revisionShort8 {
			s.usesRevision = true
		}
		return value
	})
	if unknown {
		s.notes = append(s.notes, fmt.Sprintf("%s holds a variable that the build environment does not have, which stands for nothing; "+
			"write $$ where a dollar sign is meant", field))
	}
	return out
}

// Expand replaces $name and ${name} by what the function says; $$ is a dollar sign, and one that nothing follows stays.
// What is not closed or has no name (${) goes away, as it does in Argo CD.
func Expand(text string, value func(name string) string) string {
	if !strings.Contains(text, "$") {
		return text
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, length := variable(after)
		switch {
		case name == "$":
			out.WriteByte('$')
		case name != "":
			out.WriteString(value(name))
		case length == 0:
			out.WriteByte('$')
		}
		text = after[length:]
	}
}

// variable reads the name that follows a dollar sign, and says how long it is with its braces.
func variable(after string) (name string, length int) {
	if inner, ok := strings.CutPrefix(after, "{"); ok {
		end := strings.IndexByte(inner, '}')
		switch {
		case end < 0:
			return "", 1
		case end == 0:
			return "", 2
		}
		return inner[:end], end + 2
	}
	if after != "" && strings.IndexByte("$*#@!?-0123456789", after[0]) >= 0 {
		return after[:1], 1
	}
	end := strings.IndexFunc(after, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if end < 0 {
		end = len(after)
	}
	return after[:end], end
}
