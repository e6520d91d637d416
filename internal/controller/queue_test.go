package controller

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
	"pgregory.net/rapid"
)

func (l *lanes) add(item string, c Cause) {
	l.want(item, c)
	l.Push(item)
}

func (l *lanes) drain() []string {
	var out []string
	for l.Len() > 0 {
		out = append(out, l.Pop())
	}
	return out
}

func TestLanesPopTheMostUrgentFirst(t *testing.T) {
	l := newLanes()
	l.Push("nobody said why")
	l.add("resync", Resync)
	l.add("drift", Drift)
	l.add("webhook", Webhook)
	l.add("user 1", User)
	l.add("user 2", User)
	want := []string{"user 1", "user 2", "webhook", "drift", "nobody said why", "resync"}
	if d := cmp.Diff(want, l.drain()); d != "" {
		t.Errorf("the order differs (-want +got):\n%s", d)
	}
	if l.Pop() != "" || l.Len() != 0 {
		t.Error("an empty queue has something")
	}
}

func TestLanesTouch(t *testing.T) {
	cases := map[string]struct {
		first, then Cause
		want        []string
	}{
		"raises":                    {Resync, User, []string{"a", "b"}},
		"raises behind its equals":  {Resync, Drift, []string{"b", "a"}},
		"never lowers":              {User, Resync, []string{"a", "b"}},
		"the same cause stays put":  {Drift, Drift, []string{"a", "b"}},
		"a little more urgent only": {Resync, Webhook, []string{"a", "b"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLanes()
			l.add("a", c.first)
			l.add("b", Drift)
			l.want("a", c.then)
			l.Touch("a")
			if d := cmp.Diff(c.want, l.drain()); d != "" {
				t.Errorf("the order differs (-want +got):\n%s", d)
			}
		})
	}
	l := newLanes()
	l.want("not queued", User)
	l.Touch("not queued")
	if l.Len() != 0 {
		t.Error("touching queued an item")
	}
}

func TestLanesForgetTheCauseOfWhatTheyGave(t *testing.T) {
	l := newLanes()
	l.add("a", User)
	l.Pop()
	l.Push("a")
	l.add("b", Drift)
	if d := cmp.Diff([]string{"b", "a"}, l.drain()); d != "" {
		t.Errorf("a retry kept the urgency of its first time (-want +got):\n%s", d)
	}
	if len(l.wanted) != 0 {
		t.Errorf("causes of items that are not queued are kept: %v", l.wanted)
	}
}

// TestLanesGiveTheLowLaneItsTurn: users never stop asking, and the resyncs
// are done all the same, one in every sixteen turns.
func TestLanesGiveTheLowLaneItsTurn(t *testing.T) {
	l := newLanes()
	for i := range 5 {
		l.add(fmt.Sprint("low ", i), Resync)
	}
	var at []int
	for turn := 1; len(at) < 5 && turn <= 1000; turn++ {
		l.add(fmt.Sprint("user ", turn), User)
		if item := l.Pop(); item[:3] == "low" {
			at = append(at, turn)
		}
	}
	if d := cmp.Diff([]int{16, 32, 48, 64, 80}, at); d != "" {
		t.Errorf("the turns of the low lane differ (-want +got):\n%s", d)
	}
}

// TestLanesLoseNothing drives a work queue with these lanes as its order
// beside a simple model: each item that was added comes out once, none is lost,
// none comes twice, and but for the fair turns none comes before a more urgent
// one.
func TestLanesLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLanes()
		queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Queue: l})
		defer queue.ShutDown()
		items := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		queued, again, turn := map[string]Cause{}, map[string]Cause{}, 0
		var working []string
		most := func(m map[string]Cause, item string, c Cause) {
			if have, ok := m[item]; !ok || c < have {
				m[item] = c
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"enqueue": func(t *rapid.T) {
				item, c := items.Draw(t, "item"), Cause(rapid.IntRange(0, int(causes)-1).Draw(t, "cause"))
				l.want(item, c)
				queue.Add(item)
				if slices.Contains(working, item) {
					most(again, item, c)
					return
				}
				most(queued, item, c)
			},
			"retry": func(t *rapid.T) {
				// An item that comes back by itself has no cause of its own.
				item := items.Draw(t, "item")
				queue.Add(item)
				if slices.Contains(working, item) {
					most(again, item, Resync)
					return
				}
				most(queued, item, Resync)
			},
			"get": func(t *rapid.T) {
				if len(queued) == 0 {
					t.Skip("nothing is queued")
				}
				item, _ := queue.Get()
				turn++
				c, ok := queued[item]
				if !ok {
					t.Fatalf("%q came and was not queued", item)
				}
				for other, oc := range queued {
					if fair := turn%fairness == 0; !fair && oc < c || fair && oc > c {
						t.Errorf("turn %d: %q (%s) came before %q (%s)", turn, item, c, other, oc)
					}
				}
				delete(queued, item)
				working = append(working, item)
			},
			"done": func(t *rapid.T) {
				if len(working) == 0 {
					t.Skip("nobody works")
				}
				item := working[0]
				working = working[1:]
				queue.Done(item)
				if c, ok := again[item]; ok {
					delete(again, item)
					queued[item] = c
				}
			},
			"": func(t *rapid.T) {
				if queue.Len() != len(queued) {
					t.Fatalf("%d are queued, want %d", queue.Len(), len(queued))
				}
			},
		})
	})
}

func TestCauseNames(t *testing.T) {
	var got []string
	for c := range causes {
		got = append(got, c.String())
	}
	if d := cmp.Diff([]string{"user", "webhook", "drift", "resync"}, got); d != "" {
		t.Errorf("the names differ (-want +got):\n%s", d)
	}
}
