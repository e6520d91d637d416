package server

import (
	"slices"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/plan"
	"github.com/towline-cd/towline/internal/engine"
)

// Plan is what a sync would do, in the order in which it would.
type Plan struct {
	Application string         `json:"application"`
	Revision    string         `json:"revision"`
	Status      string         `json:"status"`
	Summary     map[string]int `json:"summary"`
	Waves       []Wave         `json:"waves"`
	Findings    []Finding      `json:"findings"`
}

// Wave is what is done together, before what comes after it.
type Wave struct {
	Phase   string       `json:"phase"`
	Wave    int          `json:"wave"`
	Objects []PlanObject `json:"objects"`
}

// PlanObject is one object of a plan.
type PlanObject struct {
	Key
	Version string `json:"version,omitempty"`
	Action  string `json:"action"`
	Sync    string `json:"sync,omitempty"`
	// Reason says why.
	Reason string `json:"reason,omitempty"`
	Hook   bool   `json:"hook,omitempty"`
	// Aside is made on the way and is no part of the application; Extra does not count, though Git does not have it.
	Aside   bool          `json:"aside,omitempty"`
	Extra   bool          `json:"extra,omitempty"`
	Changes []FieldChange `json:"changes,omitempty"`
}

// Key names an object.
type Key struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

func keyOf(k object.Key) Key { return Key(k) }

// FieldChange is a field that a sync would change. Values of Secrets are masked.
type FieldChange struct {
	Path    string   `json:"path"`
	Live    any      `json:"live,omitempty"`
	Desired any      `json:"desired,omitempty"`
	HeldBy  []Holder `json:"heldBy,omitempty"`
}

// Holder is who else holds a field.
type Holder struct {
	Manager     string `json:"manager"`
	Operation   string `json:"operation"`
	Subresource string `json:"subresource,omitempty"`
	// WroteLast is when the manager last wrote anything of the object.
	WroteLast string `json:"wroteLast,omitempty"`
}

