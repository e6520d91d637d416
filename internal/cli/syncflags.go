package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/towline-cd/towline/api/v1alpha1"
)

const (
	strategyApply = "apply"
	strategyHook  = "hook"
)

// retrying is how often a sync that fails is tried again, if the user says so.
type retrying struct {
	limit         int64
	duration, cap string
	factor        int64
	refresh       bool
	// given says that the user said so: then the policy of the application does
	// not count.
	given bool
}

// register adds the flags that say how to sync.
func (r *request) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.strategy, "strategy", "", "apply leaves the hooks out, hook runs them (default: hook)")
	f.BoolVar(&r.replace, "replace", false, "replace objects as a whole instead of applying them")
	f.BoolVar(&r.serverSide, "server-side", false, "apply as it stands; without it what client-side apply took is mended first")
	f.BoolVar(&r.outOfSyncOnly, "apply-out-of-sync-only", false, "leave alone what is in sync, which is what happens anyway")
	f.Int64Var(&r.retry.limit, "retry-limit", 0, "how often to try again; -1 is without end")
	f.StringVar(&r.retry.duration, "retry-backoff-duration", "5s", "how long to wait before the first of these")
	f.StringVar(&r.retry.cap, "retry-backoff-max-duration", "3m", "how long to wait at most")
	f.Int64Var(&r.retry.factor, "retry-backoff-factor", 2, "how much longer to wait each time")
	f.BoolVar(&r.retry.refresh, "retry-refresh", false, "let a retry take up newer commits")
	f.StringArrayVar(&r.info, "info", nil, "a note to keep with the operation, as KEY=VALUE")
	fixed(cmd, "strategy", strategyApply, strategyHook)
}

// check looks at what flags say together.
func (c *syncing) check(f *pflag.FlagSet) error {
	for _, name := range []string{
		"retry-limit", "retry-backoff-duration", "retry-backoff-max-duration", "retry-backoff-factor", "retry-refresh",
	} {
		c.retry.given = c.retry.given || f.Changed(name)
	}
	if _, err := c.infos(); err != nil {
		return err
	}
	switch {
	case c.strategy != "" && c.strategy != strategyApply && c.strategy != strategyHook:
		return usagef("--strategy is %s or %s, not %q", strategyApply, strategyHook, c.strategy)
	case c.retry.given && c.retry.limit == 0:
		return usagef("the --retry flags need --retry-limit: without it nothing is tried again")
	case c.local != "" && c.revision != "":
		return usagef("--local is not in Git, so that --revision %q means nothing", c.revision)
	}
	return nil
}

func (r *request) syncStrategy() *v1alpha1.SyncStrategy {
	force := v1alpha1.SyncStrategyApply{Force: r.force}
	switch {
	case r.strategy == strategyApply:
		return &v1alpha1.SyncStrategy{Apply: &force}
	case r.strategy == strategyHook || r.force:
		return &v1alpha1.SyncStrategy{Hook: &v1alpha1.SyncStrategyHook{SyncStrategyApply: force}}
	}
	return nil
}

// options are the sync options that flags stand for. They come after those of
// the policy, since the last one counts.
func (r *request) options() []string {
	var out []string
	for _, o := range []struct {
		name string
		on   bool
	}{
		{v1alpha1.SyncOptionReplace, r.replace},
		{v1alpha1.SyncOptionServerSideApply, r.serverSide},
		{v1alpha1.SyncOptionApplyOutOfSyncOnly, r.outOfSyncOnly},
	} {
		if o.on {
			out = append(out, o.name+"="+v1alpha1.SyncOptionValueTrue)
		}
	}
	return out
}

func (r retrying) strategy() (v1alpha1.RetryStrategy, bool) {
	return v1alpha1.RetryStrategy{
		Limit: r.limit, Refresh: r.refresh,
		Backoff: &v1alpha1.Backoff{Duration: r.duration, MaxDuration: r.cap, Factor: &r.factor},
	}, r.given
}

func (r *request) infos() ([]v1alpha1.Info, error) {
	var out []v1alpha1.Info
	for _, text := range r.info {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usagef("--info %q is not of the form KEY=VALUE", text)
		}
		out = append(out, v1alpha1.Info{Name: name, Value: value})
	}
	return out, nil
}

// readLocal renders the folder that takes the place of the source.
func (c *syncing) readLocal(ctx context.Context, app *v1alpha1.Application) error {
	if c.local == "" {
		return nil
	}
	var err error
	c.manifests, err = c.env.Local(ctx, c.local, app)
	if err != nil {
		return err
	}
	if len(c.manifests) == 0 {
		return usagef("--local %q has no manifests", c.local)
	}
	return nil
}
