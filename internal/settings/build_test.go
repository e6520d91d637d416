package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/manifest"
)

func TestParseBuild(t *testing.T) {
	got := parse(map[string]string{
		"kustomize.buildOptions": " --enable-helm --load-restrictor LoadRestrictionsNone ", "kustomize.buildOptions.v5": "--x",
		"kustomize.path.v4": "/bin/kustomize", "helm.enable": "false", "jsonnet.enable": "perhaps",
		"helm.valuesFileSchemes": "https, s3",
	}, map[string]string{
		"reposerver.max.combined.directory.manifests.size": "20M", "reposerver.enable.git.submodule": "false",
	})
	want := manifest.Build{
		KustomizeOptions: "--enable-helm --load-restrictor LoadRestrictionsNone", NoHelm: true,
		ValuesSchemes: []string{"https", "s3"}, MaxDirectoryBytes: 20_000_000,
	}
	if d := cmp.Diff(want, got.Build); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if !got.Fetching.NoSubmodules {
		t.Error("submodules are still read")
	}
	if d := cmp.Diff([]string{"kustomize.buildOptions.v5", "kustomize.path.v4"}, got.NotHonoured); d != "" {
		t.Errorf("not honoured (-want +got)\n%s", d)
	}
	if d := cmp.Diff([]string{`jsonnet.enable: "perhaps" is neither true nor false; using true`}, got.Problems); d != "" {
		t.Errorf("problems (-want +got)\n%s", d)
	}
	if d := cmp.Diff(manifest.Build{}, Default().Build); d != "" {
		t.Errorf("by default (-want +got)\n%s", d)
	}
}
