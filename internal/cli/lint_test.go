package cli_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/lint"
)

func TestLint(t *testing.T) {
	const mistaken = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec:
  project: default
  source: {repoURL: https://git.example.com/shop, path: web, targetRevision: gone}
  destination: {name: in-cluster}
  syncPolicy: {syncOptions: [ApplyOutOfSyncOnly=true]}
`
	tests := map[string]struct {
		args []string
		code int
		want []string
	}{
		"a warning is no failure": {args: []string{"apps"}, code: 0, want: []string{"apps/a.yaml:8: warning:", "instead: ", "1 warning"}},
		"unless one is strict":    {args: []string{"apps", "--strict"}, code: 1, want: []string{"[apply-out-of-sync-only]"}},
		"a check may be left out": {args: []string{"apps", "--strict", "--skip", "apply-out-of-sync-only"}, code: 0, want: []string{"0 errors, 0 warnings"}},
		"a branch that is gone":   {args: []string{"apps", "--repo", "clone"}, code: 1, want: []string{"apps/a.yaml:6: error:", `no branch or tag "gone"`}},
		"for programs":            {args: []string{"apps", "-o", "json"}, code: 0, want: []string{`"check": "apply-out-of-sync-only"`, `"line": 8`}},
		"the list":                {args: []string{"--list"}, code: 0, want: []string{"target-revision"}},
		"nothing to look at":      {args: nil, code: 2},
		"no such check":           {args: []string{"apps", "--skip", "x"}, code: 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			env := &cli.Env{
				Out: &out, Err: &errOut, In: strings.NewReader(""), Getenv: func(string) string { return "" },
				CheckSettings: func(map[string]string) cli.SettingsReport { return cli.SettingsReport{} },
				Manifests: func(folder string) ([]lint.File, error) {
					return []lint.File{{Name: folder + "/a.yaml", Text: []byte(mistaken)}}, nil
				},
				Clone: func(context.Context, string) (lint.Repository, error) {
					return lint.Repository{URLs: []string{"https://git.example.com/shop.git"}, Refs: []string{"main"}, Head: "main"}, nil
				},
			}
			cmd := cli.NewLint(env)
			cmd.SetArgs(tc.args)
			if code := cli.ExitCode(cmd.ExecuteContext(t.Context())); code != tc.code {
				t.Errorf("exit code %d, want %d\n%s%s", code, tc.code, out.String(), errOut.String())
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not in\n%s", want, out.String())
				}
			}
		})
	}
}
