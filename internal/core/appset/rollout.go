package appset

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// RolloutInput is what the next moves of a rolling sync depend on.
type RolloutInput struct {
	Set *v1alpha1.ApplicationSet
	Now time.Time
	// Apps are the Applications as they were generated, automation and all.
	Apps []*v1alpha1.Application
	// Owned are the Applications as they are when the changes of their specs are written.
	Owned []*v1alpha1.Application
}

// RolloutResult is the next move of a rolling sync.
type RolloutResult struct {
	// Statuses is what the status of the set says of each Application, in the order of their names.
	Statuses []v1alpha1.ApplicationSetApplicationStatus
	// Start are the syncs to start, in the order of the names.
	Start []Start
	// Manual are the Applications that must not sync by themselves; see WithoutAutomation.
	Manual []string
	// Invalid says why the steps cannot be followed; nothing is then started.
	Invalid string
	// Done says that every Application that a step selects is healthy.
	Done bool
	// Message says how far the rollout is.
	Message string
}

// Start is a sync to start.
type Start struct {
	App       *v1alpha1.Application
	Operation *v1alpha1.Operation
}

// stepless is the step of an Application that no step selects.
const stepless = -1

// Rolling tells whether the Applications of a set are synced step by step.
func Rolling(set *v1alpha1.ApplicationSet) bool {
	s := set.Spec.Strategy
	return s != nil && s.Type == v1alpha1.ApplicationSetStrategyRollingSync && s.RollingSync != nil && len(s.RollingSync.Steps) > 0
}

// WithoutAutomation is an Application that does not sync by itself; one that never did is returned as it is.
func WithoutAutomation(app *v1alpha1.Application) *v1alpha1.Application {
	if app.Spec.SyncPolicy == nil || app.Spec.SyncPolicy.Automated == nil {
		return app
	}
	out := app.DeepCopy()
	out.Spec.SyncPolicy.Automated = nil
	if reflect.ValueOf(*out.Spec.SyncPolicy).IsZero() {
		out.Spec.SyncPolicy = nil
	}
	return out
}

// Rollout says how far each Application is, which of them to sync now, and why the others wait.
func Rollout(in RolloutInput) RolloutResult {
	if !Rolling(in.Set) {
		return unrolled(in.Set)
	}
	steps := in.Set.Spec.Strategy.RollingSync.Steps
	r := &rollout{RolloutInput: in, steps: steps, was: map[string]v1alpha1.ApplicationSetApplicationStatus{}}
	for _, s := range in.Set.Status.ApplicationStatus {
		r.was[s.Application] = s
	}
	r.members()
	for _, app := range in.Apps {
		r.Manual = append(r.Manual, app.Name)
	}
	slices.Sort(r.Manual)
	if r.Invalid = invalid(steps); r.Invalid != "" {
		r.Statuses = in.Set.Status.ApplicationStatus
		r.Message = "the rollout stands still: " + r.Invalid
		return r.RolloutResult
	}
	r.run()
	return r.RolloutResult
}

func unrolled(set *v1alpha1.ApplicationSet) RolloutResult {
	if s := set.Spec.Strategy; s != nil && s.Type == v1alpha1.ApplicationSetStrategyRollingSync {
		return RolloutResult{
			Invalid: "spec.strategy.rollingSync has no steps, so that the Applications sync as if the type were AllAtOnce; add steps",
		}
	}
	return RolloutResult{}
}

// rollout is one run of Rollout.
type rollout struct {
	RolloutInput
	RolloutResult

	steps []v1alpha1.ApplicationSetRolloutStep
	was   map[string]v1alpha1.ApplicationSetApplicationStatus
	all   []member
}

// member is an Application in a rollout.
type member struct {
	want *v1alpha1.Application
	// app is the Application as it is, or nil.
	app   *v1alpha1.Application
	step  int
	state v1alpha1.ApplicationSetApplicationStatus
}

