package draft

import (
	"github.com/towline-cd/towline/api/v1alpha1"
)

// text is a flag that sets one field of the source.
func text(name, usage string, field func(*v1alpha1.ApplicationSource) *string) Flag {
	return Flag{Name: name, Usage: usage, set: func(t *target, v Value) error {
		*field(t.source) = v.Text
		return nil
	}}
}

var sourceFlags = []Flag{
	text("repo", "URL of the repository, or of the OCI artifact", func(s *v1alpha1.ApplicationSource) *string { return &s.RepoURL }),
	text("path", "folder in the repository", func(s *v1alpha1.ApplicationSource) *string { return &s.Path }),
	text("helm-chart", "chart of a Helm repository", func(s *v1alpha1.ApplicationSource) *string { return &s.Chart }),
	text("revision", "branch, tag, commit or version (default: HEAD)",
		func(s *v1alpha1.ApplicationSource) *string { return &s.TargetRevision }),
	text("ref", "name by which other sources reach the files of this one, as $NAME",
		func(s *v1alpha1.ApplicationSource) *string { return &s.Ref }),
	text("source-name", "name of the source", func(s *v1alpha1.ApplicationSource) *string { return &s.Name }),
}

// The blocks of the tools are made when the first of their flags is given.

func helm(t *target) *v1alpha1.ApplicationSourceHelm {
	if t.source.Helm == nil {
		t.source.Helm = &v1alpha1.ApplicationSourceHelm{}
	}
	return t.source.Helm
}

func kustomize(t *target) *v1alpha1.ApplicationSourceKustomize {
	if t.source.Kustomize == nil {
		t.source.Kustomize = &v1alpha1.ApplicationSourceKustomize{}
	}
	return t.source.Kustomize
}

func directory(t *target) *v1alpha1.ApplicationSourceDirectory {
	if t.source.Directory == nil {
		t.source.Directory = &v1alpha1.ApplicationSourceDirectory{}
	}
	return t.source.Directory
}

func plugin(t *target) *v1alpha1.ApplicationSourcePlugin {
	if t.source.Plugin == nil {
		t.source.Plugin = &v1alpha1.ApplicationSourcePlugin{}
	}
	return t.source.Plugin
}

// of are flags for the fields of one block.
type of[B any] func(*target) *B

func (b of[B]) text(name, usage string, field func(*B) *string) Flag {
	return Flag{Name: name, Usage: usage, set: func(t *target, v Value) error {
		*field(b(t)) = v.Text
		return nil
	}}
}

func (b of[B]) switched(name, usage string, field func(*B) *bool) Flag {
	return Flag{Name: name, Usage: usage, Kind: Switch, set: func(t *target, v Value) error {
		*field(b(t)) = v.On
		return nil
	}}
}

// list is a flag whose values take the place of what there is.
func (b of[B]) list(name, usage string, field func(*B) *[]string) Flag {
	return Flag{Name: name, Usage: usage, Kind: Texts, set: func(t *target, v Value) error {
		*field(b(t)) = v.Texts
		return nil
	}}
}

// pairs is a flag of NAME=VALUE that adds to what there is.
func (b of[B]) pairs(name, usage string, add func(block *B, name, value string) error) Flag {
	return Flag{Name: name, Usage: usage, Kind: Texts, set: func(t *target, v Value) error {
		block := b(t)
		return each(v.Texts, func(name, value string) error { return add(block, name, value) })
	}}
}

var (
	ofHelm      = of[v1alpha1.ApplicationSourceHelm](helm)
	ofKustomize = of[v1alpha1.ApplicationSourceKustomize](kustomize)
	ofDirectory = of[v1alpha1.ApplicationSourceDirectory](directory)
	ofPlugin    = of[v1alpha1.ApplicationSourcePlugin](plugin)
)

var directoryFlags = []Flag{
	ofDirectory.switched("directory-recurse", "also read the folders below",
		func(d *v1alpha1.ApplicationSourceDirectory) *bool { return &d.Recurse }),
	ofDirectory.text("directory-include", "glob of the files to read",
		func(d *v1alpha1.ApplicationSourceDirectory) *string { return &d.Include }),
	ofDirectory.text("directory-exclude", "glob of the files not to read",
		func(d *v1alpha1.ApplicationSourceDirectory) *string { return &d.Exclude }),
	jsonnet("jsonnet-tla-str", "top-level argument of jsonnet, as NAME=VALUE", false, tlas),
	jsonnet("jsonnet-tla-code", "top-level argument of jsonnet whose value is code", true, tlas),
	jsonnet("jsonnet-ext-var-str", "external variable of jsonnet, as NAME=VALUE", false, extVars),
	jsonnet("jsonnet-ext-var-code", "external variable of jsonnet whose value is code", true, extVars),
	ofDirectory.list("jsonnet-libs", "library folder of jsonnet",
		func(d *v1alpha1.ApplicationSourceDirectory) *[]string { return &d.Jsonnet.Libs }),
}

func tlas(d *v1alpha1.ApplicationSourceDirectory) *[]v1alpha1.JsonnetVar { return &d.Jsonnet.TLAs }

func extVars(d *v1alpha1.ApplicationSourceDirectory) *[]v1alpha1.JsonnetVar {
	return &d.Jsonnet.ExtVars
}

func jsonnet(name, usage string, code bool, field func(*v1alpha1.ApplicationSourceDirectory) *[]v1alpha1.JsonnetVar) Flag {
	return ofDirectory.pairs(name, usage, func(d *v1alpha1.ApplicationSourceDirectory, name, value string) error {
		vars := field(d)
		*vars = put(*vars, v1alpha1.JsonnetVar{Name: name, Value: value, Code: code},
			func(have v1alpha1.JsonnetVar) bool { return have.Name == name })
		return nil
	})
}

var pluginFlags = []Flag{
	ofPlugin.text("config-management-plugin", "name of the config management plugin",
		func(p *v1alpha1.ApplicationSourcePlugin) *string { return &p.Name }),
	ofPlugin.pairs("plugin-env", "variable of the plugin, as NAME=VALUE",
		func(p *v1alpha1.ApplicationSourcePlugin, name, value string) error {
			p.Env = put(p.Env, v1alpha1.EnvEntry{Name: name, Value: value}, func(have v1alpha1.EnvEntry) bool { return have.Name == name })
			return nil
		}),
}
