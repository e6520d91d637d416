package status

import (
	"slices"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/core/object"
)

// causesNamed bounds an explanation: past three causes a reader looks at the
// tree anyway.
const causesNamed = 3

// Explain says for people what an object that is not healthy waits for, or why
// it failed, with the help of what came from it: not "Waiting for rollout" but
// "2 of 3 pods ready; web-7d9f waits: ImagePullBackOff nginx:1.99". The object's
// own words are kept where they say more than a count. below is not changed.
func Explain(root object.Fact, below []*object.Fact) string {
	message := root.Health.Message
	if s := root.Health.Status; s != health.Progressing && s != health.Degraded || root.Deleting {
		return message
	}
	causes := explainBelow(below)
	if len(causes) == 0 {
		return message
	}
	head := message
	if count := podCount(root); count != "" && root.Health.Status == health.Progressing {
		head = count
	}
	if more := len(causes) - causesNamed; more > 0 {
		causes = append(causes[:causesNamed], "and "+plural(more, "more cause"))
	}
	if head != "" {
		causes = slices.Insert(causes, 0, head)
	}
	return strings.Join(causes, "; ")
}

// podCount is "2 of 3 pods ready" for a workload that says so and is not there
// yet.
func podCount(f object.Fact) string {
	ready, wanted, ok := strings.Cut(f.Columns.Get("ready"), "/")
	if !ok || ready == wanted || f.Key.Group != "apps" {
		return ""
	}
	return ready + " of " + wanted + " pods ready"
}

// explainBelow has one text for each cause, with the names of all that share
// it, the failures first.
func explainBelow(below []*object.Fact) []string {
	blames := map[string]*blame{}
	for _, f := range below {
		if !isCause(f) || ownsACause(f, below) {
			continue
		}
		b := blameOf(f)
		if have := blames[b.text]; have != nil {
			have.names = append(have.names, b.names...)
			continue
		}
		blames[b.text] = &b
	}
	all := make([]*blame, 0, len(blames))
	for _, b := range blames {
		slices.Sort(b.names)
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b *blame) int {
		if a.failed != b.failed {
			if a.failed {
				return -1
			}
			return 1
		}
		return strings.Compare(a.names[0]+a.text, b.names[0]+b.text)
	})
	out := make([]string, 0, len(all))
	for _, b := range all {
		out = append(out, b.String())
	}
	return out
}

// blame is one cause and those that have it.
type blame struct {
	names []string
	// text is the cause; waits says that it is a bare reason for waiting.
	text   string
	waits  bool
	failed bool
}

func (b *blame) String() string {
	who := b.names[0]
	if n := len(b.names); n == 2 {
		who += " and " + b.names[1]
	} else if n > 2 {
		who += ", " + b.names[1] + " and " + plural(n-2, "more")
	}
	switch {
	case !b.waits:
		return who + ": " + b.text
	case len(b.names) > 1:
		return who + " wait: " + b.text
	}
	return who + " waits: " + b.text
}

// isCause leaves out what is fine or on its way out, and the sets between a
// workload and its pods, which only repeat the count.
func isCause(f *object.Fact) bool {
	if f.Deleting || f.Quiet {
		return false
	}
	switch f.Health.Status {
	case health.Degraded:
		return true
	case health.Progressing:
		return f.Key.Group != "apps"
	default:
		return false
	}
}

// ownsACause says that something further down tells more. What failed by
// itself is told all the same.
func ownsACause(f *object.Fact, below []*object.Fact) bool {
	if f.UID == "" || f.Health.Status == health.Degraded {
		return false
	}
	return slices.ContainsFunc(below, func(child *object.Fact) bool {
		return isCause(child) && slices.ContainsFunc(child.Owners, func(o object.Owner) bool { return o.UID == f.UID })
	})
}

func blameOf(f *object.Fact) blame {
	failed := f.Health.Status == health.Degraded
	if f.Key.Group != "" || f.Key.Kind != "Pod" {
		return blame{names: []string{f.Key.Kind + " " + f.Key.Name}, text: brief(f.Health), failed: failed}
	}
	names := []string{f.Key.Name}
	why := f.Columns.Get("status")
	if !spellsWaiting(why) {
		return blame{names: names, text: brief(f.Health), failed: failed}
	}
	if image := f.Columns.Get("image"); image != "" {
		why += " " + image
	}
	return blame{names: names, text: why, waits: true, failed: failed}
}

// spellsWaiting says whether a pod's one word is the reason for which one of
// its containers waits. The words of the kubelet about it add nothing.
func spellsWaiting(why string) bool {
	why = strings.TrimPrefix(why, "Init:")
	return strings.HasSuffix(why, "BackOff") || strings.HasPrefix(why, "ErrImage") || strings.HasSuffix(why, "ConfigError") ||
		why == "InvalidImageName"
}

func brief(h health.Health) string {
	const most = 200
	if h.Message == "" {
		return string(h.Status)
	}
	if len(h.Message) <= most {
		return h.Message
	}
	return strings.ToValidUTF8(h.Message[:most], "") + "…"
}

func plural(n int, what string) string {
	text := strconv.Itoa(n) + " " + what
	if n > 1 && what != "more" {
		text += "s"
	}
	return text
}
