package source

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/reads"
)

// Changes are the paths that differ between two commits, in order. Only the folders that differ are looked into. What
// came, went or became something else is told with Shape, a folder together with everything in it.
func (s *Store) Changes(ctx context.Context, of manifest.Origin, old, now string) ([]reads.Change, error) {
	var sides [2]*snapshot
	for i, commit := range []string{old, now} {
		content, err := s.Tree(ctx, of, commit)
		if err != nil {
			return nil, fmt.Errorf("comparing %s with %s: %w", old, now, err)
		}
		snap, ok := content.(*snapshot)
		if !ok {
			return nil, fmt.Errorf("comparing %s with %s: %w", old, now, fs.ErrInvalid)
		}
		defer snap.Close() //nolint:errcheck // it only ends a process
		sides[i] = snap
	}
	c := comparison{old: sides[0], now: sides[1]}
	if err := c.roots(); err != nil {
		return nil, fmt.Errorf("comparing %s with %s: %w", old, now, err)
	}
	slices.SortFunc(c.found, func(a, b reads.Change) int { return strings.Compare(a.Path, b.Path) })
	return c.found, nil
}

// comparison collects the differences of two snapshots.
type comparison struct {
	old, now *snapshot
	found    []reads.Change
}

func (c *comparison) roots() error {
	before, err := c.old.top()
	if err != nil {
		return err
	}
	after, err := c.now.top()
	if err != nil {
		return err
	}
	return c.folders(place{before}, place{after})
}

// folders compares two folders at the same path. A nil one is not there.
func (c *comparison) folders(before, after place) error {
	if len(before) > 0 && len(after) > 0 && sameContent(before, after) {
		return nil
	}
	if max(len(before), len(after)) > maxDepth {
		return fault.Terminalf("TooDeep", "there are more than %d folders within each other", maxDepth)
	}
	before, old, err := c.old.entries(before)
	if err != nil {
		return err
	}
	after, now, err := c.now.entries(after)
	if err != nil {
		return err
	}
	for len(old) > 0 || len(now) > 0 {
		var left, right *entry
		left, right, old, now = first(old, now)
		if alike(left, right) {
			continue
		}
		if err := c.pair(before, after, left, right); err != nil {
			return err
		}
	}
	return nil
}

// first takes the entries of the name that comes first, of which one side may have none.
func first(old, now []entry) (left, right *entry, oldRest, nowRest []entry) {
	takeOld := len(now) == 0 || len(old) > 0 && old[0].name <= now[0].name
	takeNow := len(old) == 0 || len(now) > 0 && now[0].name <= old[0].name
	if takeOld {
		left, old = &old[0], old[1:]
	}
	if takeNow {
		right, now = &now[0], now[1:]
	}
	return left, right, old, now
}

// alike says that both sides have the same under a name. Of a folder of ten thousand names nearly all are, so it comes
// before anything that costs more than a glance.
func alike(left, right *entry) bool {
	return left != nil && right != nil && left.hash == right.hash && left.mode == right.mode
}

// pair compares what stands under one name on both sides; nil is nothing.
func (c *comparison) pair(before, after place, left, right *entry) error {
	var old, now place
	if left != nil {
		old = append(slices.Clip(before), *left)
	}
	if right != nil {
		now = append(slices.Clip(after), *right)
	}
	there := now
	if right == nil {
		there = old
	}
	path := there.path()
	switch {
	case left == nil || right == nil || kindOf(*left) != kindOf(*right):
		c.found = append(c.found, reads.Change{Path: path, Shape: true})
	case !left.isDir():
		if left.hash != right.hash || left.mode != right.mode {
			c.found = append(c.found, reads.Change{Path: path})
		}
		return nil
	case left.isSubmodule() && right.isSubmodule() && left.hash != right.hash:
		c.found = append(c.found, reads.Change{Path: path})
	}
	// What is no folder has nothing in it.
	if left == nil || !left.isDir() {
		old = nil
	}
	if right == nil || !right.isDir() {
		now = nil
	}
	if old == nil && now == nil {
		return nil
	}
	return c.folders(old, now)
}

// kindOf is what a listing says of an entry.
func kindOf(e entry) uint32 {
	if e.isDir() {
		return modeTree
	}
	return e.mode & modeType
}

// sameContent says that two folders need not be looked into.
func sameContent(a, b place) bool {
	return a.entry().hash == b.entry().hash && a.entry().mode == b.entry().mode
}

// top is the root of the tree.
func (s *snapshot) top() (entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rootEntry()
}

// entries are what is in a folder, and the folder as it is then known; a nil place holds nothing.
func (s *snapshot) entries(at place) (place, []entry, error) {
	if len(at) == 0 {
		return nil, nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, err := s.enter(at)
	if err != nil {
		return nil, nil, err
	}
	found, err := s.inside(at)
	return at, found, err
}
