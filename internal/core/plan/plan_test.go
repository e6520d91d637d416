package plan_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/test/story"
)

// TestPlan runs the data files: given Git and live objects, when a sync is
// made, then this is the plan, these are the findings and the steps.
func TestPlan(t *testing.T) { story.Play(t, "testdata/*.txtar", scenario) }

// scenario plays a data file: each line of "when" is a condition or an event,
// and what follows from it is told.
func scenario(t *testing.T, section map[string][]byte) string {
	t.Helper()
	w := world{}
	for _, u := range parse(t, "live", section["given/live"]) {
		w[object.KeyOf(u)] = u
	}
	st := &stage{t: t, world: w, git: parse(t, "git", section["given/git"]), section: section}
	st.in = w.input(st.git)
	st.progress = plan.Progress{Done: map[plan.Task]plan.Outcome{}, Settle: time.Minute}
	for line := range strings.Lines(string(section["when"])) {
		if line = strings.TrimSpace(line); line != "" {
			st.when(line)
		}
	}
	return st.out.String()
}

// stage is where a data file is played.
type stage struct {
	t        *testing.T
	world    world
	git      []*unstructured.Unstructured
	section  map[string][]byte
	in       plan.Input
	progress plan.Progress
	removing bool
	over     map[plan.Phase]bool
	out      strings.Builder
}

func (st *stage) when(line string) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "sync":
		st.progress.Prune = rest == "with prune"
		st.in.Run = plan.Run{Started: time.Unix(1700000000, 0), Revision: "0123456789abcdef"}
		st.tell()
		st.run()
	case "retry":
		st.in.Run.Attempt++
		st.progress.Done = map[plan.Task]plan.Outcome{}
		st.run()
	case "terminate":
		st.terminate()
	case "remove":
		st.in.Run = plan.Run{Started: time.Unix(1700000000, 0), Revision: "0123456789abcdef"}
		st.in.Removing, st.removing, st.over = true, true, map[plan.Phase]bool{}
		st.run()
	case "becomes":
		// An object of the cluster becomes what the section says.
		for _, u := range parse(st.t, rest, st.section[rest]) {
			k := object.KeyOf(u)
			st.world[k] = merge(st.world[k], u)
		}
		st.again(line)
	case "vanishes":
		for k := range st.world {
			if k.String() == rest {
				delete(st.world, k)
			}
		}
		st.again(line)
	case "serves":
		group, kind, _ := strings.Cut(rest, "/")
		served := maps.Clone(scopes)
		served[schema.GroupKind{Group: group, Kind: kind}] = plan.ScopeNamespaced
		st.in.Cluster.Scopes = served
		st.again(line)
	case "approved":
		st.progress.Approved = true
		st.again(line)
	case "after":
		d, err := time.ParseDuration(rest)
		if err != nil {
			st.t.Fatal(err)
		}
		st.progress.Age = d
		st.again(line)
	case "looked":
		st.progress.Looked = true
		st.again(line)
	default:
		st.condition(word, rest)
	}
}

// condition is what holds from the beginning.
func (st *stage) condition(word, rest string) {
	switch word {
	case "gap":
		st.in.Cluster.Gaps = append(st.in.Cluster.Gaps, rest)
	case "create-namespace":
		st.in.App.CreateNamespace = rest
	case "option":
		st.in.App.Options = append(st.in.App.Options, rest)
	case "only":
		for _, it := range plan.Compute(st.in, st.world.answers(st.in)).Items {
			if it.Key.String() == rest {
				st.progress.Only = append(st.progress.Only, plan.Selector{
					Group: it.Key.Group, Kind: it.Key.Kind, Namespace: it.Key.Namespace, Name: it.Key.Name,
				})
			}
		}
	case "no-hooks":
		st.progress.NoHooks = true
	case "dry-run":
		st.progress.DryRun = true
	case "by-letter":
		st.progress.Gate.ByLetter = true
	case "forbid":
		st.in.Project.ClusterWhitelist = nil
	case "destination":
		st.in.Project.Destinations = []policy.Destination{{Server: "*", Namespace: rest}}
	default:
		st.t.Fatalf("unknown word %q", word)
	}
}

