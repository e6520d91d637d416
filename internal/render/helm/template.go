package helm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	helmrelease "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// version is what templates see as the version of Helm: that of the engine which is linked.
const version = "v4.3.1"

// maxOutputBytes bounds what the templates of a chart may print together.
const maxOutputBytes = 64 << 20

// Release is what a chart is rendered for.
type Release struct {
	Name, Namespace string
	Kube            manifest.Kube
	Values          map[string]any
	// CRDs has the crds folders printed; NoTests leaves test hooks out, NoHooks all hooks; NoSchema takes the values
	// without holding them against the schemas of the charts.
	CRDs, NoTests, NoHooks, NoSchema bool
}

// Document is what one file of a chart came to, or one document of it.
type Document struct{ Source, Text string }

// Output is what a chart prints, in Helm's order: definitions, objects in the order of an install, hooks.
type Output struct {
	Documents []Document
	Notes     []string
}

// String is the output as `helm template` prints it.
func (o Output) String() string {
	var text strings.Builder
	for _, document := range o.Documents {
		fmt.Fprintf(&text, "---\n# Source: %s\n%s\n", document.Source, document.Text)
	}
	return text.String()
}

// Template renders the chart. It changes the chart, as Helm does, so a chart is rendered once.
func (c *Chart) Template(ctx context.Context, rel Release) (Output, error) {
	name := fmt.Sprintf("chart %s %s", c.chart.Name(), c.chart.Metadata.Version)
	if err := chartutil.ValidateReleaseName(rel.Name); err != nil {
		return Output{}, fault.Terminalf("InvalidReleaseName", "release name %q: %w; set helm.releaseName", rel.Name, err)
	}
	caps, err := capabilities(c.chart, rel.Kube)
	if err != nil {
		return Output{}, err
	}
	if err := chartutil.ProcessDependencies(c.chart, rel.Values); err != nil {
		return Output{}, fault.Terminalf("InvalidChart", "%s: choosing its dependencies: %w", name, err)
	}
	if err := checkSchemas(c.chart, rel.NoSchema); err != nil {
		return Output{}, err
	}
	options := common.ReleaseOptions{Name: rel.Name, Namespace: rel.Namespace, Revision: 1, IsInstall: true}
	values, err := commonutil.ToRenderValuesWithSchemaValidation(c.chart, rel.Values, options, caps, rel.NoSchema)
	if err != nil {
		return Output{}, fault.Terminalf("InvalidValues", "%s: %w", name, errors.New(strings.TrimSpace(err.Error())))
	}
	files, err := engine.Engine{CustomTemplateFuncs: bounded}.RenderWithContext(ctx, c.chart, values)
	if err != nil {
		return Output{}, fault.Terminalf("TemplateFailed", "%s: %w", name, explain(err))
	}
	return c.sort(name, files, rel)
}

// sort takes the rendered files apart, and puts what is in them in Helm's order.
func (c *Chart) sort(name string, files map[string]string, rel Release) (Output, error) {
	size := 0
	for file, content := range files {
		if size += len(content); size > maxOutputBytes {
			return Output{}, fault.Terminalf("TooLarge", "%s prints more than %d bytes, at %s", name, maxOutputBytes, file)
		}
		if strings.HasSuffix(file, "NOTES.txt") {
			delete(files, file)
		}
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return Output{}, fault.Terminalf("InvalidManifest", "%s: %w", name, discreet(err, files))
	}
	var out Output
	if rel.CRDs {
		for _, crd := range c.chart.CRDObjects() {
			out.Documents = append(out.Documents, Document{Source: crd.Filename, Text: string(crd.File.Data)})
		}
	}
	for _, manifest := range manifests {
		out.Documents = append(out.Documents, Document{Source: manifest.Name, Text: manifest.Content})
	}
	for _, hook := range hooks {
		if rel.NoHooks || rel.NoTests && slices.Contains(hook.Events, helmrelease.HookTest) {
			continue
		}
		out.Documents = append(out.Documents, Document{Source: hook.Path, Text: hook.Manifest})
	}
	out.Notes = unknownHooks(files, len(hooks)+len(manifests))
	return out, nil
}

