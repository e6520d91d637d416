package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/towline-cd/towline/api/v1alpha1"
)

const (
	clearScreen = "\x1b[H\x1b[2J\x1b[3J"
	clearBelow  = "\x1b[J"
	lineUp      = "\x1b[%dA"

	usualWidth  = 80
	usualHeight = 24
)

// live is the reporter for terminals: one picture, drawn over itself.
type live struct {
	*session
	trackers []*tracker
	// drawn is how many lines the picture on the screen has.
	drawn int
}

func (l *live) update() {
	var b strings.Builder
	for _, line := range l.picture() {
		b.WriteString(line + "\n")
	}
	drawn := strings.Count(b.String(), "\n")
	// One write, so that the terminal never shows a half.
	fmt.Fprint(l.env.Err, l.erase()+b.String())
	l.drawn = drawn
}

func (l *live) erase() string {
	if l.drawn == 0 {
		return ""
	}
	return fmt.Sprintf(lineUp, l.drawn) + "\r" + clearBelow
}

func (l *live) say(notice string) {
	fmt.Fprint(l.env.Err, l.erase()+clean(notice)+"\n")
	l.drawn = 0
}

// close takes the picture away: the result follows.
func (l *live) close() {
	fmt.Fprint(l.env.Err, l.erase())
	l.drawn = 0
}

func (l *live) size() (width, height int) {
	width, height = l.env.Width, l.env.Height
	if width <= 0 {
		width = usualWidth
	}
	if height <= 0 {
		height = usualHeight
	}
	return width, height
}

// picture is never higher than the screen: what scrolled away cannot be drawn
// over.
func (l *live) picture() []string {
	width, height := l.size()
	room := max(height-1, 1)
	shown := slices.Clone(l.trackers)
	if len(shown) > room {
		slices.SortStableFunc(shown, func(a, b *tracker) int { return a.urgency() - b.urgency() })
		shown = shown[:max(room-1, 1)]
		room--
	}
	share := (room - len(shown)) / len(shown)
	var out []string
	for _, t := range shown {
		out = append(out, l.head(t, width))
		out = append(out, l.objects(t, width, share)...)
	}
	if hidden := len(l.trackers) - len(shown); hidden > 0 && height > 2 {
		out = append(out, l.err.paint(faint, "… and "+plural(hidden, "more application")))
	}
	return out
}

func (l *live) head(t *tracker, width int) string {
	phase, message := t.phase()
	elapsed := duration.HumanDuration(max(l.env.Now().Sub(t.begun), 0))
	text := clean(t.name) + "  "
	rest := cut(strings.TrimRight("  "+elapsed+"  "+message, " "), max(width-utf8.RuneCountInString(text)-len(phase), 1))
	return l.err.paint(bold, text) + l.err.paint(phaseColour(phase), string(phase)) + rest
}

func (l *live) objects(t *tracker, width, room int) []string {
	results := t.results()
	hidden := 0
	if len(results) > room {
		keep := max(room-1, 0)
		hidden = len(results) - keep
		results = pressing(results)[:keep]
	}
	var out []string
	for _, r := range results {
		text := cut(resultLine(r), width-2)
		m, rest, _ := strings.Cut(text, " ")
		out = append(out, "  "+l.err.paint(resultColour(r), m)+" "+rest)
	}
	if hidden > 0 && room > 0 {
		out = append(out, l.err.paint(faint, fmt.Sprintf("  … and %d more", hidden)))
	}
	return out
}

// pressing puts first what needs attention.
func pressing(in v1alpha1.ResourceResults) v1alpha1.ResourceResults {
	urgency := []string{markFailed, markRunning, markSkipped, markDone}
	out := slices.Clone(in)
	slices.SortStableFunc(out, func(a, b v1alpha1.ResourceResult) int {
		return slices.Index(urgency, mark(a)) - slices.Index(urgency, mark(b))
	})
	return out
}
