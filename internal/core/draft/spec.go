package draft

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
)

var specFlags = []Flag{
	{Name: "project", Usage: "project of the application", set: func(t *target, v Value) error {
		t.spec.Project = v.Text
		return nil
	}},
	{Name: "dest-server", Usage: "address of the cluster to deploy to", set: func(t *target, v Value) error {
		t.spec.Destination.Server = v.Text
		if _, both := t.typed["dest-name"]; !both {
			t.spec.Destination.Name = ""
		}
		return nil
	}},
	{Name: "dest-name", Usage: "name of the cluster to deploy to", set: func(t *target, v Value) error {
		t.spec.Destination.Name = v.Text
		if _, both := t.typed["dest-server"]; both {
			return errors.New("name the cluster either so or with --dest-server")
		}
		t.spec.Destination.Server = ""
		return nil
	}},
	{Name: "dest-namespace", Usage: "namespace to deploy to", set: func(t *target, v Value) error {
		t.spec.Destination.Namespace = v.Text
		return nil
	}},
	{Name: "revision-history-limit", Usage: "how many deployments the history keeps", Kind: Number, set: func(t *target, v Value) error {
		if v.Number < 0 {
			return fmt.Errorf("%d is no number of entries", v.Number)
		}
		t.spec.RevisionHistoryLimit = &v.Number
		return nil
	}},
	{Name: "sync-policy", Usage: "none, or automated; automated begins anew, without pruning and self-healing", set: setSyncPolicy},
	automated("auto-prune", "let automated syncs delete what Git no longer has",
		func(a *v1alpha1.SyncPolicyAutomated) **bool { return &a.Prune }),
	automated("self-heal", "let automated syncs undo what others change in the cluster",
		func(a *v1alpha1.SyncPolicyAutomated) **bool { return &a.SelfHeal }),
	automated("allow-empty", "let automated syncs delete everything",
		func(a *v1alpha1.SyncPolicyAutomated) **bool { return &a.AllowEmpty }),
	{Name: "sync-option", Usage: "sync option, as in CreateNamespace=true; a leading ! takes it away", Kind: Texts, set: setSyncOptions},
	{Name: "sync-retry-limit", Usage: "how often a failed sync is tried again; -1 is without end", Kind: Number, set: setRetryLimit},
	retry("sync-retry-backoff-duration", "how long to wait before the first retry", Text, func(r *v1alpha1.RetryStrategy, v Value) {
		r.Backoff.Duration = v.Text
	}),
	retry("sync-retry-backoff-max-duration", "how long to wait at most", Text, func(r *v1alpha1.RetryStrategy, v Value) {
		r.Backoff.MaxDuration = v.Text
	}),
	retry("sync-retry-backoff-factor", "how much longer to wait each time", Number, func(r *v1alpha1.RetryStrategy, v Value) {
		r.Backoff.Factor = &v.Number
	}),
	retry("sync-retry-refresh", "let a retry take up newer commits", Switch, func(r *v1alpha1.RetryStrategy, v Value) {
		r.Refresh = v.On
	}),
}

func policyOf(t *target) *v1alpha1.SyncPolicy {
	if t.spec.SyncPolicy == nil {
		t.spec.SyncPolicy = &v1alpha1.SyncPolicy{}
	}
	return t.spec.SyncPolicy
}

// tidy takes an empty policy away, as the controller would.
func tidy(t *target) {
	p := t.spec.SyncPolicy
	if p != nil && p.Automated == nil && len(p.SyncOptions) == 0 && p.Retry == nil && p.ManagedNamespaceMetadata == nil {
		t.spec.SyncPolicy = nil
	}
}

func setSyncPolicy(t *target, v Value) error {
	switch v.Text {
	case "none", "manual":
		if t.spec.SyncPolicy != nil {
			t.spec.SyncPolicy.Automated = nil
		}
		tidy(t)
	case "auto", "automated", "automatic":
		policyOf(t).Automated = &v1alpha1.SyncPolicyAutomated{}
	default:
		return fmt.Errorf("it is none or automated, not %q", v.Text)
	}
	return nil
}

