package server

import (
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// content is where to look for what a request is about.
func (s *Server) content(req *Request) (manifest.Origin, error) {
	if s.Sources == nil {
		return manifest.Origin{}, absent("the content of repositories")
	}
	r := req.repository()
	return manifest.Origin{
		RepoURL: r.URL, Project: cmp.Or(req.Text("appProject"), r.Project), Revision: req.Text("revision"),
	}, nil
}

// Refs are the branches and tags of a repository.
type Refs struct {
	Branches []string `json:"branches"`
	Tags     []string `json:"tags"`
}

func (s *Server) refs(req *Request) (any, error) {
	of, err := s.content(req)
	if err != nil {
		return nil, err
	}
	branches, tags, err := s.Sources.Refs(req, of)
	return Refs{Branches: filled(branches), Tags: filled(tags)}, err
}

func (s *Server) ociTags(req *Request) (any, error) {
	of, err := s.content(req)
	if err != nil {
		return nil, err
	}
	tags, err := s.Sources.Tags(req, of)
	return Refs{Branches: []string{}, Tags: filled(tags)}, err
}

func filled(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// HelmChart is a chart of a repository.
type HelmChart struct {
	Name     string   `json:"name"`
	Versions []string `json:"versions"`
}

func (s *Server) helmCharts(req *Request) (any, error) {
	of, err := s.content(req)
	if err != nil {
		return nil, err
	}
	charts, err := s.Sources.Charts(req, of)
	if err != nil {
		return nil, err
	}
	out := Items[HelmChart]{Items: []HelmChart{}}
	for _, name := range slices.Sorted(maps.Keys(charts)) {
		out.Items = append(out.Items, HelmChart{Name: name, Versions: charts[name]})
	}
	return out, nil
}

// RepoApp is a folder that could be an application.
type RepoApp struct {
	Type string `json:"type"`
	Path string `json:"path"`
}

// mostFolders bounds how much of a repository is looked through.
const mostFolders = 20_000

// repoApps are the folders of a repository that a tool knows by their files.
func (s *Server) repoApps(req *Request) (any, error) {
	of, err := s.content(req)
	if err != nil {
		return nil, err
	}
	tree, err := s.Sources.Tree(req, of)
	if err != nil {
		return nil, err
	}
	defer closeTree(tree)
	out := Items[RepoApp]{Items: []RepoApp{}}
	seen := 0
	err = fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir
		}
		if seen++; seen > mostFolders {
			return fs.SkipAll
		}
		if e.IsDir() {
			return req.Err()
		}
		switch path.Base(name) {
		case "Chart.yaml":
			out.Items = append(out.Items, RepoApp{Type: string(v1alpha1.SourceTypeHelm), Path: path.Dir(name)})
		case "kustomization.yaml", "kustomization.yml", "Kustomization":
			out.Items = append(out.Items, RepoApp{Type: string(v1alpha1.SourceTypeKustomize), Path: path.Dir(name)})
		}
		return nil
	})
	return out, err
}

// AppDetailsQuery asks what a folder of a repository is.
type AppDetailsQuery struct {
	Source     v1alpha1.ApplicationSource `json:"source"`
	AppName    string                     `json:"appName,omitempty"`
	AppProject string                     `json:"appProject,omitempty"`
}

// AppDetails is what a folder of a repository is.
type AppDetails struct {
	Type      string            `json:"type"`
	Path      string            `json:"path"`
	Helm      *HelmDetails      `json:"helm,omitempty"`
	Kustomize *KustomizeDetails `json:"kustomize,omitempty"`
	Directory *nothing          `json:"directory,omitempty"`
}

// HelmDetails is what can be set in a chart.
type HelmDetails struct {
	Name       string      `json:"name,omitempty"`
	ValueFiles []string    `json:"valueFiles,omitempty"`
	Values     string      `json:"values,omitempty"`
	Parameters []HelmValue `json:"parameters,omitempty"`
}

