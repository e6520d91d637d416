package cli_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/fault"
)

func TestExitCode(t *testing.T) {
	forbidden := apierrors.NewForbidden(resource, "shop", errors.New("jane may not"))
	tests := map[string]struct {
		err  error
		want int
	}{
		"nothing":        {nil, 0},
		"a difference":   {fmt.Errorf("diff: %w", cli.ErrDifferent), 1},
		"usage":          {&cli.UsageError{Err: errors.New("no such flag")}, 2},
		"forbidden":      {fault.Terminalf("Refused", "reading: %w", forbidden), 4},
		"unauthorised":   {fmt.Errorf("a: %w", apierrors.NewUnauthorized("who are you")), 4},
		"one of several": {errors.Join(errors.New("x"), forbidden), 4},
		"not found":      {apierrors.NewNotFound(resource, "shop"), 20},
		"anything":       {errors.New("x"), 20},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := cli.ExitCode(test.err); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	tests := map[string]string{
		"app frobnicate":                    `"towline app" has no command "frobnicate"`,
		"app lst":                           `did you mean "list"`,
		"app list --frob":                   `unknown flag: --frob; "towline app list --help" shows the flags`,
		"app list extra":                    "takes no arguments",
		"app list -o xml":                   `the output "xml" is not known; choose one of json, yaml, wide, name`,
		"app list --color=pink":             "auto, always or never",
		"app get":                           "the name of one application, got 0",
		"app get a b":                       "the name of one application, got 2",
		"app wait":                          "name the application",
		"app wait shop -l a=b":              "not both",
		"app wait shop --delete --sync":     "nothing else to wait for",
		"app wait shop --timeout soon":      "invalid argument",
		"app sync one/shop two/bank":        "one command works in one namespace",
		"app sync -N one two/bank":          "one command works in one namespace",
		"app get a/b/c":                     "is no name of an application",
		"app wait a,metadata.name=b":        "is no name of an application",
		"app delete -l =":                   "reading the selector",
		"app sync shop --resource a:b:c:d ": "GROUP:KIND:[NAMESPACE/]NAME",
	}
	for line, want := range tests {
		t.Run(line, func(t *testing.T) {
			got := (&desk{hub: newMemory(shop("shop"))}).run(t, strings.Fields(line)...)
			wantCode(t, got, 2)
			wantText(t, "stderr", got.err, want)
		})
	}
}

func TestErrorsNameTheWayOut(t *testing.T) {
	tests := map[string]struct {
		err  error
		code int
		want string
	}{
		"forbidden": {
			fault.Terminalf("Refused", "reading application %q: %w", "shop", apierrors.NewForbidden(resource, "shop", errors.New(`user "jane" cannot get`))),
			4, `ask for that right in namespace "argocd", or choose another login with --context`,
		},
		"unauthorised": {apierrors.NewUnauthorized("token expired"), 4, "token expired; the cluster did not accept the login"},
		"no such kind": {
			apierrors.NewGenericServerResponse(404, "GET", resource, "shop", "", 0, true),
			20, "this cluster does not know Applications; is --context right",
		},
		"no cluster": {
			fault.Transientf("Unreachable", "reading application %q: %w", "shop", errors.New("connection refused")),
			20, "connection refused; is the cluster up, and is --context the right one?",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMemory(shop("shop"))
			m.fails = func(string) error { return test.err }
			for _, args := range [][]string{{"app", "get", "shop"}, {"app", "list"}, {"app", "sync", "shop"}, {"app", "delete", "shop", "-y"}} {
				got := (&desk{hub: m}).run(t, args...)
				wantCode(t, got, test.code)
				wantText(t, "stderr", got.err, "error: ", test.want)
			}
		})
	}
	t.Run("no kubeconfig", func(t *testing.T) {
		got := (&desk{}).run(t, "app", "list")
		wantCode(t, got, 20)
		wantText(t, "stderr", got.err, "error: connecting to the cluster: there is no cluster")
	})
}

func TestNamespaceOfANameWins(t *testing.T) {
	app := shop("shop")
	app.Namespace = "teams"
	d := &desk{hub: newMemory(app)}
	wantCode(t, d.run(t, "app", "get", "teams/shop", "--context", "east", "--kubeconfig", "/tmp/k"), 0)
	if diff := cmp.Diff(cli.Flags{Kubeconfig: "/tmp/k", Context: "east", Namespace: "argocd", AppNamespace: "teams"}, d.askedFor); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}

func TestCompletionOffersNames(t *testing.T) {
	app := shop("shop-eu")
	app.Status = v1alpha1.ApplicationStatus{}
	m := newMemory(shop("shop"), app, shop("bank"))
	got := (&desk{hub: m}).run(t, "__complete", "app", "sync", "")
	if d := cmp.Diff("bank\tSynced, Healthy\nshop\tSynced, Healthy\nshop-eu\t-, -\n:4\n", got.out); d != "" {
		t.Errorf("completion (-want +got):\n%s", d)
	}
	got = (&desk{hub: m}).run(t, "__complete", "app", "sync", "shop", "sh")
	if d := cmp.Diff("shop-eu\t-, -\n:4\n", got.out); d != "" {
		t.Errorf("completion of a second name (-want +got):\n%s", d)
	}
	got = (&desk{hub: m}).run(t, "__complete", "app", "get", "bank", "sh")
	if got.out != ":4\n" {
		t.Errorf("a second name was offered: %q", got.out)
	}
	got = (&desk{}).run(t, "__complete", "app", "get", "")
	wantText(t, "completion without a cluster", got.out, ":4")
}

func TestErrorsFollowTheFlagForColour(t *testing.T) {
	for flag, want := range map[string]string{"--color=auto": "\x1b[31merror:\x1b[0m", "--color=never": "error: "} {
		got := (&desk{hub: newMemory(), errTerm: true}).run(t, "app", "get", "ghost", flag)
		if !strings.HasPrefix(got.err, want) {
			t.Errorf("%s: %q does not begin with %q", flag, got.err, want)
		}
	}
}
