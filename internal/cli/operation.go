package cli

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/draft"
	"github.com/towline-cd/towline/internal/core/status"
	"github.com/towline-cd/towline/internal/core/wish"
)

// request is a sync as the user typed it.
type request struct {
	revision string
	// revisions are for some of several sources, which positions or names say.
	revisions []string
	positions []int
	names     []string
	prune     bool
	dryRun    bool
	force     bool
	resources []string

	replace, serverSide, outOfSyncOnly bool
	strategy                           string
	retry                              retrying
	info                               []string
	// manifests are synced instead of the source's.
	manifests []string
	// labels choose among the objects of the manifests, and labelled are those that they chose, by application.
	labels   []string
	labelled map[string][]v1alpha1.SyncOperationResource
}

// wish is what the request asks for, as far as it stands in the flags.
func (r request) wish() wish.Sync {
	return wish.Sync{
		Revision: r.revision, Prune: r.prune, DryRun: r.dryRun, Manifests: r.manifests, Strategy: r.syncStrategy(), More: r.options(),
	}
}

// refuse says why an application cannot be synced now.
func (s *session) refuse(app *v1alpha1.Application, r request) error {
	name := app.Name
	switch r.wish().Refusal(app) {
	case wish.Deleting:
		return fmt.Errorf("syncing application %q: it is being deleted", name)
	case wish.Busy:
		return fmt.Errorf("syncing application %q: another operation is already in progress%s; wait for it with %q",
			name, s.running(app), "towline app wait "+name+" --operation")
	case wish.LocalUndone:
		return fmt.Errorf("syncing application %q: it syncs itself and would undo local manifests at once; turn the automated sync off, "+
			"or use --dry-run", name)
	case wish.RevisionUnclear:
		return fmt.Errorf("syncing application %q: it has several sources, so that --revision %q is not clear; --revisions with "+
			"--source-positions or --source-names says which", name, r.revision)
	case wish.RevisionUndone:
		return fmt.Errorf("syncing application %q to %q: it syncs itself to %q and would undo that; turn the automated sync off, "+
			"or change its targetRevision", name, r.revision, targets(app))
	}
	return nil
}

// running says who is in the way, and since when.
func (s *session) running(app *v1alpha1.Application) string {
	if o := app.Status.OperationState; o != nil && !o.Phase.Completed() {
		since := duration.HumanDuration(max(s.env.Now().Sub(o.StartedAt.Time), 0))
		return fmt.Sprintf(" (%s for %s, by %s)", o.Phase, since, initiator(o.Operation.InitiatedBy))
	}
	return fmt.Sprintf(" (asked for by %s, not begun yet)", initiator(app.Operation.InitiatedBy))
}

// whole is all that the request asks of an application.
func (r request) whole(app *v1alpha1.Application, user string) (wish.Sync, error) {
	w := r.wish()
	w.By = user
	var err error
	if w.Revisions, err = r.placed(app); err != nil {
		return w, err
	}
	if w.Resources, err = r.selection(app); err != nil {
		return w, err
	}
	if w.Info, err = r.infos(); err != nil {
		return w, err
	}
	if s, given := r.retry.strategy(); given {
		w.Retry = &s
	}
	return w, nil
}

// placed are the revisions, one for each source; those of sources that are not named are empty.
func (r request) placed(app *v1alpha1.Application) ([]string, error) {
	if len(r.revisions) == 0 {
		return nil, nil
	}
	at := r.positions
	for _, name := range r.names {
		i, err := draft.Position(&app.Spec, name)
		if err != nil {
			return nil, usagef("syncing application %q: --source-names: %w", app.Name, err)
		}
		at = append(at, i)
	}
	if len(at) != len(r.revisions) {
		return nil, usagef("there are %d --revisions for %d sources: name as many with --source-positions or --source-names",
			len(r.revisions), len(at))
	}
	out := make([]string, len(app.Sources()))
	for i, position := range at {
		if position < 1 || position > len(out) {
			return nil, usagef("syncing application %q: it has %s, and none at position %d", app.Name, plural(len(out), "source"), position)
		}
		out[position-1] = r.revisions[i]
	}
	return out, nil
}

// pattern is one --resource: G:K:[NS/]N, where * fits anything and a leading !
// leaves out.
type pattern struct {
	group, kind, namespace, name string
	exclude                      bool
}

func parsePattern(s string) (pattern, error) {
	rest, exclude := strings.CutPrefix(s, "!")
	parts := strings.Split(rest, ":")
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return pattern{}, usagef("--resource %q is not of the form GROUP:KIND:[NAMESPACE/]NAME, "+
			"as in apps:Deployment:web or :Service:web", s)
	}
	p := pattern{group: parts[0], kind: parts[1], name: parts[2], exclude: exclude}
	if namespace, name, ok := strings.Cut(parts[2], "/"); ok {
		p.namespace, p.name = namespace, name
	}
	return p, nil
}

func (p pattern) exact() bool {
	return !p.exclude && !slices.Contains([]string{p.group, p.kind, p.namespace, p.name}, "*")
}

func (p pattern) fits(r v1alpha1.ResourceStatus) bool {
	fit := func(want, have string) bool { return want == "*" || want == have }
	return fit(p.group, r.Group) && fit(p.kind, r.Kind) && fit(p.name, r.Name) &&
		(p.namespace == "" || fit(p.namespace, r.Namespace))
}

// picked says that patterns pick an object: one of them fits, or there are only such as leave out, and none of these does.
func picked(all []pattern, r v1alpha1.ResourceStatus) bool {
	in, chosen := 0, false
	for _, p := range all {
		switch {
		case p.exclude && p.fits(r):
			return false
		case !p.exclude:
			in++
			chosen = chosen || p.fits(r)
		}
	}
	return chosen || in == 0
}

// selection are the objects to sync. Patterns are settled against what the
// application is known to have: the operation itself knows no patterns.
func (r request) selection(app *v1alpha1.Application) ([]v1alpha1.SyncOperationResource, error) {
	if len(r.labels) > 0 {
		return r.labelled[app.Name], nil
	}
	var in, out []pattern
	exact := true
	for _, s := range r.resources {
		p, err := parsePattern(s)
		if err != nil {
			return nil, err
		}
		exact = exact && p.exact()
		if p.exclude {
			out = append(out, p)
			continue
		}
		in = append(in, p)
	}
	var chosen []v1alpha1.SyncOperationResource
	if exact {
		for _, p := range in {
			chosen = append(chosen, v1alpha1.SyncOperationResource{Group: p.group, Kind: p.kind, Namespace: p.namespace, Name: p.name})
		}
		return chosen, nil
	}
	if listed, all := status.Listed(app.Status); listed < all {
		return nil, fmt.Errorf("syncing application %q: its status lists %d of %d objects, so it is not known which fit --resource %s; "+
			"name each as GROUP:KIND:NAMESPACE/NAME, or sync all", app.Name, listed, all, strings.Join(r.resources, " "))
	}
	for _, res := range app.Status.Resources {
		fits := func(p pattern) bool { return p.fits(res) }
		if res.Hook || len(in) > 0 && !slices.ContainsFunc(in, fits) || slices.ContainsFunc(out, fits) {
			continue
		}
		chosen = append(chosen, v1alpha1.SyncOperationResource{Group: res.Group, Kind: res.Kind, Namespace: res.Namespace, Name: res.Name})
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("syncing application %q: none of its objects fits --resource %s; %q shows them",
			app.Name, strings.Join(r.resources, " "), "towline app get "+app.Name)
	}
	return chosen, nil
}