// HelmValue is a value of a chart.
type HelmValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// KustomizeDetails is what can be set in a kustomization.
type KustomizeDetails struct {
	Images []string `json:"images,omitempty"`
}

func (s *Server) appDetails(req *Request) (any, error) {
	var q AppDetailsQuery
	if err := req.Body(&q); err != nil {
		return nil, err
	}
	of, err := s.content(req)
	if err != nil {
		return nil, err
	}
	of.Revision, of.Chart = cmp.Or(q.Source.TargetRevision, of.Revision), q.Source.Chart
	tree, err := s.Sources.Tree(req, of)
	if err != nil {
		return nil, err
	}
	defer closeTree(tree)
	dir := strings.Trim(path.Clean("/"+q.Source.Path), "/")
	if dir == "" {
		dir = "."
	}
	return detailsOf(tree, dir, cmp.Or(q.Source.Path, q.Source.Chart))
}

func detailsOf(tree fs.FS, dir, shown string) (any, error) {
	entries, err := fs.ReadDir(tree, dir)
	if err != nil {
		return nil, notFound("the path is not in the repository")
	}
	out := AppDetails{Type: string(v1alpha1.SourceTypeDirectory), Path: shown, Directory: &nothing{}}
	var values []string
	for _, e := range entries {
		name := e.Name()
		switch {
		case name == "Chart.yaml":
			out.Type, out.Directory, out.Helm = string(v1alpha1.SourceTypeHelm), nil, &HelmDetails{}
		case slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, name) && out.Helm == nil:
			out.Type, out.Directory, out.Kustomize = string(v1alpha1.SourceTypeKustomize), nil, kustomizeOf(tree, path.Join(dir, name))
		case strings.Contains(strings.ToLower(name), "values") && (strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")):
			values = append(values, name)
		}
	}
	if out.Helm != nil {
		out.Kustomize, out.Helm.ValueFiles = nil, values
		helmOf(tree, dir, out.Helm)
	}
	return out, nil
}

// mostValues bounds the values of a chart that are told.
const mostValues = 256 << 10

func helmOf(tree fs.FS, dir string, into *HelmDetails) {
	var chart struct {
		Name string `json:"name"`
	}
	if data, err := fs.ReadFile(tree, path.Join(dir, "Chart.yaml")); err == nil && yaml.Unmarshal(data, &chart) == nil {
		into.Name = chart.Name
	}
	data, err := fs.ReadFile(tree, path.Join(dir, "values.yaml"))
	if err != nil || len(data) > mostValues {
		return
	}
	into.Values = strings.ToValidUTF8(string(data), "\ufffd")
	var values map[string]any
	if yaml.Unmarshal(data, &values) == nil {
		flatten("", values, &into.Parameters)
	}
}

// flatten lists values by their paths, as Helm's --set names them.
func flatten(at string, values map[string]any, into *[]HelmValue) {
	for _, k := range slices.Sorted(maps.Keys(values)) {
		name := strings.TrimPrefix(at+"."+k, ".")
		if below, ok := values[k].(map[string]any); ok {
			flatten(name, below, into)
			continue
		}
		if text, err := yaml.Marshal(values[k]); err == nil {
			*into = append(*into, HelmValue{Name: name, Value: strings.TrimRight(string(text), "\n")})
		}
	}
}

func kustomizeOf(tree fs.FS, name string) *KustomizeDetails {
	var k struct {
		Images []struct {
			Name    string `json:"name"`
			NewName string `json:"newName"`
			NewTag  string `json:"newTag"`
		} `json:"images"`
	}
	out := &KustomizeDetails{}
	data, err := fs.ReadFile(tree, name)
	if err != nil || yaml.Unmarshal(data, &k) != nil {
		return out
	}
	for _, i := range k.Images {
		text := cmp.Or(i.NewName, i.Name)
		if i.NewTag != "" {
			text += ":" + i.NewTag
		}
		out.Images = append(out.Images, text)
	}
	return out
}
