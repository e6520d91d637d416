package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/draft"
	"github.com/towline-cd/towline/internal/core/object"
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
	f.StringVar(&r.revision, "revision", "", "sync to this branch, tag, commit or version (default: that of the application)")
	f.StringArrayVar(&r.revisions, "revisions", nil, "the same for one of several sources (may be repeated)")
	f.IntSliceVar(&r.positions, "source-positions", nil, "which sources the --revisions are for, from 1 on")
	f.StringArrayVar(&r.names, "source-names", nil, "the same by their names (may be repeated)")
	f.BoolVar(&r.prune, "prune", false, "also delete what Git no longer has")
	f.BoolVar(&r.dryRun, "dry-run", false, "change nothing, only say what would be done")
	f.BoolVar(&r.force, "force", false, "delete and make anew what cannot be updated")
	f.StringArrayVar(&r.resources, "resource", nil,
		"only this object, as GROUP:KIND:[NAMESPACE/]NAME; * fits anything, a leading ! leaves out")
	f.StringArrayVar(&r.labels, "label", nil, "only the objects with this label, as NAME=VALUE (may be repeated)")
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

// choices adds the flags that say which applications, from where, and how it is watched.
func (c *syncing) choices(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.local.Dir, "local", "", "sync the manifests in this folder instead of those in Git")
	f.StringVar(&c.local.Root, "local-repo-root", "", "root of the repository that the folder is in (default: the folder itself)")
	f.BoolVar(&c.preview, "preview-changes", false, "show what would change, and ask before it is done")
	f.BoolVar(&c.yes, "assume-yes", false, "with --preview-changes, do not ask")
	for _, name := range []string{"assumeYes", "assume"} {
		f.BoolVar(&c.yes, name, false, "the same as --assume-yes")
		_ = f.MarkHidden(name) // it was made a line above
	}
	f.BoolVar(&c.async, "async", false, "do not wait for the end")
	f.UintVar(&c.timeout, "timeout", 0, "how many seconds to wait for the end; 0 is no limit")
	f.StringVarP(&c.selector, "selector", "l", "", "all applications with these labels")
	f.StringArrayVar(&c.projects, "project", nil, "all applications of this project (may be repeated)")
	c.output.register(cmd, outputJSON, outputYAML, outputWide)
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
	case c.local.Dir != "" && (c.revision != "" || len(c.revisions) > 0):
		return usagef("--local is not in Git, so that --revision %q means nothing", strings.Join(append(c.revisions, c.revision), " "))
	case c.local.Root != "" && c.local.Dir == "":
		return usagef("--local-repo-root is the root of the folder that --local names")
	case c.local.Dir != "" && c.preview:
		return usagef("--preview-changes compares with Git; %q shows what local manifests would do", "--local "+c.local.Dir+" --dry-run")
	case c.revision != "" && len(c.revisions) > 0:
		return usagef("--revision is for an application with one source, and --revisions for one with several")
	case len(c.revisions) == 0 && (len(c.positions) > 0 || len(c.names) > 0):
		return usagef("--source-positions and --source-names say which sources the --revisions are for")
	case len(c.positions) > 0 && len(c.names) > 0:
		return usagef("name the sources either with --source-positions or with --source-names")
	case len(c.labels) > 0 && len(c.resources) > 0:
		return usagef("choose objects either with --resource or with --label")
	case c.selector != "" && len(c.projects) > 0:
		return usagef("choose applications either with -l or with --project")
	}
	_, err := draft.Labels(c.labels)
	if err != nil {
		return usagef("--label: %w", err)
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
	if c.local.Dir == "" {
		return nil
	}
	var err error
	c.manifests, err = c.env.Local(ctx, c.local, app)
	if err != nil {
		return err
	}
	if len(c.manifests) == 0 {
		return usagef("--local %q has no manifests", c.local.Dir)
	}
	return nil
}

// readLabels finds the objects that have the labels, in what the sources render to.
func (c *syncing) readLabels(ctx context.Context, app *v1alpha1.Application) error {
	wanted, err := draft.Labels(c.labels)
	if err != nil || len(wanted) == 0 {
		return err
	}
	r := Rendering{Hub: &c.flags}
	if c.revision != "" {
		r.Revisions = []string{c.revision}
	}
	got, err := c.env.Render(ctx, app, r)
	if err != nil {
		return fmt.Errorf("rendering application %q, to see the labels: %w", app.Name, err)
	}
	var chosen []v1alpha1.SyncOperationResource
	for _, u := range got.Objects {
		if labels.SelectorFromSet(wanted).Matches(labels.Set(u.GetLabels())) {
			k := object.KeyOf(u)
			chosen = append(chosen, v1alpha1.SyncOperationResource{Group: k.Group, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name})
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("syncing application %q: none of its objects has the label %s; %q shows them",
			app.Name, strings.Join(c.labels, " "), "towline app manifests "+app.Name)
	}
	if c.labelled == nil {
		c.labelled = map[string][]v1alpha1.SyncOperationResource{}
	}
	c.labelled[app.Name] = chosen
	return nil
}

// meant are the applications that are named, selected, or of a project.
func (c *syncing) meant(ctx context.Context, names []string) ([]string, error) {
	if len(c.projects) == 0 {
		return c.named(ctx, names, c.selector)
	}
	list, err := c.hub.Applications(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, c.explain("", err)
	}
	var out []string
	for _, app := range list.Items {
		if slices.Contains(c.projects, app.ProjectName()) && (len(names) == 0 || slices.Contains(names, app.Name)) {
			out = append(out, app.Name)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no such application is in project %s; %q shows what is there", quoted(c.projects, ", "), c.list())
	}
	slices.Sort(out)
	return out, nil
}

// show says what a sync would change.
func (c *syncing) show(ctx context.Context, app *v1alpha1.Application) error {
	if !c.preview {
		return nil
	}
	d := &diffing{session: c.session, revision: c.revision}
	p, revision, err := d.compare(ctx, app)
	if err != nil {
		return err
	}
	return d.print(app.Name, revision, p)
}
