package settings

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/policy"
)

// tenancyKeys are the keys of argocd-cm that parseTenancy reads.
var tenancyKeys = []string{v1alpha1.KeyGlobalProjects, v1alpha1.KeyImpersonationEnabled, v1alpha1.KeyImpersonationEnforced}

// parseTenancy reads what argocd-cm says of all projects. What cannot be read
// leaves a project with fewer rights, never with more.
func parseTenancy(data map[string]string, byLetter bool) (policy.Tenancy, []string) {
	t := policy.Tenancy{ByLetter: byLetter}
	var problems []string
	flag := func(key string, safe bool) bool {
		text := data[key]
		if text == "" {
			return false
		}
		on, err := strconv.ParseBool(text)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %q is neither true nor false; using %t", key, text, safe))
			return safe
		}
		return on
	}
	t.Impersonate = flag(v1alpha1.KeyImpersonationEnabled, true)
	// It is enforced unless somebody says that it is not.
	t.Optional = data[v1alpha1.KeyImpersonationEnforced] != "" && !flag(v1alpha1.KeyImpersonationEnforced, true)
	var globals []struct {
		ProjectName   string               `json:"projectName"`
		LabelSelector metav1.LabelSelector `json:"labelSelector"`
	}
	if err := yaml.UnmarshalStrict([]byte(data[v1alpha1.KeyGlobalProjects]), &globals); err != nil {
		problems = append(problems, fmt.Sprintf("%s: it is not a list of {labelSelector, projectName}: %v",
			v1alpha1.KeyGlobalProjects, err))
		// Which rules are missing is not known, so that nobody may go on without them.
		t.Globals = []policy.Global{{Project: unreadable}}
		return t, problems
	}
	for _, g := range globals {
		t.Globals = append(t.Globals, policy.Global{Project: g.ProjectName, Selector: g.LabelSelector})
	}
	return t, problems
}

// unreadable is the global project of a setting that cannot be read. No project
// can have this name.
const unreadable = "(globalProjects of argocd-cm cannot be read)"
