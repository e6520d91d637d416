package engine

import (
	"container/list"
	"encoding/json"
	"sync"

	"github.com/towline-cd/towline/internal/core/manifest"
)

// renders remembers rendered manifests by the content that they were made
// from, up to a number of bytes; the least recently used go first. A commit is
// another name for the content that it has, so that the same commit is found
// without opening it. What renders returns is shared: nobody may change it.
type renders struct {
	most int

	mu      sync.Mutex
	size    int
	entries map[string]*list.Element
	// names are the other names of the entries.
	names map[string]string
	order *list.List
}

type rendered struct {
	key    string
	names  []string
	size   int
	result manifest.Result
}

func newRenders(most int) *renders {
	return &renders{most: most, entries: map[string]*list.Element{}, names: map[string]string{}, order: list.New()}
}

// get finds a render by its key or by another name.
func (r *renders) get(key string) (manifest.Result, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if content, ok := r.names[key]; ok {
		key = content
	}
	el, ok := r.entries[key]
	if !ok {
		return manifest.Result{}, false
	}
	r.order.MoveToFront(el)
	entry, _ := el.Value.(*rendered)
	return entry.result, true
}

// mostNames bounds the commits that an entry is known by; the oldest go first.
const mostNames = 8

// name adds another name to an entry.
func (r *renders) name(name, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	el, ok := r.entries[key]
	if !ok || r.names[name] == key {
		return
	}
	entry, _ := el.Value.(*rendered)
	entry.names = append(entry.names, name)
	r.names[name] = key
	if len(entry.names) > mostNames {
		delete(r.names, entry.names[0])
		entry.names = entry.names[1:]
	}
}

func (r *renders) put(key string, result manifest.Result) {
	size := len(key)
	for _, o := range result.Objects {
		raw, err := json.Marshal(o.Object)
		if err != nil {
			return
		}
		// Decoded, a manifest takes several times the bytes of its JSON.
		size += 6 * len(raw)
	}
	if size > r.most {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if el, ok := r.entries[key]; ok {
		r.drop(el)
	}
	r.entries[key] = r.order.PushFront(&rendered{key: key, size: size, result: result})
	r.size += size
	for r.size > r.most {
		r.drop(r.order.Back())
	}
}

func (r *renders) drop(el *list.Element) {
	entry, _ := r.order.Remove(el).(*rendered)
	delete(r.entries, entry.key)
	for _, n := range entry.names {
		delete(r.names, n)
	}
	r.size -= entry.size
}
