package draft

import (
	"fmt"
	"slices"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// UnsetFlags are those that take parts of a source away.
func UnsetFlags() []Flag {
	out := slices.Clone(unsetFlags)
	for i := range out {
		out[i].Source = true
	}
	return out
}

// Unset takes away what the flags say, of the source at a position as Change counts them. What is not there is no mistake.
func Unset(spec *v1alpha1.ApplicationSpec, at int, typed Typed) error {
	return run(UnsetFlags(), spec, at, typed)
}

// drop is a flag that clears something of a block, if there is one.
func drop[B any](name, usage string, block func(*v1alpha1.ApplicationSource) *B, wipe func(*B)) Flag {
	return Flag{Name: name, Usage: usage, Kind: Switch, set: func(t *target, v Value) error {
		if b := block(t.source); b != nil && v.On {
			wipe(b)
		}
		return nil
	}}
}

// dropEach is a flag that takes away the items that are named. Each must be a name, so that a slip is told.
func dropEach[B, I any](f Flag, block func(*v1alpha1.ApplicationSource) *B, list func(*B) *[]I, fits func(item I, name string) bool) Flag {
	f.Kind = Texts
	f.set = func(t *target, v Value) error {
		for _, name := range v.Texts {
			if name == "" {
				return fmt.Errorf("%q is no name", name)
			}
			if b := block(t.source); b != nil {
				items := list(b)
				*items = slices.DeleteFunc(*items, func(item I) bool { return fits(item, name) })
			}
		}
		return nil
	}
	return f
}

func helmOf(s *v1alpha1.ApplicationSource) *v1alpha1.ApplicationSourceHelm { return s.Helm }

func kustomizeOf(s *v1alpha1.ApplicationSource) *v1alpha1.ApplicationSourceKustomize {
	return s.Kustomize
}

var unsetFlags = []Flag{
	dropEach(Flag{Name: "parameter", Short: "p", Usage: "take this value of a chart away"}, helmOf,
		func(h *v1alpha1.ApplicationSourceHelm) *[]v1alpha1.HelmParameter { return &h.Parameters },
		func(p v1alpha1.HelmParameter, name string) bool { return p.Name == name }),
	dropEach(Flag{Name: "values", Usage: "take this file of values away"}, helmOf,
		func(h *v1alpha1.ApplicationSourceHelm) *[]string { return &h.ValueFiles },
		func(file, name string) bool { return file == name }),
	drop("values-literal", "take the values that stand in the application away", helmOf, func(h *v1alpha1.ApplicationSourceHelm) {
		h.Values, h.ValuesObject = "", nil
	}),
	drop("ignore-missing-value-files", "files of values have to be there again", helmOf, func(h *v1alpha1.ApplicationSourceHelm) {
		h.IgnoreMissingValueFiles = false
	}),
	drop("pass-credentials", "send no login to other hosts", helmOf, func(h *v1alpha1.ApplicationSourceHelm) { h.PassCredentials = false }),
	drop("nameprefix", "take the prefix of names away", kustomizeOf, func(k *v1alpha1.ApplicationSourceKustomize) { k.NamePrefix = "" }),
	drop("namesuffix", "take the suffix of names away", kustomizeOf, func(k *v1alpha1.ApplicationSourceKustomize) { k.NameSuffix = "" }),
	drop("kustomize-version", "take the version of kustomize away", kustomizeOf, func(k *v1alpha1.ApplicationSourceKustomize) {
		k.Version = ""
	}),
	drop("kustomize-namespace", "take the namespace of kustomize away", kustomizeOf, func(k *v1alpha1.ApplicationSourceKustomize) {
		k.Namespace = ""
	}),
	drop("ignore-missing-components", "components have to be there again", kustomizeOf, func(k *v1alpha1.ApplicationSourceKustomize) {
		k.IgnoreMissingComponents = false
	}),
	dropEach(Flag{Name: "kustomize-image", Usage: "take this image away"}, kustomizeOf,
		func(k *v1alpha1.ApplicationSourceKustomize) *[]string { return &k.Images },
		func(image, name string) bool { return image == name || imageName(image) == name }),
	dropEach(Flag{Name: "kustomize-replica", Usage: "take the replicas of this workload away"}, kustomizeOf,
		func(k *v1alpha1.ApplicationSourceKustomize) *[]v1alpha1.KustomizeReplica { return &k.Replicas },
		func(r v1alpha1.KustomizeReplica, name string) bool { return r.Name == name }),
	dropEach(Flag{Name: "plugin-env", Usage: "take this variable of the plugin away"},
		func(s *v1alpha1.ApplicationSource) *v1alpha1.ApplicationSourcePlugin { return s.Plugin },
		func(p *v1alpha1.ApplicationSourcePlugin) *[]v1alpha1.EnvEntry { return &p.Env },
		func(e v1alpha1.EnvEntry, name string) bool { return e.Name == name }),
	drop("ref", "take the name by which other sources reach it away",
		func(s *v1alpha1.ApplicationSource) *v1alpha1.ApplicationSource { return s },
		func(s *v1alpha1.ApplicationSource) { s.Ref = "" }),
}
