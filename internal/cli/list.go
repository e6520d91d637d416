package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/repository"
)

type listing struct {
	*session
	output   output
	selector string
	projects []string
	// cluster, repo and path are those that they must use; empty is any.
	cluster, repo, path string
	watch               bool
	noHeaders           bool
	table               *table
	// shown are the rows as they were printed last, without the age: it moves
	// by itself and is no change.
	shown map[string]string
}

func newList(env *Env, g *global) *cobra.Command {
	l := &listing{}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List applications",
		Example: "  towline app list -l team=shop -o wide\n  towline app list -o name | xargs towline app wait",
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := l.output.check(); err != nil {
				return err
			}
			if _, err := labels.Parse(l.selector); err != nil {
				return usagef("reading the selector %q: %w", l.selector, err)
			}
			s, _, err := g.connect(cmd.Context(), env, nil)
			if err != nil {
				return err
			}
			l.session = s
			return l.run(cmd.Context())
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	l.output.register(cmd, outputJSON, outputYAML, outputWide, outputName)
	cmd.Flags().StringVarP(&l.selector, "selector", "l", "", "only applications with these labels, as in team=shop,tier!=test")
	cmd.Flags().StringSliceVarP(&l.projects, "project", "p", nil, "only applications of these projects")
	g.completed(cmd, env, "project", projectNames(env))
	cmd.Flags().StringVarP(&l.cluster, "cluster", "c", "", "only applications of this cluster, by its name or address")
	cmd.Flags().StringVarP(&l.repo, "repo", "r", "", "only applications of this repository")
	cmd.Flags().StringVarP(&l.path, "path", "P", "", "only applications of this folder")
	cmd.Flags().BoolVarP(&l.watch, "watch", "w", false, "keep printing what changes")
	cmd.Flags().BoolVar(&l.noHeaders, "no-headers", false, "leave out the headers")
	return cmd
}

func (l *listing) run(ctx context.Context) error {
	list, err := l.hub.Applications(ctx, metav1.ListOptions{LabelSelector: l.selector})
	if err != nil {
		return l.explain("", err)
	}
	var apps []v1alpha1.Application
	for _, a := range list.Items {
		if l.wanted(&a) {
			apps = append(apps, a)
		}
	}
	slices.SortFunc(apps, func(a, b v1alpha1.Application) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
	})
	if err := l.print(apps); err != nil || !l.watch {
		return err
	}
	return l.stream(ctx, list)
}

func (l *listing) wanted(a *v1alpha1.Application) bool {
	d := a.Spec.Destination
	return (len(l.projects) == 0 || slices.Contains(l.projects, a.ProjectName())) &&
		(l.cluster == "" || slices.Contains([]string{d.Server, d.Name, cluster(d)}, l.cluster)) &&
		(l.repo == "" && l.path == "" || slices.ContainsFunc(a.Sources(), func(s v1alpha1.ApplicationSource) bool {
			return (l.repo == "" || repository.Same(s.RepoURL, l.repo)) && (l.path == "" || s.Path == l.path)
		}))
}

func (l *listing) print(apps []v1alpha1.Application) error {
	l.begin(apps)
	switch {
	case l.output.structured() && l.watch:
		for _, a := range apps {
			if err := l.output.stream(l.env.Out, exportable(&a)); err != nil {
				return err
			}
		}
		return nil
	case l.output.structured():
		out := make([]*v1alpha1.Application, len(apps))
		for i := range apps {
			out[i] = exportable(&apps[i])
		}
		return l.output.encode(l.env.Out, out)
	case l.output.form == outputName:
		for _, a := range apps {
			fmt.Fprintln(l.env.Out, qualified(&a))
		}
		return nil
	case len(apps) == 0:
		l.note("no applications in namespace %q%s", l.flags.Apps(), l.condition())
		return nil
	}
	return l.table.write(l.env.Out, !l.noHeaders)
}

func (l *listing) condition() string {
	if l.selector == "" && len(l.projects) == 0 && l.cluster == "" && l.repo == "" && l.path == "" {
		return ""
	}
	return " that fit the selection"
}

