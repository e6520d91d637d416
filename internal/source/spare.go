package source

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// maxSpare bounds the processes that wait for the next who reads, over all repositories.
	maxSpare = 8
	// spareFor is how long one waits: a push wakes the applications of a repository one after the other, and then it is
	// quiet for minutes.
	spareFor = 20 * time.Second
)

// spares are processes that read objects and have nobody to read for. To start one takes longer than most of what is
// asked of it: whether a commit changed what a render had read is a matter of some folders.
type spares struct {
	mu   sync.Mutex
	shut bool
	kept []*idler // the longest unused first
}

type idler struct {
	dir    string
	reader *batch
	timer  *time.Timer
}

// take returns a reader of the repository in dir, nil if none is left.
func (s *spares) take(dir string) *batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, one := range slices.Backward(s.kept) {

		if one.dir != dir {
			continue
		}
		s.kept = slices.Delete(s.kept, i, i+1)
		one.timer.Stop()
		if one.reader.alive() {
			return one.reader
		}
		go one.reader.stop()
	}
	return nil
}

// give keeps a reader that nobody uses any more.
func (s *spares) give(dir string, reader *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut || !reader.alive() {
		go reader.stop()
		return
	}
	if len(s.kept) == maxSpare {
		oldest := s.kept[0]
		s.kept = slices.Delete(s.kept, 0, 1)
		oldest.timer.Stop()
		go oldest.reader.stop()
	}
	one := &idler{dir: dir, reader: reader}
	one.timer = time.AfterFunc(spareFor, func() { s.end(one) })
	s.kept = append(s.kept, one)
}

// end stops a reader that waited long enough.
func (s *spares) end(one *idler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.kept, one); i >= 0 {
		s.kept = slices.Delete(s.kept, i, i+1)
		go one.reader.stop()
	}
}

// close stops all of them, and whatever is given from now on.
func (s *spares) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = true
	for _, one := range s.kept {
		one.timer.Stop()
		one.reader.stop()
	}
	s.kept = nil
}

// lent is a reader as long as a snapshot has it.
type lent struct {
	*batch
	dir    string
	spares *spares
	// used says that it read for others before; detach ends its bond to the snapshot.
	used   bool
	detach func() bool
}

// lend takes a spare reader, or starts one if there is none or fresh is asked for. It ends with ctx, unless it is given
// back before.
func (s *Store) lend(ctx context.Context, dir string, fresh bool) (*lent, error) {
	out := &lent{dir: dir, spares: &s.spares}
	if !fresh {
		out.batch = s.spares.take(dir)
	}
	if out.used = out.batch != nil; !out.used {
		var err error
		// It may outlive this snapshot and read for the next.
		if out.batch, err = s.git.startBatch(context.WithoutCancel(ctx), dir); err != nil {
			return nil, err
		}
	}
	out.detach = context.AfterFunc(ctx, out.cancel)
	return out, nil
}

// giveBack leaves the reader to others. It must not be in the middle of an answer.
func (l *lent) giveBack() {
	if l.detach() {
		l.spares.give(l.dir, l.batch)
		return
	}
	l.stop()
}

// end stops the reader.
func (l *lent) end() {
	l.detach()
	l.stop()
}
