package script

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/internal/core/health"
)

// Rule says which script judges the objects of a kind. Kind is written as
// group/Kind, or Kind alone for the core group, with * for anything.
type Rule struct {
	Kind   string
	Script Script
}

// Runner runs a script once for each set of globals.
type Runner interface {
	Run(s Script, runs []map[string]any) []Result
}

// Judge gives objects their health by the scripts of the user. Objects of
// kinds without one are not its business.
type Judge struct {
	runner Runner
	rules  atomic.Pointer[kinds[Script]]
}

// NewJudge makes a judge without rules.
func NewJudge(r Runner) *Judge {
	j := &Judge{runner: r}
	j.rules.Store(newKinds[Script](nil))
	return j
}

// Set changes the rules. The answer says of a kind whether its objects are
// judged by another script than before.
func (j *Judge) Set(list []Rule) (moved func(schema.GroupKind) bool) {
	all := make(map[string]Script, len(list))
	for _, r := range list {
		all[r.Kind] = r.Script
	}
	next := newKinds(all)
	before := j.rules.Swap(next)
	return func(gk schema.GroupKind) bool {
		was, wasThere := before.of(gk)
		is, isThere := next.of(gk)
		return wasThere != isThere || was != is
	}
}

// Script is the script that judges the objects of a kind, if there is one.
func (j *Judge) Script(gk schema.GroupKind) (Script, bool) { return j.rules.Load().of(gk) }

// Scripted says whether objects of a kind are judged by a script.
func (j *Judge) Scripted(gk schema.GroupKind) bool {
	_, ok := j.rules.Load().of(gk)
	return ok
}

// Health judges objects of one kind, in their order. An object that is on its
// way out is so whatever a script says.
func (j *Judge) Health(objects []*unstructured.Unstructured) []health.Health {
	out := make([]health.Health, len(objects))
	if len(objects) == 0 {
		return out
	}
	s, ok := j.rules.Load().of(objects[0].GroupVersionKind().GroupKind())
	var runs []map[string]any
	var places []int
	for i, u := range objects {
		if h, going := health.Going(u); going || !ok {
			out[i] = h
			if !going {
				out[i] = health.Of(u)
			}
			continue
		}
		runs, places = append(runs, map[string]any{"obj": u.Object}), append(places, i)
	}
	if len(runs) == 0 {
		return out
	}
	for i, r := range j.runner.Run(s, runs) {
		out[places[i]] = healthOf(s, r)
		out[places[i]].Source = health.FromScript
	}
	return out
}

// longestMessage is how much of a script's message is kept.
const longestMessage = 4 << 10

// healthOf reads what a script returned. No status is a status too: the object
// has none yet, which is not the same as a kind without health.
func healthOf(s Script, r Result) health.Health {
	unknown := func(format string, args ...any) health.Health {
		return health.Health{Status: health.Unknown, Message: s.Origin + ": " + fmt.Sprintf(format, args...)}
	}
	if r.Problem != "" {
		return health.Health{Status: health.Unknown, Message: clip(r.Problem)}
	}
	silent := health.Health{Message: "its health script says nothing yet"}
	switch v := r.Value.(type) {
	case nil:
		return silent
	case []any:
		if len(v) == 0 {
			return silent
		}
		return unknown("it returns a list; return a table with status and message")
	case map[string]any:
		status, _ := v["status"].(string)
		if !slices.Contains(statuses, health.Status(status)) {
			return unknown("it returns the status %q, which is none of %s", clip(fmt.Sprint(v["status"])), statusNames())
		}
		message, _ := v["message"].(string)
		return health.Health{Status: health.Status(status), Message: clip(message)}
	default:
		return unknown("it returns %q; return a table with status and message", clip(fmt.Sprint(v)))
	}
}

var statuses = []health.Status{
	health.Healthy, health.Suspended, health.Progressing, health.Missing, health.Degraded, health.Unknown,
}

func statusNames() string {
	names := make([]string, len(statuses))
	for i, s := range statuses {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

func clip(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) > longestMessage {
		return s[:longestMessage] + "…"
	}
	return s
}