func (r *rollout) members() {
	owned := make(map[string]*v1alpha1.Application, len(r.Owned))
	for _, app := range r.Owned {
		owned[app.Name] = app
	}
	for _, app := range r.Apps {
		r.all = append(r.all, member{want: app, app: owned[app.Name], step: stepOf(r.steps, app)})
	}
	slices.SortFunc(r.all, func(a, b member) int { return strings.Compare(a.want.Name, b.want.Name) })
}

// stepOf is the first step that selects an Application.
func stepOf(steps []v1alpha1.ApplicationSetRolloutStep, app *v1alpha1.Application) int {
	return slices.IndexFunc(steps, func(s v1alpha1.ApplicationSetRolloutStep) bool {
		for _, e := range s.MatchExpressions {
			// Without the label an Application is selected by neither operator.
			v, ok := app.Labels[e.Key]
			if !ok || slices.Contains(e.Values, v) != (e.Operator == v1alpha1.ApplicationMatchOperatorIn) {
				return false
			}
		}
		return true
	})
}

// invalid says what is wrong with the steps.
func invalid(steps []v1alpha1.ApplicationSetRolloutStep) string {
	for i, s := range steps {
		at := fmt.Sprintf("spec.strategy.rollingSync.steps[%d]", i)
		for j, e := range s.MatchExpressions {
			if e.Operator != v1alpha1.ApplicationMatchOperatorIn && e.Operator != v1alpha1.ApplicationMatchOperatorNotIn {
				return fmt.Sprintf("%s.matchExpressions[%d] has the operator %q; write In or NotIn", at, j, e.Operator)
			}
		}
		if s.MaxUpdate == nil {
			continue
		}
		if n, err := intstr.GetScaledValueFromIntOrPercent(s.MaxUpdate, 100, false); err != nil || n < 0 {
			return fmt.Sprintf("%s.maxUpdate is %q; write a number, as in 3, or a percentage, as in 25%%", at, s.MaxUpdate.String())
		}
	}
	return ""
}