// begin makes the table and remembers what it shows.
func (l *listing) begin(apps []v1alpha1.Application) {
	l.table = l.newTable()
	l.shown = map[string]string{}
	for _, a := range apps {
		r := l.row(&a)
		l.table.row(r...)
		l.shown[a.Name] = l.signature(&a, r)
	}
}

func (l *listing) newTable() *table {
	t := &table{
		head:    []string{"NAME", "PROJECT", "SYNC", "HEALTH", "REVISION", "DESTINATION", "AGE"},
		palette: l.out,
	}
	if l.output.form == outputWide {
		t.head = append(t.head, "POLICY", "OPERATION", "REPO", "PATH", "TARGET", "CONDITIONS")
	}
	return t
}

const ageColumn = 6

func (l *listing) row(a *v1alpha1.Application) []cell {
	row := []cell{
		word(a.Name),
		word(a.ProjectName()),
		{text: orNothing(clean(string(a.Status.Sync.Status))), colour: syncColour(a.Status.Sync.Status)},
		{text: orNothing(clean(string(a.Status.Health.Status))), colour: healthColour(a.Status.Health.Status)},
		word(orNothing(revisionOf(a.Status.Sync))),
		word(orNothing(destination(a.Spec.Destination))),
		word(age(l.env.Now(), &a.CreationTimestamp)),
	}
	if l.output.form != outputWide {
		return row
	}
	phase := v1alpha1.OperationPhase("")
	if a.Status.OperationState != nil {
		phase = a.Status.OperationState.Phase
	}
	var conditions []string
	for _, c := range a.Status.Conditions {
		conditions = append(conditions, string(c.Type))
	}
	return append(row,
		word(syncPolicy(a)),
		cell{text: orNothing(clean(string(phase))), colour: phaseColour(phase)},
		word(orNothing(repos(a))),
		word(orNothing(paths(a))),
		word(orNothing(targets(a))),
		cell{text: orNothing(clean(strings.Join(slices.Compact(conditions), ","))), colour: yellow},
	)
}

// signature is what must differ for an application to be printed again.
func (l *listing) signature(a *v1alpha1.Application, row []cell) string {
	if l.output.structured() {
		return a.ResourceVersion
	}
	var b strings.Builder
	for i, c := range row {
		if i != ageColumn {
			b.WriteString(c.text + "\x00")
		}
	}
	return b.String()
}

// stream prints a row whenever one is not what was printed before.
func (l *listing) stream(ctx context.Context, list *v1alpha1.ApplicationList) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes := l.followAll(ctx, metav1.ListOptions{LabelSelector: l.selector}, list)
	for {
		c, err := l.next(ctx, changes, nil)
		if ctx.Err() != nil {
			return nil // the user has seen enough
		}
		if err != nil {
			return err
		}
		if c.notice != "" {
			l.note("%s", c.notice)
			continue
		}
		if err := l.update(c); err != nil {
			return err
		}
	}
}

func (l *listing) update(c change) error {
	if c.app == nil {
		return l.gone(c.name)
	}
	if !l.wanted(c.app) {
		return nil
	}
	row := l.row(c.app)
	if l.shown[c.name] == l.signature(c.app, row) {
		return nil
	}
	l.shown[c.name] = l.signature(c.app, row)
	switch {
	case l.output.structured():
		return l.output.stream(l.env.Out, exportable(c.app))
	case l.output.form == outputName:
		fmt.Fprintln(l.env.Out, qualified(c.app))
		return nil
	}
	first := l.table.widths == nil
	l.table.rows = [][]cell{row}
	return l.table.write(l.env.Out, first && !l.noHeaders)
}

func (l *listing) gone(name string) error {
	if _, ok := l.shown[name]; !ok {
		return nil
	}
	delete(l.shown, name)
	if l.output.form != "" && l.output.form != outputWide {
		l.note("application %q is gone", name)
		return nil
	}
	row := make([]cell, len(l.table.head))
	for i := range row {
		row[i] = word(nothing)
	}
	row[0], row[2] = word(name), word("Deleted")
	l.table.rows = [][]cell{row}
	return l.table.write(l.env.Out, false)
}
