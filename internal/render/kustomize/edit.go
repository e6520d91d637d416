package kustomize

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	imageutil "sigs.k8s.io/kustomize/api/pkg/util"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
)

// edit puts what the Application says into its kustomization file, as Argo CD does with `kustomize edit`; here the file
// is only in memory.
func (p *pass) edit(found *file, of *v1alpha1.ApplicationSourceKustomize) error {
	k := &found.data
	k.NamePrefix, k.NameSuffix = cmp.Or(of.NamePrefix, k.NamePrefix), cmp.Or(of.NameSuffix, k.NameSuffix)
	k.Namespace = cmp.Or(of.Namespace, k.Namespace)
	if err := editImages(k, of.Images); err != nil {
		return err
	}
	if err := editReplicas(k, of.Replicas); err != nil {
		return err
	}
	if err := editLabels(k, of); err != nil {
		return err
	}
	if err := editAnnotations(k, of); err != nil {
		return err
	}
	for _, patch := range of.Patches {
		k.Patches = append(k.Patches, patchOf(patch))
	}
	if err := p.editComponents(found, of); err != nil {
		return err
	}
	found.changed = of.NamePrefix != "" || of.NameSuffix != "" || of.Namespace != "" || len(of.Images) > 0 || len(of.Replicas) > 0 ||
		len(of.CommonLabels) > 0 || len(of.CommonAnnotations) > 0 || len(of.Patches) > 0 || len(of.Components) > 0
	if p.req.Build.Origins && !slices.Contains(k.BuildMetadata, types.OriginAnnotations) {
		k.BuildMetadata, found.changed = append(k.BuildMetadata, types.OriginAnnotations), true
	}
	return nil
}

// keep stands for the part of an image that stays as the kustomization has it.
const keep = "*"

