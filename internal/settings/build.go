package settings

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// Fetching is how repositories are read.
type Fetching struct {
	// NoSubmodules leaves their folders empty.
	NoSubmodules bool
	// GitTimeout bounds one run of git; zero is what git's store takes.
	GitTimeout time.Duration
}

// building is what the settings say about rendering and fetching.
type building struct {
	build                 manifest.Build
	fetching              Fetching
	problems, notHonoured []string
}

var buildKeys = []string{
	v1alpha1.KeyKustomizeEnable, v1alpha1.KeyKustomizeBuildOptions, v1alpha1.KeyHelmEnable,
	v1alpha1.KeyHelmValuesFileSchemes, v1alpha1.KeyJsonnetEnable,
}

// builds says that a key is read here.
func builds(key string) bool {
	return slices.Contains(buildKeys, key) || strings.HasPrefix(key, v1alpha1.KeyKustomizeBuildOptionsPrefix) ||
		strings.HasPrefix(key, v1alpha1.KeyKustomizePathPrefix) || strings.HasPrefix(key, v1alpha1.KeyKustomizeVersionPrefix)
}

// parseBuild reads what argocd-cm and argocd-cmd-params-cm say about rendering.
func parseBuild(data, params map[string]string) building {
	var b building
	off := func(from map[string]string, key string) bool {
		text := from[key]
		if text == "" {
			return false
		}
		on, err := strconv.ParseBool(text)
		if err != nil {
			b.problems = append(b.problems, fmt.Sprintf("%s: %q is neither true nor false; using true", key, text))
		}
		return err == nil && !on
	}
	b.build = manifest.Build{
		KustomizeOptions: strings.TrimSpace(data[v1alpha1.KeyKustomizeBuildOptions]),
		NoHelm:           off(data, v1alpha1.KeyHelmEnable),
		NoKustomize:      off(data, v1alpha1.KeyKustomizeEnable),
		NoJsonnet:        off(data, v1alpha1.KeyJsonnetEnable),
	}
	b.fetching.NoSubmodules = off(params, v1alpha1.KeyParamGitSubmodule)
	if text := params[v1alpha1.KeyParamGitRequestTimeout]; text != "" {
		d, err := duration(text)
		if err != nil {
			b.problems = append(b.problems, fmt.Sprintf("%s: %v", v1alpha1.KeyParamGitRequestTimeout, err))
		}
		b.fetching.GitTimeout = d
	}
	if text, set := data[v1alpha1.KeyHelmValuesFileSchemes]; set {
		b.build.ValuesSchemes = append([]string{}, words(strings.ToLower(text))...)
	}
	if text := params[v1alpha1.KeyParamMaxManifestSize]; text != "" {
		q, err := resource.ParseQuantity(text)
		if err != nil || q.Value() < 0 {
			b.problems = append(b.problems, fmt.Sprintf("%s: %q is not a size like 10M; using 10M", v1alpha1.KeyParamMaxManifestSize, text))
		} else {
			b.build.MaxDirectoryBytes = q.Value()
		}
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		// One version of kustomize is built in.
		if builds(key) && !slices.Contains(buildKeys, key) {
			b.notHonoured = append(b.notHonoured, key)
		}
	}
	return b
}
