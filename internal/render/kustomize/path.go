package kustomize

import (
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/towline-cd/towline/internal/core/fault"
)

// paths goes through the files that a kustomization names: what is behind a URL is fetched, and what leads out of the
// repository is refused. Whether a file has to be in the folder itself is for the build to say.
func (p *pass) paths(found *file) error {
	data := &found.data
	each := func(field string, list []string) error {
		for i := range list {
			if err := p.path(found, field, &list[i]); err != nil {
				return err
			}
		}
		return nil
	}
	for field, list := range map[string][]string{"crds": data.Crds, "configurations": data.Configurations} {
		if err := each(field, list); err != nil {
			return err
		}
	}
	for i := range data.Patches {
		if err := p.path(found, "patches", &data.Patches[i].Path); err != nil {
			return err
		}
	}
	for i := range data.PatchesJson6902 {
		if err := p.path(found, "patchesJson6902", &data.PatchesJson6902[i].Path); err != nil {
			return err
		}
	}
	for i := range data.Replacements {
		if err := p.path(found, "replacements", &data.Replacements[i].Path); err != nil {
			return err
		}
	}
	for i, patch := range data.PatchesStrategicMerge {
		name := string(patch)
		if strings.Contains(name, "\n") {
			continue // written there itself
		}
		if err := p.path(found, "patchesStrategicMerge", &name); err != nil {
			return err
		}
		data.PatchesStrategicMerge[i] = types.PatchStrategicMerge(name)
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
		return fault.Terminalf("InvalidKustomization", "%s: %q leads out of %s; only files within it are read", why, *name, p.tree(found.dir))
	}
	// What was fetched is another's: it reads its own folders alone, whatever the installation allows for its users.
	if found.dir.mount != repo && to.path != found.dir.path && found.dir.path != "." && !strings.HasPrefix(to.path, found.dir.path+"/") {
		return fault.Terminalf("InvalidKustomization", "%s of %s: %q is not in or below the folder of the kustomization", why, p.tree(found.dir), *name)
	}
	return nil
}