// most is how many of a step's Applications may be on the way at once.
func most(step v1alpha1.ApplicationSetRolloutStep, total int) int {
	if step.MaxUpdate == nil {
		return total
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(step.MaxUpdate, total, false)
	if err != nil {
		return 0
	}
	// A percentage above zero is one at least, or a small step would never end.
	percent := step.MaxUpdate.Type == intstr.String
	if whole, _ := intstr.GetScaledValueFromIntOrPercent(step.MaxUpdate, 100, true); percent && n == 0 && whole > 0 {
		return 1
	}
	return n
}

func (r *rollout) run() {
	for i := range r.all {
		m := &r.all[i]
		m.state = r.observed(m)
	}
	blocked := ""
	selected, healthy := 0, 0
	for i, step := range r.steps {
		var of []*member
		for j := range r.all {
			if r.all[j].step == i {
				of = append(of, &r.all[j])
			}
		}
		r.advance(i, most(step, len(of)), of, blocked)
		selected += len(of)
		for _, m := range of {
			if m.state.Status == v1alpha1.ProgressiveSyncHealthy {
				healthy++
			} else if blocked == "" {
				blocked = fmt.Sprintf("step %d waits for %s, which is %s", i+1, m.want.Name, m.state.Status)
			}
		}
	}
	for _, m := range r.all {
		r.Statuses = append(r.Statuses, r.settled(m))
	}
	r.Done = blocked == ""
	r.Message = fmt.Sprintf("%d of %d Applications are healthy", healthy, selected)
	if blocked != "" {
		r.Message += "; " + blocked
	}
}

// advance lets as many of a step's waiting Applications go on as may, and says why the others wait.
func (r *rollout) advance(step, allowed int, of []*member, blocked string) {
	active := 0
	for _, m := range of {
		if m.state.Status == v1alpha1.ProgressiveSyncPending || m.state.Status == v1alpha1.ProgressiveSyncProgressing {
			active++
		}
	}
	for _, m := range of {
		if m.state.Status == v1alpha1.ProgressiveSyncWaiting {
			switch {
			case m.app == nil:
				m.state.Message = "it has to be created first"
			case running(m.app):
				m.state.Message = "it is being synced by " + cmp.Or(m.app.Status.OperationState.Operation.InitiatedBy.Username, "somebody")
			case blocked != "":
				m.state.Message = blocked
			case !compared(m.app):
				m.state.Message = "it has to be compared with its spec first"
			case allowed == 0:
				m.state.Message = fmt.Sprintf("maxUpdate of step %d is 0: it waits for a person; sync it to go on", step+1)
			case active >= allowed:
				m.state.Message = fmt.Sprintf("%d of at most %d Applications of step %d are on the way", active, allowed, step+1)
			default:
				active++
				m.state.Status = v1alpha1.ProgressiveSyncPending
				m.state.Message = "its turn has come, and its sync is being started"
			}
		}
		if m.state.Status == v1alpha1.ProgressiveSyncPending && startable(m.app) {
			r.Start = append(r.Start, Start{App: m.app, Operation: r.operation(m)})
		}
	}
}

// startable tells whether the sync of a pending Application is still to be started. One that was started, and ended however
// it did, has made the Application Progressing.
func startable(app *v1alpha1.Application) bool {
	return app != nil && app.Operation == nil && !running(app)
}

func running(app *v1alpha1.Application) bool {
	o := app.Status.OperationState
	return o != nil && !o.Phase.Completed()
}

// operation is the sync as the Application's own policy would make it.
func (r *rollout) operation(m *member) *v1alpha1.Operation {
	out := &v1alpha1.Operation{
		InitiatedBy: v1alpha1.OperationInitiator{Username: v1alpha1.InitiatorRollout, Automated: true},
		Info:        []v1alpha1.Info{{Name: "Reason", Value: fmt.Sprintf("step %d of the rollout of %s", m.step+1, r.Set.Name)}},
		Sync:        &v1alpha1.SyncOperation{},
		Retry:       v1alpha1.RetryStrategy{Limit: 5},
	}
	p := m.want.Spec.SyncPolicy
	if p == nil {
		return out
	}
	out.Sync.SyncOptions = slices.Clone(p.SyncOptions)
	if p.Automated != nil && p.Automated.Prune != nil {
		out.Sync.Prune = *p.Automated.Prune
	}
	if p.Retry != nil {
		out.Retry = *p.Retry.DeepCopy()
	}
	return out
}

// settled is the state of an Application with the time of its last change.
func (r *rollout) settled(m member) v1alpha1.ApplicationSetApplicationStatus {
	s := m.state
	was, ok := r.was[s.Application]
	if ok && was.Status == s.Status {
		s.LastTransitionTime = was.LastTransitionTime
	}
	if s.LastTransitionTime == nil || !ok || was.Status != s.Status {
		s.LastTransitionTime = new(metav1.NewTime(r.Now).Rfc3339Copy())
	}
	return s
}

// DeletionOrder are the Applications to delete next when a set is deleted: the last step first, and the next one when it
// is gone. Those that no step selects come last. None means that the step is going, or that nothing is left.
func DeletionOrder(set *v1alpha1.ApplicationSet, apps []*v1alpha1.Application) (next []*v1alpha1.Application) {
	byStep := map[int][]*v1alpha1.Application{}
	for _, app := range apps {
		step := 0
		if Rolling(set) && set.Spec.Strategy.DeletionOrder == v1alpha1.ApplicationSetDeletionOrderReverse {
			step = stepOf(set.Spec.Strategy.RollingSync.Steps, app)
		}
		byStep[step] = append(byStep[step], app)
	}
	if len(byStep) == 0 {
		return nil
	}
	for _, app := range byStep[slices.Max(slices.Collect(maps.Keys(byStep)))] {
		if app.DeletionTimestamp == nil {
			next = append(next, app)
		}
	}
	slices.SortFunc(next, func(a, b *v1alpha1.Application) int { return strings.Compare(a.Name, b.Name) })
	return next
}

func stepName(step int) string {
	if step == stepless {
		return strconv.Itoa(stepless)
	}
	return strconv.Itoa(step + 1)
}
