package kustomize

import (
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
)

// named is a file that a field of a kustomization names.
type named struct {
	field string
	name  *string
}

// files are the files that a kustomization names, besides those of its generators.
func files(of *types.Kustomization) []named {
	var out []named
	add := func(field string, name *string) { out = append(out, named{field, name}) }
	for i := range of.Crds {
		add("crds", &of.Crds[i])
	}
	for i := range of.Configurations {
		add("configurations", &of.Configurations[i])
	}
	for i := range of.Patches {
		add("patches", &of.Patches[i].Path)
	}
	for i := range of.Replacements {
		add("replacements", &of.Replacements[i].Path)
	}
	for i := range of.PatchesJson6902 { //nolint:staticcheck // old, and still read by kustomize
		add("patchesJson6902", &of.PatchesJson6902[i].Path) //nolint:staticcheck // old, and still read by kustomize
	}
	for i := range of.PatchesStrategicMerge { //nolint:staticcheck // old, and still read by kustomize
		patch := (*string)(&of.PatchesStrategicMerge[i]) //nolint:staticcheck // old, and still read by kustomize
		if !strings.Contains(*patch, "\n") {             // else it is written there itself
			add("patchesStrategicMerge", patch)
		}
	}
	return out
}

// paths goes through the files that a kustomization names: what is behind a URL is fetched, and what leads out of the
// repository is refused. Whether a file has to be in the folder itself is for the build to say.
func (p *pass) paths(found *file) error {
	data := &found.data
	for _, file := range files(data) {
		if err := p.path(found, file.field, file.name); err != nil {
			return err
		}
	}
	for i := range data.ConfigMapGenerator {
		if err := p.sources(found, "configMapGenerator", &data.ConfigMapGenerator[i].KvPairSources); err != nil {
			return err
		}
	}
	for i := range data.SecretGenerator {
		p.conceal(data.SecretGenerator[i].LiteralSources)
		if err := p.sources(found, "secretGenerator", &data.SecretGenerator[i].KvPairSources); err != nil {
			return err
		}
	}
	if schema := data.OpenAPI["path"]; schema != "" {
		if err := p.path(found, "openapi", &schema); err != nil {
			return err
		}
		data.OpenAPI["path"] = schema
	}
	return nil
}

// sources are the files of a generator, written as [key=]path.
func (p *pass) sources(found *file, field string, of *types.KvPairSources) error {
	for i := range of.EnvSources {
		if err := p.path(found, field, &of.EnvSources[i]); err != nil {
			return err
		}
	}
	for i, source := range of.FileSources {
		key, name, ok := strings.Cut(source, "=")
		if !ok {
			key, name = path.Base(source), source
		}
		before := name
		if err := p.path(found, field, &name); err != nil {
			return err
		}
		if name != before {
			of.FileSources[i] = key + "=" + name
		}
	}
	return nil
}

// path looks at one file, and writes it as the build finds it.
func (p *pass) path(found *file, field string, name *string) error {
	if *name == "" {
		return nil
	}
	why := fmt.Sprintf("%s: %s", found, field)
	if strings.HasPrefix(*name, "http://") || strings.HasPrefix(*name, "https://") {
		_, rest, _ := strings.Cut(*name, "://")
		if err := checkHost(*name, rest); err != nil {
			return fmt.Errorf("%s: %w", why, err)
		}
		need := remote{file: true, url: *name}.need(why)
		if !p.need(need) {
			return nil
		}
		written, err := p.fetched(found, need)
		if err != nil {
			return err
		}
		*name, found.changed = written, true
		return nil
	}
	to, ok := found.dir.join(*name)
	if !ok {
		return invalid("%s: %q leads out of %s; only files within it are read", why, *name, p.tree(found.dir))
	}
	// What was fetched is another's: it reads its own folders alone, whatever the installation allows for its users.
	if found.dir.mount != repo && !found.dir.holds(to.path) {
		return invalid("%s of %s: %q is not in or below the folder of the kustomization", why, p.tree(found.dir), *name)
	}
	return nil
}
