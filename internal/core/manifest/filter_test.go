package manifest_test

import (
	"strings"
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

func TestFilter(t *testing.T) {
	tests := map[string]struct {
		req      v1alpha1.ApplicationSourceDirectory
		takes    []string
		leavesTo []string
	}{
		"by extension": {
			takes:    []string{"a.yaml", "a.yml", "a.json", "a.jsonnet", "b/c/a.yaml", ".hidden.yaml"},
			leavesTo: []string{"a.txt", "yaml", "a.yaml.gotmpl", "README.md", "a.YAML"},
		},
		"every extension": {
			req:   v1alpha1.ApplicationSourceDirectory{DisableExtensionFilter: true},
			takes: []string{"a.txt", "README", "a.yaml"},
		},
		"include": {
			req:      v1alpha1.ApplicationSourceDirectory{Include: "*.yaml"},
			takes:    []string{"a.yaml", "b/c.yaml"},
			leavesTo: []string{"a.yml", "a.json"},
		},
		"include of alternatives": {
			req:      v1alpha1.ApplicationSourceDirectory{Include: "{a.yaml,b/*.yaml}"},
			takes:    []string{"a.yaml", "b/c.yaml", "b/c/d.yaml"},
			leavesTo: []string{"c.yaml", "x/a.yaml", "b/c.json"},
		},
		"exclude goes before include": {
			req:      v1alpha1.ApplicationSourceDirectory{Include: "*.yaml", Exclude: "{secret*,test/*}"},
			takes:    []string{"a.yaml", "b/secret.yaml"},
			leavesTo: []string{"secret.yaml", "secrets/a.yaml", "test/a.yaml"},
		},
		"nested alternatives, classes and quoted characters": {
			req:      v1alpha1.ApplicationSourceDirectory{Include: `{x{1,2},[{,]y,\{z}.yaml`},
			takes:    []string{"x1.yaml", "x2.yaml", "{y.yaml", ",y.yaml", "{z.yaml"},
			leavesTo: []string{"x.yaml", "y.yaml", "z.yaml"},
		},
		"a pattern that would take the matcher for ever": {
			req:      v1alpha1.ApplicationSourceDirectory{Exclude: strings.Repeat("{*a,a*}", 10) + "c*"},
			takes:    []string{strings.Repeat("a", 250) + ".yaml"},
			leavesTo: []string{strings.Repeat("a", 10) + "c.yaml"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			filter, err := manifest.NewFilter(&tc.req)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range tc.takes {
				if !filter.Match(path) {
					t.Errorf("Match(%q) = false", path)
				}
			}
			for _, path := range tc.leavesTo {
				if filter.Match(path) {
					t.Errorf("Match(%q) = true", path)
				}
			}
		})
	}
}

func TestFilterRefusesPattern(t *testing.T) {
	tests := map[string]struct {
		req  v1alpha1.ApplicationSourceDirectory
		want string
	}{
		"include": {v1alpha1.ApplicationSourceDirectory{Include: "{a"}, `reading directory.include "{a"`},
		"exclude": {v1alpha1.ApplicationSourceDirectory{Exclude: "["}, `reading directory.exclude "["`},
		"long":    {v1alpha1.ApplicationSourceDirectory{Exclude: strings.Repeat("a", 1<<20)}, "the limit is"},
		"many":    {v1alpha1.ApplicationSourceDirectory{Include: strings.Repeat("{a,b}", 13)}, "write fewer alternatives"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := manifest.NewFilter(&tc.req)
			if err == nil || !strings.Contains(err.Error(), tc.want) || fault.ClassOf(err) != fault.Terminal {
				t.Errorf("NewFilter = %v (%v), want a Terminal fault with %q", err, fault.ClassOf(err), tc.want)
			}
		})
	}
}
