package health_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/health"
)

// worstLast is the order that Argo CD documents.
var worstLast = []health.Status{
	"Healthy", "Suspended", "Progressing", "Missing", "Degraded", "Unknown",
}

func TestOrder(t *testing.T) {
	for i, a := range worstLast {
		for j, b := range worstLast {
			if got := health.IsWorse(a, b); got != (j > i) {
				t.Errorf("IsWorse(%s, %s) = %t", a, b, got)
			}
			if got, want := health.Worst(a, b), worstLast[max(i, j)]; got != want {
				t.Errorf("Worst(%s, %s) = %s, want %s", a, b, got, want)
			}
		}
		if health.IsWorse(a, "") || health.Worst("", a) != a {
			t.Errorf("no health counts as worse than %s", a)
		}
	}
}

func TestAggregate(t *testing.T) {
	part := func(key string, status health.Status, message string) health.Part {
		return health.Part{Key: key, Health: health.Health{Status: status, Message: message}}
	}
	tests := map[string]struct {
		parts []health.Part
		want  health.Health
	}{
		"nothing to judge": {
			want: health.Health{Status: health.Healthy},
		},
		"no part has health": {
			parts: []health.Part{part("ConfigMap a", "", ""), part("Secret b", "", "")},
			want:  health.Health{Status: health.Healthy},
		},
		"all healthy says nothing": {
			parts: []health.Part{part("Deployment web", health.Healthy, "fine"), part("ConfigMap a", "", "")},
			want:  health.Health{Status: health.Healthy},
		},
		"the worst wins and only it is named": {
			parts: []health.Part{
				part("Job migrate", health.Progressing, "Waiting for the job"),
				part("Deployment web", health.Degraded, "The rollout exceeded its progress deadline"),
				part("Service web", health.Healthy, ""),
			},
			want: health.Health{
				Status:  health.Degraded,
				Message: "Deployment web: The rollout exceeded its progress deadline",
			},
		},
		"a cause without a message is named by its status": {
			parts: []health.Part{part("Deployment web", health.Missing, "")},
			want:  health.Health{Status: health.Missing, Message: "Deployment web: Missing"},
		},
		"three causes are all named": {
			parts: []health.Part{
				part("Pod c", health.Progressing, "3"), part("Pod a", health.Progressing, "1"),
				part("Pod b", health.Progressing, "2"),
			},
			want: health.Health{Status: health.Progressing, Message: "Pod a: 1; Pod b: 2; Pod c: 3"},
		},
		"of five causes three are named": {
			parts: []health.Part{
				part("Pod e", health.Degraded, "5"), part("Pod c", health.Degraded, "3"),
				part("Pod a", health.Degraded, "1"), part("Pod b", health.Degraded, "2"),
				part("Pod d", health.Degraded, "4"),
			},
			want: health.Health{Status: health.Degraded, Message: "Pod a: 1; Pod b: 2; Pod c: 3; and 2 more"},
		},
		"a status that nobody defined is Unknown": {
			parts: []health.Part{part("Boat x", "Sinking", ""), part("Pod a", health.Degraded, "1")},
			want:  health.Health{Status: health.Unknown, Message: "Boat x: Sinking"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(tt.parts)
			if diff := cmp.Diff(tt.want, health.Aggregate(tt.parts)); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tt.parts); diff != "" {
				t.Errorf("the parts were changed:\n%s", diff)
			}
			slices.Reverse(tt.parts)
			if diff := cmp.Diff(tt.want, health.Aggregate(tt.parts)); diff != "" {
				t.Errorf("verdict for the parts in reverse (-want +got):\n%s", diff)
			}
		})
	}
}
