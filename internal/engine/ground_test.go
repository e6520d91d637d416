package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/reads"
)

// TestStandsAreWhereTheirApplicationsAre: whatever is set, moved and forgotten,
// everybody is known to have read what he would be known to have read alone.
func TestStandsAreWhereTheirApplicationsAre(t *testing.T) {
	p := place{repo: "https://git.example.com/shop", revision: "main"}
	for seed := range uint64(200) {
		dice := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the same each time
		f, alone := newFootprints(), map[string]string{}
		var apps []string
		for i := range 6 {
			apps = append(apps, fmt.Sprintf("app-%d", i))
		}
		commit := func() string { return fmt.Sprintf("c%d", dice.IntN(4)) }
		for range 60 {
			app := apps[dice.IntN(len(apps))]
			switch dice.IntN(8) {
			case 0:
				f.set(app, nil)
				delete(alone, app)
			case 1, 2, 3, 4:
				alone[app] = commit()
				f.set(app, map[place]footprint{p: {commit: alone[app], reads: []reads.Read{{Path: app, Kind: reads.File}}}})
			default:
				m := move{p, commit(), commit()}
				var want []string
				for _, one := range apps {
					switch {
					case alone[one] != m.from:
					case one == app:
						want = append(want, one)
					default:
						alone[one] = m.to
					}
				}
				if got := f.move(m, []reads.Change{{Path: app}}, apps); len(alone) > 0 && !slices.Equal(want, got) {
					t.Fatalf("seed %d: a change to %s concerns %v, want %v", seed, app, got, want)
				}
			}
			got := map[string]string{}
			if g := f.places[p]; g != nil {
				for one, s := range g.at {
					got[one] = s.commit
				}
			}
			if d := cmp.Diff(alone, got); d != "" {
				t.Fatalf("seed %d (-alone +together)\n%s", seed, d)
			}
		}
		for _, app := range apps {
			f.set(app, nil)
		}
		if len(f.places) != 0 || len(f.apps) != 0 {
			t.Fatalf("seed %d: something is left: %v %v", seed, f.places, f.apps)
		}
	}
}