func automated(name, usage string, field func(*v1alpha1.SyncPolicyAutomated) **bool) Flag {
	return Flag{Name: name, Usage: usage, Kind: Switch, set: func(t *target, v Value) error {
		if !t.spec.SyncPolicy.AutomatedEnabled() {
			return errors.New("the application does not sync itself; --sync-policy automated has it do so")
		}
		*field(t.spec.SyncPolicy.Automated) = &v.On
		return nil
	}}
}

// setSyncOptions adds options, each in place of what there is of the same name, and takes away those with a !.
func setSyncOptions(t *target, v Value) error {
	p := policyOf(t)
	for _, text := range v.Texts {
		option, gone := strings.CutPrefix(text, "!")
		name, _, valued := strings.Cut(option, "=")
		if name == "" || !valued && !gone {
			return fmt.Errorf("%q is not of the form NAME=VALUE", text)
		}
		same := func(have string) bool {
			n, _, _ := strings.Cut(have, "=")
			return gone && have == option || gone && !valued && n == name || !gone && n == name
		}
		if gone {
			p.SyncOptions = slices.DeleteFunc(p.SyncOptions, same)
			continue
		}
		p.SyncOptions = put(p.SyncOptions, option, same)
	}
	tidy(t)
	return nil
}

// The waits that Argo CD's command line writes down with a limit.
const (
	retryFirst = "5s"
	retryMost  = "3m0s"
)

func setRetryLimit(t *target, v Value) error {
	switch {
	case v.Number < -1:
		return fmt.Errorf("%d is no number of retries", v.Number)
	case v.Number == 0:
		if t.spec.SyncPolicy != nil {
			t.spec.SyncPolicy.Retry = nil
		}
		tidy(t)
		return nil
	}
	p := policyOf(t)
	if p.Retry == nil {
		p.Retry = &v1alpha1.RetryStrategy{Backoff: &v1alpha1.Backoff{Duration: retryFirst, MaxDuration: retryMost, Factor: new(int64(2))}}
	}
	p.Retry.Limit = v.Number
	return nil
}

func retry(name, usage string, kind Kind, set func(*v1alpha1.RetryStrategy, Value)) Flag {
	return Flag{Name: name, Usage: usage, Kind: kind, set: func(t *target, v Value) error {
		if t.spec.SyncPolicy == nil || t.spec.SyncPolicy.Retry == nil {
			return errors.New("nothing is tried again; --sync-retry-limit says how often it is")
		}
		r := t.spec.SyncPolicy.Retry
		if r.Backoff == nil {
			r.Backoff = &v1alpha1.Backoff{}
		}
		set(r, v)
		return nil
	}}
}

const noHydrator = "this version does not write rendered manifests to Git; have your pipeline do so, and name where they are " +
	"with --repo, --path and --revision"

var hydratorFlags = []Flag{
	{
		Name: "env", Usage: "not taken: there is no ksonnet",
		Refused: "environments are ksonnet's, which Argo CD dropped too; name the folder with --path",
	},
	{Name: "dry-source-repo", Usage: "not taken: there is no hydrator", Refused: noHydrator},
	{Name: "dry-source-revision", Usage: "not taken: there is no hydrator", Refused: noHydrator},
	{Name: "dry-source-path", Usage: "not taken: there is no hydrator", Refused: noHydrator},
	{Name: "sync-source-repo", Usage: "not taken: there is no hydrator", Refused: noHydrator},
	{Name: "sync-source-branch", Usage: "not taken: there is no hydrator", Refused: noHydrator},
	{Name: "sync-source-path", Usage: "not taken: there is no hydrator", Refused: noHydrator},
	{Name: "hydrate-to-branch", Usage: "not taken: there is no hydrator", Refused: noHydrator},
}
