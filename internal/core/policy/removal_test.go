package policy_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/policy"
)

func TestRemoval(t *testing.T) {
	deleted := new(metav1.Now())
	cases := map[string]struct {
		deleted     *metav1.Time
		finalizers  []string
		members     []string
		stays, goes bool
	}{
		"lives":               {nil, []string{v1alpha1.FinalizerResources}, nil, false, false},
		"has an application":  {deleted, []string{"x", v1alpha1.FinalizerResources}, []string{"shop"}, true, false},
		"has none":            {deleted, []string{"x", v1alpha1.FinalizerResources}, nil, false, true},
		"does not ask for it": {deleted, []string{"x"}, nil, false, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.AppProject{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: c.deleted, Finalizers: c.finalizers}}
			if got := policy.Stays(p, c.members); got != c.stays {
				t.Errorf("stays: %t", got)
			}
			if got := policy.Releases(p, c.members); got != c.goes {
				t.Errorf("goes: %t", got)
			}
		})
	}
}