// unknownHooks names what Helm dropped: an object with a hook that no Helm knows is neither a hook nor an object to it.
func unknownHooks(files map[string]string, kept int) []string {
	var notes []string
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(path.Base(file), "_") {
			continue
		}
		documents := releaseutil.SplitManifests(files[file])
		kept -= len(documents)
		for _, document := range documents {
			if _, after, ok := strings.Cut(document, helmrelease.HookAnnotation); ok && !knownHook(after) {
				line, _, _ := strings.Cut(strings.TrimLeft(after, `":' `), "\n")
				notes = append(notes, fmt.Sprintf("%s: Helm knows no hook %s and leaves the object out", file, strings.Trim(line, `"' `)))
			}
		}
	}
	if kept >= 0 {
		return nil
	}
	return notes
}

func knownHook(after string) bool {
	line, _, _ := strings.Cut(after, "\n")
	if !strings.HasPrefix(strings.TrimLeft(line, `"'`), ":") {
		return true // another annotation that begins the same, such as the weight
	}
	for hook := range strings.SplitSeq(strings.Trim(strings.TrimLeft(line, `"':`), ` "'`), ",") {
		switch strings.ToLower(strings.TrimSpace(hook)) {
		case "pre-install", "post-install", "pre-delete", "post-delete", "pre-upgrade", "post-upgrade", "pre-rollback", "post-rollback",
			"test", "test-success":
		default:
			return false
		}
	}
	return true
}

// capabilities is what templates see of the cluster: its version, and its APIs besides those that Helm always assumes.
func capabilities(of *chart.Chart, kube manifest.Kube) (*common.Capabilities, error) {
	caps := common.DefaultCapabilities.Copy()
	caps.HelmVersion.Version = version
	caps.APIVersions = slices.Concat(caps.APIVersions, kube.APIs)
	if kube.Version != "" {
		parsed, err := common.ParseKubeVersion(kube.Version)
		if err != nil {
			return nil, fault.Terminalf("InvalidKubeVersion", "reading the Kubernetes version %q: %w; correct helm.kubeVersion",
				kube.Version, err)
		}
		caps.KubeVersion = *parsed
	}
	if wanted := of.Metadata.KubeVersion; wanted != "" && !chartutil.IsCompatibleRange(wanted, caps.KubeVersion.String()) {
		return nil, fault.Terminalf("IncompatibleChart", "chart %s %s is for Kubernetes %s, and the cluster is %s; use another version of "+
			"the chart, or set helm.kubeVersion to have it rendered for another cluster", of.Name(), of.Metadata.Version, wanted,
			caps.KubeVersion.Version)
	}
	return caps, nil
}

// objects reads what the chart printed.
func (o Output) objects() (manifest.Result, error) {
	result := manifest.Result{Notes: o.Notes}
	for _, document := range o.Documents {
		read, err := manifest.ReadOutput(document.Source, []byte(document.Text))
		if err != nil {
			return manifest.Result{}, err
		}
		result.Objects = append(result.Objects, read.Objects...)
		result.Notes = append(result.Notes, read.Notes...)
	}
	return result, nil
}

// explain keeps the words of the engine, and leaves out the text that a `tpl` was given: it may be a secret.
func explain(err error) error {
	text := err.Error()
	for _, before := range []string{"error during tpl function execution for ", "cannot parse template "} {
		var out strings.Builder
		for {
			head, tail, ok := strings.Cut(text, before+`"`)
			out.WriteString(head)
			if !ok {
				break
			}
			out.WriteString(before + "its text")
			text = afterQuoted(tail)
		}
		text = out.String()
	}
	return errors.New(strings.TrimSpace(text))
}

// afterQuoted is what follows the end of a quoted text.
func afterQuoted(text string) string {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[i+1:]
		}
	}
	return ""
}

// discreet leaves out what a parser quotes if one of the files that it may be about is a Secret.
func discreet(err error, files map[string]string) error {
	text := err.Error()
	for file, content := range files {
		if strings.Contains(text, file) && strings.Contains(content, "Secret") {
			head, _, _ := strings.Cut(text, "`")
			return errors.New(strings.TrimSpace(head))
		}
	}
	return err
}
