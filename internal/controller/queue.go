package controller

import (
	"slices"
	"sync"
	"time"
)

// Cause is why an application is looked at. The order is the priority: a
// person who waits comes before everything that happens by itself.
type Cause int

// The causes, the most urgent first.
const (
	User Cause = iota
	Webhook
	Drift
	Resync
	causes
)

// String is the cause as logs have it.
func (c Cause) String() string {
	switch c {
	case User:
		return "user"
	case Webhook:
		return "webhook"
	case Drift:
		return "drift"
	default:
		return "resync"
	}
}

// lanes is the order of a work queue: one lane for each cause, the most urgent
// first, and in it the items in the order in which they came. Every
// fairness-th turn goes to the least urgent lane that has anything, so that a
// busy fleet still gets round to everyone. An item whose place has its share of
// the workers waits, and those of other places pass it.
type lanes struct {
	mu sync.Mutex
	// wanted is the cause for which an item will be, or is, queued.
	wanted map[string]Cause
	lane   [causes]lane
	turn   int
	// came counts what was queued.
	came uint64
	// working is for what the items are that somebody works on.
	working map[string]Cause
	now     func() time.Time

	places
}

// lane are the items of one cause, by their places.
type lane map[string][]ticket

// ticket is a queued item, and when it came.
type ticket struct {
	item string
	came uint64
	at   time.Time
}

const fairness = 16

func newLanes() *lanes {
	l := &lanes{wanted: map[string]Cause{}, working: map[string]Cause{}, now: time.Now, places: newPlaces()}
	for i := range l.lane {
		l.lane[i] = lane{}
	}
	return l
}

// want notes the cause for an item about to be added. The most urgent stays.
func (l *lanes) want(item string, c Cause) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if have, ok := l.wanted[item]; !ok || c < have {
		l.wanted[item] = c
	}
}

// Touch moves an item that is already queued to the lane of its cause.
func (l *lanes) Touch(item string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.cause(item)
	for i := range l.lane {
		if Cause(i) > c && l.lane[i].remove(item) {
			l.push(c, item)
			return
		}
	}
}

// Push queues an item in the lane of its cause.
func (l *lanes) Push(item string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.push(l.cause(item), item)
}

func (l *lanes) push(c Cause, item string) {
	l.came++
	at := l.place[item]
	l.lane[c][at] = append(l.lane[c][at], ticket{item, l.came, l.now()})
}

// Len is the number of queued items whose place has workers left.
func (l *lanes) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, lane := range l.lane {
		for at, row := range lane {
			if l.free(at) {
				n += len(row)
			}
		}
	}
	return n
}

// Pop takes the next item. Whoever takes one says when it is done.
func (l *lanes) Pop() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn++
	pick, from := -1, ""
	for i, lane := range l.lane {
		at, ok := lane.first(l.free)
		if !ok {
			continue
		}
		pick, from = i, at
		if l.turn%fairness != 0 {
			break
		}
	}
	if pick < 0 {
		return ""
	}
	row := l.lane[pick][from]
	item := row[0].item
	if l.lane[pick][from] = row[1:]; len(row) == 1 {
		delete(l.lane[pick], from)
	}
	delete(l.wanted, item)
	l.working[item] = Cause(pick)
	l.begin(item, from)
	return item
}

func (l *lanes) cause(item string) Cause {
	if c, ok := l.wanted[item]; ok {
		return c
	}
	return Resync
}

// first is the place of the item that came first, of those that are free.
func (l lane) first(free func(string) bool) (place string, ok bool) {
	var came uint64
	for at, row := range l {
		if free(at) && (!ok || row[0].came < came) {
			place, came, ok = at, row[0].came, true
		}
	}
	return place, ok
}

// remove takes an item out.
func (l lane) remove(item string) bool {
	for at, row := range l {
		i := slices.IndexFunc(row, func(t ticket) bool { return t.item == item })
		if i < 0 {
			continue
		}
		if l[at] = slices.Delete(row, i, i+1); len(row) == 1 {
			delete(l, at)
		}
		return true
	}
	return false
}

// because is what an item is worked on for.
func (l *lanes) because(item string) Cause {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := l.working[item]; ok {
		return c
	}
	return Resync
}

// Age is how long the item that came first to a place has waited, and how many wait there.
type Age struct {
	Oldest  time.Duration
	Waiting int
}

// Ages are the ages of all places where somebody waits. It looks at the first of each row, and at no other.
func (c *Controller) Ages() map[string]Age {
	l := c.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	now, out := l.now(), map[string]Age{}
	for _, lane := range l.lane {
		for at, row := range lane {
			a := out[at]
			a.Waiting += len(row)
			a.Oldest = max(a.Oldest, now.Sub(row[0].at))
			out[at] = a
		}
	}
	return out
}
