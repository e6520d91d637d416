package truth_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// The sections that say what has to come of a situation.
const (
	then      = "then"
	explain   = "explain"
	afterSync = "after sync"
)

// TestTruth plays every situation of testdata.
func TestTruth(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	check(t, err)
	if len(files) == 0 {
		t.Fatal("there are no situations")
	}
	s := newStage(t)
	t.Run("situations", func(t *testing.T) {
		for _, file := range mine(t, files) {
			situation, err := readSituation(file)
			check(t, err)
			t.Run(situation.name, func(t *testing.T) {
				t.Parallel()
				p := &play{T: t, stage: s, situation: situation, counting: -1}
				p.perform()
				p.acknowledge()
				if t.Failed() {
					t.Logf("towline's log:\n%s", s.log.about("app="+situation.name+" "))
				}
			})
		}
	})
}

// mine are the files of the part that is asked for: every so-manieth, for
// neighbours are alike.
func mine(t *testing.T, files []string) []string {
	t.Helper()
	if part == "" {
		return files
	}
	var one, of int
	if _, err := fmt.Sscanf(part, "%d/%d", &one, &of); err != nil || one < 0 || one >= of {
		t.Fatalf("TOWLINE_TRUTH_PART is %q: write the part, counted from 0, and the number of parts, such as 1/3", part)
	}
	var out []string
	for i := one; i < len(files); i += of {
		out = append(out, files[i])
	}
	return out
}

func (p *play) perform() {
	p.set()
	for _, line := range p.steps {
		p.step(line)
	}
	wanted, _ := p.text(then)
	v := p.look(wanted)
	p.requests(&v)
	p.compare(then, v)
	if _, ok := p.text(explain); ok {
		p.compare(explain, p.explained())
	}
	if v.sync == string(v1alpha1.SyncStatusCodeSynced) {
		p.swear()
	}
	if _, ok := p.text(afterSync); ok {
		v = p.afterSync()
	}
	if v.sync != string(v1alpha1.SyncStatusCodeUnknown) {
		p.rest()
	}
}

// acknowledge lists what is known to be wrong, and notices when it is right.
func (p *play) acknowledge() {
	p.Helper()
	switch {
	case p.known == "":
	case len(p.wrong) == 0:
		p.T.Errorf("this is right now; remove its line \"known: %s\"", p.known)
	default:
		p.Logf("known: %s\n%s", p.known, strings.Join(p.wrong, "\n"))
	}
}

// requests adds what was asked of the server since the situation began to
// count.
func (p *play) requests(v *verdict) {
	p.Helper()
	if p.counting < 0 {
		return
	}
	n, err := p.audit.count(p.Context(), p.counting, p.situation.name)
	p.must(err)
	v.add("requests: %s", n)
	p.counting = -1
}

// afterSync syncs, and looks again.
func (p *play) afterSync() verdict {
	p.Helper()
	app := p.sync()
	wanted, _ := p.text(afterSync)
	told := verdict{}
	told.operation(app)
	v := p.look(wanted)
	v.lines = append(told.lines, v.lines...)
	p.compare(afterSync, v)
	if v.sync == string(v1alpha1.SyncStatusCodeSynced) {
		p.swear()
	}
	return v
}

// rest checks that what is known costs nothing. What is not known is asked
// again each time, and a rollout that the situation began may still move the
// object: that ends.
func (p *play) rest() {
	p.Helper()
	var cost string
	for range 5 {
		before, err := p.audit.until(p.Context())
		p.must(err)
		p.refresh()
		cost, err = p.audit.count(p.Context(), before, p.situation.name)
		p.must(err)
		if cost == "none" {
			return
		}
	}
	p.Errorf("a refresh without a change cost %s", cost)
}
