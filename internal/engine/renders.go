package engine

import (
	"bytes"
	"container/list"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/core/frame"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// renders remembers rendered manifests by what was asked for, up to a number of
// bytes; the least recently used go first. One question has an answer for each
// content that it was asked about. What renders returns is shared: nobody may
// change it.
type renders struct {
	most int

	mu   sync.Mutex
	size int
	// asked has the answers to a question, the newest first.
	asked map[string][]*list.Element
	// names are the revisions that an answer is known to be of: content is found
	// by them without being looked at.
	names map[string]*list.Element
	order *list.List
}

// rendered is the answer to a question.
type rendered struct {
	Result manifest.Result
	// Revision and APIs are those that the answer depends on; empty if it does
	// not.
	Revision, APIs string
	// Needs are what had to be fetched besides.
	Needs []needed
	// Made is when a plugin made it; zero for what follows from its content
	// alone.
	Made time.Time `json:",omitzero"`
	// Names are kept here for the next process.
	Names []string

	ask  string
	size int
}

// needed is a need and what met it.
type needed struct {
	Need manifest.Need
	// Revision is what its own revision stood for when it was looked up at Seen.
	Revision string
	Seen     time.Time
}

func newRenders(most int) *renders {
	return &renders{most: most, asked: map[string][]*list.Element{}, names: map[string]*list.Element{}, order: list.New()}
}

// named finds an answer by one of its names.
func (r *renders) named(name string) (*rendered, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	el, ok := r.names[name]
	if !ok {
		return nil, false
	}
	r.order.MoveToFront(el)
	entry, _ := el.Value.(*rendered)
	return entry, true
}

// answers are those that a question has got so far, the newest first.
func (r *renders) answers(ask string) []*rendered {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*rendered, 0, len(r.asked[ask]))
	for _, el := range r.asked[ask] {
		entry, _ := el.Value.(*rendered)
		out = append(out, entry)
	}
	return out
}

// Bounds on what is kept of one question: its answers, and the names of each;
// the oldest go first.
const (
	mostAnswers = 4
	mostNames   = 8
)

// name adds a name to an answer, and says whether it is new.
func (r *renders) name(entry *rendered, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.asked[entry.ask], func(el *list.Element) bool { return el.Value == entry })
	if i < 0 || slices.Contains(entry.Names, name) {
		return false
	}
	el := r.asked[entry.ask][i]
	entry.Names = append(slices.Clip(entry.Names), name)
	r.names[name] = el
	for len(entry.Names) > mostNames {
		r.unname(entry.Names[0], el)
		entry.Names = entry.Names[1:]
	}
	return true
}

// knows says whether an answer is known by a name.
func (r *renders) knows(entry *rendered, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(entry.Names, name)
}

// encode makes what the next process needs of an answer: a line with all but the
// objects, and a line for each of these, which is read in one pass.
func (r *renders) encode(entry *rendered) ([]byte, error) {
	r.mu.Lock()
	head := *entry
	r.mu.Unlock()
	head.Result.Objects = nil
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	if err := lines.Encode(head); err != nil {
		return nil, err
	}
	for _, o := range entry.Result.Objects {
		if err := lines.Encode(o.Object); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// decodeHead reads what encode made, but for the objects.
func decodeHead(data []byte) (*rendered, error) {
	head, _, _ := bytes.Cut(data, []byte("\n"))
	out := &rendered{}
	return out, json.Unmarshal(head, out)
}

// decode reads what encode made.
func decode(data []byte) (*rendered, error) {
	out, err := decodeHead(data)
	if err != nil {
		return nil, err
	}
	_, lines, _ := bytes.Cut(data, []byte("\n"))
	for line := range bytes.Lines(lines) {
		o := &unstructured.Unstructured{}
		if _, _, ok := frame.Unstructured(line, o); !ok {
			if err := o.UnmarshalJSON(line); err != nil {
				return nil, err
			}
		}
		out.Result.Objects = append(out.Result.Objects, o)
	}
	return out, nil
}

func (r *renders) unname(name string, el *list.Element) {
	if r.names[name] == el {
		delete(r.names, name)
	}
}

// put keeps an answer with the names that it has. encoded is how many bytes it
// is encoded; decoded it takes several times as much.
func (r *renders) put(ask string, entry *rendered, encoded int) {
	entry.ask, entry.size = ask, len(ask)+6*encoded
	if entry.size > r.most {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	el := r.order.PushFront(entry)
	r.asked[ask] = slices.Insert(r.asked[ask], 0, el)
	for _, n := range entry.Names {
		r.names[n] = el
	}
	r.size += entry.size
	for len(r.asked[ask]) > mostAnswers {
		r.drop(r.asked[ask][mostAnswers])
	}
	for r.size > r.most {
		r.drop(r.order.Back())
	}
}

func (r *renders) drop(el *list.Element) {
	entry, _ := r.order.Remove(el).(*rendered)
	r.asked[entry.ask] = slices.DeleteFunc(r.asked[entry.ask], func(other *list.Element) bool { return other == el })
	if len(r.asked[entry.ask]) == 0 {
		delete(r.asked, entry.ask)
	}
	for _, n := range entry.Names {
		r.unname(n, el)
	}
	r.size -= entry.size
}
