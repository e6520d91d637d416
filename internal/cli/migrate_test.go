package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/doctor"
	"github.com/towline-cd/towline/internal/core/takeover"
)

// workloads writes down what is asked of it.
type workloads struct {
	all   []takeover.Workload
	stuck bool
	did   []string
}

func (w *workloads) Workloads(context.Context) ([]takeover.Workload, error) { return w.all, nil }

func (w *workloads) Scale(_ context.Context, s takeover.Scale) error {
	w.did = append(w.did, s.String())
	return nil
}

func (w *workloads) Gone(_ context.Context, of takeover.Workload) error {
	if w.stuck {
		return errors.New("its pods do not end")
	}
	w.did = append(w.did, "gone: "+of.String())
	return nil
}

func (w *workloads) SetProfile(_ context.Context, profile string) error {
	w.did = append(w.did, fmt.Sprintf("profile %q", profile))
	return nil
}

func TestTurnover(t *testing.T) {
	two := int32(2)
	before := []takeover.Workload{
		{Kind: "StatefulSet", Name: "argocd-application-controller", Replicas: 2}, {Kind: "Deployment", Name: "towline"},
	}
	after := []takeover.Workload{
		{Kind: "StatefulSet", Name: "argocd-application-controller", Before: &two}, {Kind: "Deployment", Name: "towline", Replicas: 1},
	}
	tests := map[string]struct {
		args  []string
		all   []takeover.Workload
		data  map[string]string
		stuck bool
		code  int
		did   []string
	}{
		"takeover": {args: []string{"takeover", "--yes"}, all: before, did: []string{
			`profile "argocd"`, "StatefulSet argocd-application-controller: 2 -> 0", "gone: StatefulSet argocd-application-controller",
			"Deployment towline: 0 -> 1",
		}},
		"takeover with a profile": {
			args: []string{"takeover", "--yes"}, all: before, data: map[string]string{"towline.profile": "towline"},
			did: []string{
				"StatefulSet argocd-application-controller: 2 -> 0", "gone: StatefulSet argocd-application-controller", "Deployment towline: 0 -> 1",
			},
		},
		"nobody is started while the other is there": {
			args: []string{"takeover", "--yes"}, all: before, stuck: true, code: 20,
			did: []string{`profile "argocd"`, "StatefulSet argocd-application-controller: 2 -> 0"},
		},
		"takeover that nobody agreed to": {args: []string{"takeover"}, all: before, code: 2},
		"takeover to see":                {args: []string{"takeover", "--dry-run"}, all: before},
		"takeover of nothing":            {args: []string{"takeover", "--yes"}, code: 1},
		"handback": {
			args: []string{"handback", "--yes"}, all: after, data: map[string]string{"towline.profile": "argocd"},
			did: []string{"Deployment towline: 1 -> 0", "gone: Deployment towline", "StatefulSet argocd-application-controller: 0 -> 2", `profile ""`},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			w := &workloads{all: tc.all, stuck: tc.stuck}
			env := &cli.Env{
				In: strings.NewReader(""), Out: &out, Err: &errOut, Getenv: func(string) string { return "" },
				Hub:          func(context.Context, cli.Flags) (cli.Hub, error) { return nil, nil },
				SettingsData: func(context.Context, cli.Flags) (map[string]string, error) { return tc.data, nil },
				Rival:        func(context.Context, cli.Flags) (cli.Rival, error) { return w, nil },
				Inventory: func(context.Context, cli.Flags) (takeover.Installation, error) {
					return takeover.Installation{Workloads: tc.all}, nil
				},
			}
			cmd := cli.NewMigrate(env)
			cmd.SetArgs(tc.args)
			if code := cli.ExitCode(cmd.ExecuteContext(t.Context())); code != tc.code {
				t.Errorf("exit code %d, want %d\n%s%s", code, tc.code, out.String(), errOut.String())
			}
			if d := cmp.Diff(tc.did, w.did); d != "" {
				t.Errorf("it did something else (-want +got):\n%s", d)
			}
		})
	}
}

func TestDoctor(t *testing.T) {
	for name, tc := range map[string]struct {
		facts doctor.Facts
		code  int
		want  string
	}{
		"not reached": {facts: doctor.Facts{Unreachable: "refused"}, code: 1, want: "failed  connection: the API server is not reached: refused\n        do: set"},
		"well enough": {
			facts: doctor.Facts{Kubernetes: "v1.36.0", Sandbox: "full", Leader: &doctor.Leader{Identity: "x"}, CacheFreeMiB: 9000},
			want:  "ok      controllers: x acts",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			env := &cli.Env{
				In: strings.NewReader(""), Out: &out, Err: &out, Getenv: func(string) string { return "" },
				Checkup: func(context.Context, cli.Flags, cli.Checkup) doctor.Facts { return tc.facts },
			}
			cmd := cli.NewDoctor(env)
			cmd.SetArgs(nil)
			if code := cli.ExitCode(cmd.ExecuteContext(t.Context())); code != tc.code || !strings.Contains(out.String(), tc.want) {
				t.Errorf("exit code %d\n%s", code, out.String())
			}
		})
	}
}