// Finding is something that people should know.
type Finding struct {
	Reason   string `json:"reason"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Object   *Key   `json:"object,omitempty"`
}

// inspect looks at the application of a request at the revisions that it names.
func (s *Server) inspect(req *Request) (engine.Sight, error) {
	if s.Inspector == nil {
		return engine.Sight{}, absent("the comparison")
	}
	revisions, err := revisionsOf(req, len(req.app().Sources()))
	if err != nil {
		return engine.Sight{}, err
	}
	sight, err := s.Inspector.Inspect(req, req.app(), revisions)
	// What a server said of a Secret may repeat what is in it.
	show := req.shower()
	for _, it := range sight.Plan.Items {
		if it.Key.Secret() && it.Desired.Body != nil {
			_ = show.show(it.Desired.Body)
		}
	}
	return sight, err
}

func (s *Server) plan(req *Request) (any, error) {
	sight, err := s.inspect(req)
	if err != nil {
		return nil, err
	}
	p := sight.Plan
	out := Plan{
		Application: req.app().Name, Revision: sight.Content.Name(), Status: string(p.Status()), Summary: map[string]int{},
		Waves: []Wave{}, Findings: req.findings(p.Findings),
	}
	for _, it := range p.Items {
		out.Summary[string(it.Action)]++
	}
	for _, it := range p.Items {
		if it.Action == plan.Unchanged && !req.Flag("all") {
			continue
		}
		last := len(out.Waves) - 1
		if last < 0 || out.Waves[last].Phase != string(it.Phase) || out.Waves[last].Wave != it.Wave {
			out.Waves = append(out.Waves, Wave{Phase: string(it.Phase), Wave: it.Wave})
			last++
		}
		out.Waves[last].Objects = append(out.Waves[last].Objects, req.planObject(it))
	}
	return out, nil
}

func (r *Request) planObject(it plan.Item) PlanObject {
	return PlanObject{
		Key: keyOf(it.Key), Version: it.Version, Action: string(it.Action), Sync: string(it.Sync),
		Reason: r.hush(reasonOf(it)), Hook: it.Hook,
		Aside: it.Aside, Extra: it.Prunable && it.Live != nil && it.Live.Extra, Changes: changesOf(it.Verdict.Changes),
	}
}

// reasonOf says why an object is in a plan as it is.
func reasonOf(it plan.Item) string {
	if it.Reason != "" {
		return it.Reason
	}
	switch it.Action {
	case plan.Create:
		return "it is in Git and not in the cluster"
	case plan.Prune:
		return "an earlier revision put it there, and Git no longer has it"
	case plan.Update:
		return "it differs from Git"
	case plan.RunHook:
		return "it is a hook of this phase"
	case plan.Unchanged:
		return "it is as Git says"
	case plan.Skip, plan.Deny:
	}
	return ""
}

func changesOf(list []diff.Change) []FieldChange {
	var out []FieldChange
	for _, c := range list {
		shown := FieldChange{Path: c.Path, Live: c.Live, Desired: c.Desired}
		for _, h := range c.Holders {
			shown.HeldBy = append(shown.HeldBy, Holder{
				Manager: h.Manager, Operation: h.Operation, Subresource: h.Subresource, WroteLast: h.Time,
			})
		}
		out = append(out, shown)
	}
	return out
}

func (r *Request) findings(list []finding.Finding) []Finding {
	out := []Finding{}
	for _, f := range list {
		shown := Finding{Reason: string(f.Reason), Severity: string(f.Severity), Message: r.hush(f.Message)}
		if !f.Key.IsZero() {
			k := keyOf(f.Key)
			shown.Object = &k
		}
		out = append(out, shown)
	}
	return out
}

// Explanation tells of each field that differs, and what to do about it.
type Explanation struct {
	Application string         `json:"application"`
	Revision    string         `json:"revision"`
	Status      string         `json:"status"`
	Objects     []ExplainedObj `json:"objects"`
	Findings    []Finding      `json:"findings"`
}

// ExplainedObj is an object that differs.
type ExplainedObj struct {
	PlanObject
	// Rule would leave the fields to whoever wrote them.
	Rule string `json:"rule,omitempty"`
}

func (s *Server) explain(req *Request) (any, error) {
	sight, err := s.inspect(req)
	if err != nil {
		return nil, err
	}
	q := req.resource()
	named := q != resourceQuery{}
	out := Explanation{
		Application: req.app().Name, Revision: sight.Content.Name(), Status: string(sight.Plan.Status()), Objects: []ExplainedObj{},
		Findings: req.findings(sight.Plan.Findings),
	}
	for _, it := range sight.Plan.Items {
		if !q.takes(it.Key) || !named && it.Action == plan.Unchanged {
			continue
		}
		e := ExplainedObj{PlanObject: req.planObject(it)}
		if len(it.Verdict.Changes) > 0 {
			paths := make([]string, len(it.Verdict.Changes))
			for i, c := range it.Verdict.Changes {
				paths[i] = c.Path
			}
			e.Rule = diff.SuggestRule(it.Key, paths)
		}
		out.Objects = append(out.Objects, e)
	}
	return out, nil
}

// DriftEpisode is a field that somebody changed in the cluster and that was set right.
type DriftEpisode struct {
	Key
	Field    string    `json:"field,omitempty"`
	Manager  string    `json:"manager,omitempty"`
	Revision string    `json:"revision,omitempty"`
	Seen     time.Time `json:"seen"`
	Healed   time.Time `json:"healed,omitzero"`
}

// drift are the last episodes, the newest first.
func (s *Server) drift(req *Request) (any, error) {
	if s.Events == nil {
		return nil, absent("drift")
	}
	app := req.app()
	episodes, err := s.Events.Drift(req, app.Namespace, app.Name)
	if err != nil {
		return nil, err
	}
	out := Items[DriftEpisode]{Items: []DriftEpisode{}}
	for _, e := range slices.Backward(episodes) {
		out.Items = append(out.Items, DriftEpisode{
			Key: keyOf(e.Key), Field: e.Path, Manager: e.Manager, Revision: e.Revision, Seen: e.Seen, Healed: e.Healed,
		})
	}
	return out, nil
}

// Timeline is the running sync, or the last one, object by object.
type Timeline struct {
	Application string          `json:"application"`
	Phase       string          `json:"phase,omitempty"`
	Message     string          `json:"message,omitempty"`
	StartedAt   *time.Time      `json:"startedAt,omitempty"`
	FinishedAt  *time.Time      `json:"finishedAt,omitempty"`
	Seconds     float64         `json:"seconds"`
	Revision    string          `json:"revision,omitempty"`
	Revisions   []string        `json:"revisions,omitempty"`
	InitiatedBy string          `json:"initiatedBy,omitempty"`
	Automated   bool            `json:"automated,omitempty"`
	Retries     int64           `json:"retries,omitempty"`
	Phases      []TimelinePhase `json:"phases"`
	// Waiting are the objects that the sync has not finished with.
	Waiting []Key          `json:"waiting,omitempty"`
	History []TimelinePast `json:"history"`
}

// TimelinePhase is a part of a sync.
type TimelinePhase struct {
	Phase   string           `json:"phase"`
	Results []TimelineResult `json:"results"`
}

// TimelineResult is what became of an object.
type TimelineResult struct {
	Key
	Status    string `json:"status,omitempty"`
	Message   string `json:"message,omitempty"`
	Hook      string `json:"hook,omitempty"`
	HookPhase string `json:"hookPhase,omitempty"`
	// BeganAt and EndedAt are when this process saw the object begin and end, where it saw the sync run.
	BeganAt *time.Time `json:"beganAt,omitempty"`
	EndedAt *time.Time `json:"endedAt,omitempty"`
}

// TimelinePast is an earlier sync.
type TimelinePast struct {
	ID          int64     `json:"id"`
	Revision    string    `json:"revision,omitempty"`
	Revisions   []string  `json:"revisions,omitempty"`
	DeployedAt  time.Time `json:"deployedAt"`
	Seconds     float64   `json:"seconds,omitempty"`
	InitiatedBy string    `json:"initiatedBy,omitempty"`
	Automated   bool      `json:"automated,omitempty"`
}

func (s *Server) timeline(req *Request) (any, error) {
	app := req.app()
	out := Timeline{Application: app.Name, Phases: []TimelinePhase{}, History: []TimelinePast{}}
	for _, h := range slices.Backward(app.Status.History) {
		past := TimelinePast{
			ID: h.ID, Revision: h.Revision, Revisions: h.Revisions, DeployedAt: h.DeployedAt.UTC(),
			InitiatedBy: h.InitiatedBy.Username, Automated: h.InitiatedBy.Automated,
		}
		if h.DeployStartedAt != nil {
			past.Seconds = h.DeployedAt.Sub(h.DeployStartedAt.Time).Seconds()
		}
		out.History = append(out.History, past)
	}
	op := app.Status.OperationState
	if op == nil {
		return out, nil
	}
	began, end := op.StartedAt.UTC(), s.Now()
	out.Phase, out.Message, out.StartedAt, out.Retries = string(op.Phase), req.hush(op.Message), &began, op.RetryCount
	out.InitiatedBy, out.Automated = op.Operation.InitiatedBy.Username, op.Operation.InitiatedBy.Automated
	if op.FinishedAt != nil {
		end = op.FinishedAt.UTC()
		out.FinishedAt = &end
	}
	out.Seconds = max(end.Sub(began).Seconds(), 0)
	if r := op.SyncResult; r != nil {
		out.Revision, out.Revisions = r.Revision, r.Revisions
		out.Phases, out.Waiting = phasesOf(req, r.Resources, s.paces.of(s.appKey(req), op.StartedAt.Time))
		if op.FinishedAt != nil {
			// Of the last wave nobody says that it is over.
			out.Waiting = nil
		}
	}
	return out, nil
}

// phasesOf puts the results of a sync into its phases, in the order in which they were recorded.
func phasesOf(req *Request, results v1alpha1.ResourceResults, seen func(v1alpha1.ResourceResult) (span, bool)) (
	phases []TimelinePhase, waiting []Key,
) {
	phases = []TimelinePhase{}
	for _, r := range results {
		k := Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
		i := slices.IndexFunc(phases, func(p TimelinePhase) bool { return p.Phase == string(r.SyncPhase) })
		if i < 0 {
			i = len(phases)
			phases = append(phases, TimelinePhase{Phase: string(r.SyncPhase)})
		}
		told := TimelineResult{
			Key: k, Status: string(r.Status), Message: req.hush(r.Message), Hook: string(r.HookType), HookPhase: string(r.HookPhase),
		}
		if at, known := seen(r); known {
			told.BeganAt, told.EndedAt = pointer(at.Began), pointer(at.Ended)
		}
		phases[i].Results = append(phases[i].Results, told)
		if r.HookPhase == v1alpha1.OperationRunning {
			waiting = append(waiting, k)
		}
	}
	return phases, waiting
}

// Why says what stands between the caller and an action.
type Why struct {
	Action  string     `json:"action"`
	Allowed bool       `json:"allowed"`
	Checks  []WhyCheck `json:"checks"`
}

// WhyCheck is one thing that was looked at.
type WhyCheck struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Why    string `json:"why"`
	// Line is the line of the rules that decided.
	Line string `json:"line,omitempty"`
}

// why answers "why can I not": the rules first, then what stands in the way of a sync.
func (s *Server) why(req *Request) (any, error) {
	action := req.Text("action")
	if action == "" {
		action = "sync"
	}
	app := req.app()
	out := Why{Action: action, Allowed: true, Checks: []WhyCheck{}}
	add := func(c WhyCheck) {
		out.Checks = append(out.Checks, c)
		out.Allowed = out.Allowed && c.Passed
	}
	automatic := action == "autosync"
	if !automatic {
		right := action
		if action == "rollback" {
			right = s.rollbackVerb()
		}
		v := s.Decider.Decide(req.Caller, Question{Resource: "applications", Action: right, Object: s.objectOf(app)})
		add(WhyCheck{Name: "rbac", Passed: v.Allowed, Why: v.Why, Line: v.Line})
	}
	if action != "sync" && action != "rollback" && !automatic {
		return out, nil
	}
	if s.Adviser == nil {
		return nil, absent("advice")
	}
	checks, err := s.Adviser.Checks(req, app, !automatic)
	if err != nil {
		return nil, err
	}
	for _, c := range checks {
		add(WhyCheck{Name: c.Name, Passed: c.Passed, Why: req.hush(c.Why)})
	}
	return out, nil
}
