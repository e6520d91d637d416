package controller

import (
	"slices"
	"sync"
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
// first. Every fairness-th turn goes to the least urgent lane that has
// anything, so that a busy fleet still gets round to everyone.
type lanes struct {
	mu sync.Mutex
	// wanted is the cause for which an item will be, or is, queued.
	wanted map[string]Cause
	lane   [causes][]string
	turn   int
}

const fairness = 16

func newLanes() *lanes { return &lanes{wanted: map[string]Cause{}} }

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
		at := slices.Index(l.lane[i], item)
		if at < 0 || Cause(i) <= c {
			continue
		}
		l.lane[i] = slices.Delete(l.lane[i], at, at+1)
		l.lane[c] = append(l.lane[c], item)
		return
	}
}

// Push queues an item in the lane of its cause.
func (l *lanes) Push(item string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.cause(item)
	l.lane[c] = append(l.lane[c], item)
}

// Len is the number of queued items.
func (l *lanes) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, lane := range l.lane {
		n += len(lane)
	}
	return n
}

// Pop takes the next item.
func (l *lanes) Pop() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn++
	pick := -1
	for i, lane := range l.lane {
		if len(lane) == 0 {
			continue
		}
		pick = i
		if l.turn%fairness != 0 {
			break
		}
	}
	if pick < 0 {
		return ""
	}
	item := l.lane[pick][0]
	l.lane[pick] = l.lane[pick][1:]
	delete(l.wanted, item)
	return item
}

func (l *lanes) cause(item string) Cause {
	if c, ok := l.wanted[item]; ok {
		return c
	}
	return Resync
}