func (st *stage) plan() plan.Plan {
	in := st.world.input(st.git)
	st.in.Live, st.in.Desired = in.Live, in.Desired
	return plan.Compute(st.in, st.world.answers(st.in))
}

// tell writes the plan down.
func (st *stage) tell() {
	b := &st.out
	asked := plan.Ask(st.in)
	p := st.plan()
	fmt.Fprintf(b, "%s, %d asked\n", p.Status(), len(asked))
	for _, it := range p.Items {
		phase := ""
		if it.Phase != plan.InSync {
			phase = string(it.Phase) + " "
		}
		fmt.Fprintf(b, "  %-9s %-9s %swave %d  %s", it.Action, it.Sync, phase, it.Wave, it.Key)
		if it.Reason != "" {
			fmt.Fprintf(b, "  (%s)", it.Reason)
		}
		b.WriteByte('\n')
		for _, c := range it.Verdict.Changes {
			fmt.Fprintf(b, "    %s: %v -> %v\n", c.Path, c.Live, c.Desired)
		}
	}
	for _, f := range p.Findings {
		fmt.Fprintf(b, "%s %s: %s\n", f.Severity, f.Reason, f.Message)
	}
}

// again goes on after an event.
func (st *stage) again(event string) {
	fmt.Fprintf(&st.out, "then %s\n", event)
	st.run()
}

// run takes steps until the sync ends or waits. The plan is made anew each
// time, as after a restart.
func (st *stage) run() {
	if st.removing {
		st.remove()
		return
	}
	for range 100 {
		p := st.plan()
		s := plan.Next(p, st.progress)
		st.step(s)
		if ends(s) || s.Do == plan.DoLook {
			return
		}
		st.world.execute(s, p, st.progress)
	}
	st.t.Fatal("the sync does not end")
}

// remove takes the application down, as far as it goes.
func (st *stage) remove() {
	for _, phase := range []plan.Phase{plan.PreDelete, "", plan.PostDelete} {
		if st.over[phase] {
			continue
		}
		if phase == "" && !st.objects() || phase != "" && !st.removalHooks(phase) {
			return
		}
		// The engine takes a finalizer off here.
		st.over[phase] = true
	}
}

func (st *stage) removalHooks(phase plan.Phase) bool {
	for range 10 {
		p := st.plan()
		s := plan.RemovalHooks(p, phase)
		st.step(s)
		if ends(s) {
			return s.Do == plan.DoDone
		}
		st.world.execute(s, p, st.progress)
	}
	return false
}

func (st *stage) objects() bool {
	for range 10 {
		r := plan.Remove(plan.Removing{
			Managed: st.world.input(nil).Live, Project: st.in.Project, Options: st.in.App.Options, Scopes: st.in.Cluster.Scopes,
			Approved: st.progress.Approved, Place: policy.Place{Server: st.in.Server, Name: st.in.ClusterName},
		})
		for _, f := range r.Delete {
			fmt.Fprintf(&st.out, "delete %s\n", f.Key)
			delete(st.world, f.Key)
		}
		if len(r.Unconfirmed) > 0 {
			fmt.Fprintf(&st.out, "unconfirmed %s\n", r.Unconfirmed[0].Key)
			return false
		}
		if r.Over() {
			return true
		}
		if len(r.Later) > 0 {
			fmt.Fprintf(&st.out, "gone, the next wave\n")
		}
	}
	return false
}

func (st *stage) terminate() {
	for range 10 {
		p := st.plan()
		s := plan.Terminate(p, st.progress)
		st.step(s)
		if ends(s) {
			return
		}
		st.world.execute(s, p, st.progress)
	}
}

func (st *stage) step(s plan.Step) {
	fmt.Fprintf(&st.out, "step %s", s.Do)
	for i, it := range s.Items {
		fmt.Fprintf(&st.out, " %s", it.Key)
		if s.Do == plan.DoNote {
			fmt.Fprintf(&st.out, " %s %s", s.Notes[i].Code, s.Notes[i].Result)
		}
		st.out.WriteByte(';')
	}
	if s.Message != "" {
		fmt.Fprintf(&st.out, " %s", s.Message)
	}
	if s.After > 0 {
		fmt.Fprintf(&st.out, " (look again in %s)", s.After)
	}
	st.out.WriteByte('\n')
}
