package conformance_test

import (
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
)

// wanted are the lines of a section.
func (e *enactment) wanted(section string) []string {
	text, _ := e.text(section)
	text = e.fold(text)
	return slices.DeleteFunc(strings.Split(text, "\n"), func(s string) bool {
		return strings.TrimSpace(s) == "" || foreign && strings.HasPrefix(strings.TrimSpace(s), says)
	})
}

// expect holds one line against what is told now, or soon. `not` in front of
// it wants it not to be told.
func (p *play) expect(line string) {
	p.Helper()
	line = p.fold(line)
	line, not := strings.CutPrefix(line, "not ")
	has := func() bool {
		return slices.ContainsFunc(p.view([]string{"resources:", line}), func(got string) bool {
			return matches(line, strings.TrimSpace(got))
		})
	}
	if not {
		if has() {
			p.Errorf("not expected: %s\n%s", line, strings.Join(p.view(nil), "\n"))
		}
		return
	}
	if !p.until("expected: "+line, has) {
		p.Errorf("there is:\n%s", strings.Join(p.view([]string{"resources:"}), "\n"))
	}
}

// compare holds what is told against the section, or writes it there. It may
// take a moment to come true, and has to stay so after another look.
func (p *play) compare() {
	p.Helper()
	section := p.then(p.profile)
	want := p.wanted(section)
	var got []string
	look := func() bool {
		got = p.matched(want, p.view(want))
		return slices.Equal(want, got)
	}
	limit := time.Now().Add(patience / 3)
	if *update || p.known != "" {
		limit = time.Now().Add(patience / 30)
	}
	for !look() && time.Now().Before(limit) {
		select {
		case <-p.pulse:
		case <-time.After(400 * time.Millisecond):
		}
	}
	if (*update || slices.Equal(want, got)) && p.lasts(got) {
		p.refresh("")
		look()
	}
	if *update && p.known == "" {
		p.must(p.record(section, strings.Join(got, "\n")+"\n"))
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		p.Errorf("%s: wrong (-want +got):\n%s", section, d)
	}
}

// lasts says that what is told may be looked at once more: there is an
// application, it is not in the middle of something, and its case, which may
// have blinded the implementation, is not alone.
func (p *play) lasts(got []string) bool {
	return !p.alone && !slices.Contains(got, "operation: Running") && !slices.Contains(got, "application: gone") &&
		!slices.Contains(got, "application: going")
}

// matched takes the wanted line where … in it stands for the rest.
func (p *play) matched(want, got []string) []string {
	for i := range got {
		if j := slices.IndexFunc(want, func(w string) bool { return matches(w, got[i]) }); j >= 0 {
			got[i] = want[j]
		}
	}
	if foreign {
		got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(strings.TrimSpace(s), says) })
	}
	return got
}

// matches reports whether a line is as wanted, where … stands for anything.
func matches(want, got string) bool {
	parts := strings.Split(want, "…")
	if len(parts) == 1 {
		return want == got
	}
	if !strings.HasPrefix(got, parts[0]) || !strings.HasSuffix(got, parts[len(parts)-1]) {
		return false
	}
	for _, part := range parts {
		_, rest, ok := strings.Cut(got, part)
		if !ok {
			return false
		}
		got = rest
	}
	return true
}
