package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/policy"
)

// This file is what people do to the sync windows of projects. A window goes by
// its place in the list.

func windowOf(p *v1alpha1.AppProject, id string) (int, error) {
	n, err := strconv.Atoi(id)
	if err != nil || n < 0 || n >= len(p.Spec.SyncWindows) {
		return 0, fmt.Errorf("project %q has no sync window %q; %q shows those that it has",
			p.Name, id, "towline proj windows list "+p.Name)
	}
	return n, nil
}

func windowWords(i int, w v1alpha1.SyncWindow) string {
	return fmt.Sprintf("sync window %d (%s, %q for %s)", i, w.Kind, w.Schedule, w.Duration)
}

// soundWindow refuses a window that would block because nobody can read it.
func soundWindow(p *v1alpha1.AppProject, i int) error {
	one := &v1alpha1.AppProject{Spec: v1alpha1.AppProjectSpec{SyncWindows: v1alpha1.SyncWindows{p.Spec.SyncWindows[i]}}}
	if faults := policy.WindowFaults(policy.WindowsOf(one)); len(faults) > 0 {
		return usagef("the window would not work: %s", strings.TrimPrefix(faults[0], "syncWindows[0]: "))
	}
	return nil
}

func addWindow(w v1alpha1.SyncWindow) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		p.Spec.SyncWindows = append(p.Spec.SyncWindows, w)
		i := len(p.Spec.SyncWindows) - 1
		return windowWords(i, w) + " added", soundWindow(p, i)
	}
}

func updateWindow(id string, change func(*v1alpha1.SyncWindow)) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		i, err := windowOf(p, id)
		if err != nil {
			return "", err
		}
		change(&p.Spec.SyncWindows[i])
		return windowWords(i, p.Spec.SyncWindows[i]) + " is as you say", soundWindow(p, i)
	}
}

func deleteWindow(id string) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		i, err := windowOf(p, id)
		if err != nil {
			return "", err
		}
		gone := p.Spec.SyncWindows[i]
		p.Spec.SyncWindows = append(p.Spec.SyncWindows[:i:i], p.Spec.SyncWindows[i+1:]...)
		return windowWords(i, gone) + " deleted; those behind it count one less from now on", nil
	}
}

// windowFlags describe a window.
type windowFlags struct {
	v1alpha1.SyncWindow

	kind string
}

func (w *windowFlags) register(cmd *cobra.Command, whole bool) {
	f := cmd.Flags()
	if whole {
		f.StringVarP(&w.kind, "kind", "k", "", "allow or deny")
		f.BoolVar(&w.ManualSync, "manual-sync", false, "let people sync all the same")
		f.BoolVar(&w.SyncOverrun, "sync-overrun", false, "let a sync go on that was allowed when it began")
		f.BoolVar(&w.UseAndOperator, "use-and-operator", false, "applications, namespaces and clusters must all fit, and not one of them")
		fixed(cmd, "kind", string(v1alpha1.SyncWindowKindAllow), string(v1alpha1.SyncWindowKindDeny))
	}
	f.StringVar(&w.Schedule, "schedule", "", `when it opens, as in "0 22 * * *"`)
	f.StringVar(&w.Duration, "duration", "", "how long it is open, as in 1h or 90m")
	f.StringSliceVar(&w.Applications, "applications", nil, "applications that it is for, as in prod-*,website")
	f.StringSliceVar(&w.Namespaces, "namespaces", nil, "namespaces that it is for, as in default,*-prod")
	f.StringSliceVar(&w.Clusters, "clusters", nil, "clusters that it is for, as in prod,staging")
	zone := ""
	if whole {
		zone = "UTC"
	}
	f.StringVar(&w.TimeZone, "time-zone", zone, "time zone of the schedule, as in Europe/Berlin")
	f.StringVar(&w.Description, "description", "", "why there is such a window")
}

// window is the one that the flags describe.
func (w *windowFlags) window() (v1alpha1.SyncWindow, error) {
	out := w.SyncWindow
	out.Kind = v1alpha1.SyncWindowKind(w.kind)
	if w.kind == "" || w.Schedule == "" || w.Duration == "" || len(w.Applications)+len(w.Namespaces)+len(w.Clusters) == 0 {
		return out, usagef("a window needs --kind, --schedule, --duration, and at least one of --applications, --namespaces and --clusters")
	}
	return out, nil
}

// change sets what was typed, and nothing else.
func (w *windowFlags) change(f *pflag.FlagSet) (func(*v1alpha1.SyncWindow), error) {
	sets := map[string]func(*v1alpha1.SyncWindow){
		"schedule":     func(to *v1alpha1.SyncWindow) { to.Schedule = w.Schedule },
		"duration":     func(to *v1alpha1.SyncWindow) { to.Duration = w.Duration },
		"applications": func(to *v1alpha1.SyncWindow) { to.Applications = w.Applications },
		"namespaces":   func(to *v1alpha1.SyncWindow) { to.Namespaces = w.Namespaces },
		"clusters":     func(to *v1alpha1.SyncWindow) { to.Clusters = w.Clusters },
		"time-zone":    func(to *v1alpha1.SyncWindow) { to.TimeZone = w.TimeZone },
		"description":  func(to *v1alpha1.SyncWindow) { to.Description = w.Description },
	}
	some := false
	for name := range sets {
		some = some || f.Changed(name)
	}
	if !some {
		return nil, usagef("say what to change, as in --duration 2h")
	}
	return func(to *v1alpha1.SyncWindow) {
		for name, set := range sets {
			if f.Changed(name) {
				set(to)
			}
		}
	}, nil
}
