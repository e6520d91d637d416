package stream

import "github.com/towline-cd/towline/internal/server/catalog"

// turn is what another policy means for a stream.
type turn struct {
	// gone are the applications that the client knows and may not see any more, and
	// come those that it may see from now on.
	gone, come []*catalog.Row
	// left is how many it may see.
	left int
}

// blind says that the client has lost the sight of everything.
func (t turn) blind() bool { return len(t.gone) > 0 && t.left == 0 }

// turn compares what the caller saw with what it sees now, as far as the stream
// is about it. Before is nil where that is the same. What waits to be told is
// something that the client knows as it was before.
func (s *session) turn(before *catalog.Eye, waiting []entry) (turn, error) {
	if before == nil {
		return turn{}, nil
	}
	was, err := s.Catalog.Find(s.filter.query(*before))
	if err != nil {
		return turn{}, err
	}
	is, err := s.Catalog.Find(s.filter.query(*s.eye.Load()))
	if err != nil {
		return turn{}, err
	}
	seen := make(map[catalog.Key]bool, len(is.Rows))
	for _, row := range is.Rows {
		seen[row.Key] = true
	}
	known := make(map[catalog.Key]bool, len(was.Rows))
	out := turn{left: len(is.Rows)}
	lose := func(row *catalog.Row) {
		if !known[row.Key] && !seen[row.Key] {
			out.gone = append(out.gone, row)
		}
		known[row.Key] = true
	}
	for _, row := range was.Rows {
		lose(row)
	}
	for _, e := range waiting {
		if s.filter.takes(e.before) && before.SeesRow(e.before) {
			lose(e.before)
		}
	}
	for _, row := range is.Rows {
		if !known[row.Key] {
			out.come = append(out.come, row)
		}
	}
	return out, nil
}