func editImages(k *types.Kustomization, images []string) error {
	if len(images) == 0 {
		return nil
	}
	byName := map[string]types.Image{}
	for _, written := range images {
		image, err := parseImage(written)
		if err != nil {
			return err
		}
		byName[image.Name] = image
	}
	for _, old := range k.Images {
		image, ok := byName[old.Name]
		if !ok {
			byName[old.Name] = old
			continue
		}
		byName[old.Name] = types.Image{
			Name: image.Name, NewName: kept(image.NewName, old.NewName), NewTag: kept(image.NewTag, old.NewTag),
			Digest: kept(image.Digest, old.Digest),
		}
	}
	k.Images = nil
	for _, image := range byName {
		image.NewName, image.NewTag, image.Digest = kept(image.NewName, ""), kept(image.NewTag, ""), kept(image.Digest, "")
		k.Images = append(k.Images, image)
	}
	slices.SortFunc(k.Images, func(a, b types.Image) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

func kept(value, old string) string {
	if value == keep {
		return old
	}
	return value
}

// parseImage reads [old=]name[:tag][@digest].
func parseImage(written string) (types.Image, error) {
	old, value, renamed := strings.Cut(written, "=")
	if !renamed {
		value = written
	}
	name, tag, digest := imageutil.SplitImageName(value)
	if name == written {
		return types.Image{}, fault.Terminalf("InvalidImage", "kustomize.images has %q, which changes nothing; write it as "+
			"[old=]name[:tag][@digest]", written)
	}
	if renamed {
		return types.Image{Name: old, NewName: name, NewTag: tag, Digest: digest}, nil
	}
	return types.Image{Name: name, NewTag: tag, Digest: digest}, nil
}

func editReplicas(k *types.Kustomization, replicas []v1alpha1.KustomizeReplica) error {
	if len(replicas) == 0 {
		return nil
	}
	byName := map[string]types.Replica{}
	for _, old := range k.Replicas {
		byName[old.Name] = old
	}
	for _, replica := range replicas {
		count := int64(replica.Count.IntVal)
		if replica.Count.Type == intstr.String {
			parsed, err := strconv.ParseInt(replica.Count.StrVal, 10, 64)
			if err != nil {
				return fault.Terminalf("InvalidReplicas", "kustomize.replicas: the count of %q is %q and not a number",
					replica.Name, replica.Count.StrVal)
			}
			count = parsed
		}
		byName[replica.Name] = types.Replica{Name: replica.Name, Count: count}
	}
	k.Replicas = nil
	for _, replica := range byName {
		k.Replicas = append(k.Replicas, replica)
	}
	slices.SortFunc(k.Replicas, func(a, b types.Replica) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

func editLabels(k *types.Kustomization, of *v1alpha1.ApplicationSourceKustomize) error {
	if len(of.CommonLabels) == 0 {
		return nil
	}
	if !of.LabelWithoutSelector {
		if of.LabelIncludeTemplates {
			return fault.Terminalf("InvalidLabels", "kustomize.labelIncludeTemplates has a meaning only with labelWithoutSelector; "+
				"set both or neither")
		}
		common := &k.CommonLabels //nolint:staticcheck // old, and what Argo CD fills
		if *common == nil {
			*common = map[string]string{}
		}
		return add("commonLabels", *common, of.CommonLabels, of.ForceCommonLabels)
	}
	at := slices.IndexFunc(k.Labels, func(label types.Label) bool {
		return !label.IncludeSelectors && label.IncludeTemplates == of.LabelIncludeTemplates
	})
	if at < 0 {
		at = len(k.Labels)
		k.Labels = append(k.Labels, types.Label{IncludeTemplates: of.LabelIncludeTemplates})
	}
	if k.Labels[at].Pairs == nil {
		k.Labels[at].Pairs = map[string]string{}
	}
	return add("commonLabels", k.Labels[at].Pairs, of.CommonLabels, of.ForceCommonLabels)
}

func editAnnotations(k *types.Kustomization, of *v1alpha1.ApplicationSourceKustomize) error {
	if len(of.CommonAnnotations) == 0 {
		return nil
	}
	if k.CommonAnnotations == nil {
		k.CommonAnnotations = map[string]string{}
	}
	return add("commonAnnotations", k.CommonAnnotations, of.CommonAnnotations, of.ForceCommonAnnotations)
}

// add puts pairs into those of the kustomization. What is there already is replaced only by force.
func add(field string, to, pairs map[string]string, force bool) error {
	for key, value := range pairs {
		if _, ok := to[key]; ok && !force {
			return fault.Terminalf("InvalidLabels", "kustomize.%s sets %q, which the kustomization sets already; set force%s to "+
				"replace it, "+
				"or remove one of the two", field, key, strings.ToUpper(field[:1])+field[1:])
		}
		if len(value) > 1 && strings.HasPrefix(value, `"`) && strings.HasSuffix(value, `"`) {
			value = value[1 : len(value)-1] // as the command line of kustomize takes it
		}
		to[key] = value
	}
	return nil
}

func patchOf(written v1alpha1.KustomizePatch) types.Patch {
	patch := types.Patch{Path: written.Path, Patch: written.Patch}
	if target := written.Target; target != nil {
		patch.Target = &types.Selector{
			ResId: resid.ResId{
				Gvk: resid.Gvk{Group: target.Group, Version: target.Version, Kind: target.Kind}, Name: target.Name,
				Namespace: target.Namespace,
			},
			AnnotationSelector: target.AnnotationSelector, LabelSelector: target.LabelSelector,
		}
	}
	if written.Options != nil {
		patch.Options = &types.PatchArgs{
			AllowNameChange: written.Options["allowNameChange"], AllowKindChange: written.Options["allowKindChange"],
		}
	}
	return patch
}

func (p *pass) editComponents(found *file, of *v1alpha1.ApplicationSourceKustomize) error {
	for _, written := range of.Components {
		names, err := p.components(found, written)
		if err != nil {
			return err
		}
		if len(names) == 0 && !of.IgnoreMissingComponents {
			return fault.Terminalf("ComponentMissing", "kustomize.components has %q, and there is none; correct the path (it is "+
				"relative to the "+
				"source's path) or set ignoreMissingComponents", written)
		}
		for _, name := range names {
			if !slices.Contains(found.data.Components, name) {
				found.data.Components = append(found.data.Components, name)
			}
		}
	}
	return nil
}

// components are the folders that an entry means; it may be a pattern.
func (p *pass) components(found *file, written string) ([]string, error) {
	if _, isRemote, err := parseRemote(written); err != nil || isRemote {
		return []string{written}, err
	}
	to, ok := found.dir.join(written)
	if !ok {
		return nil, fault.Terminalf("InvalidPath", "kustomize.components has %q, which leads out of the repository", written)
	}
	if p.disk.IsDir(to.String()) {
		return []string{written}, nil
	}
	if !strings.ContainsAny(written, "*?[") {
		return nil, nil
	}
	matches, err := fs.Glob(p.disk.mounts[to.mount].tree, to.path)
	if err != nil {
		return nil, fault.Terminalf("InvalidPattern", "kustomize.components has %q: %w", written, err)
	}
	up := strings.Repeat("../", len(strings.Split(found.dir.path, "/")))
	if found.dir.path == "." {
		up = ""
	}
	for i := range matches {
		matches[i] = path.Join(up, matches[i])
	}
	return matches, nil
}
