package engine

import (
	"container/list"
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// renders remembers rendered manifests by what they were made from, up to a
// number of bytes; the least recently used go first. What it returns is
// shared: nobody may change it.
type renders struct {
	most int

	mu      sync.Mutex
	size    int
	entries map[string]*list.Element
	order   *list.List
}

type rendered struct {
	key     string
	size    int
	objects []*unstructured.Unstructured
}

func newRenders(most int) *renders {
	return &renders{most: most, entries: map[string]*list.Element{}, order: list.New()}
}

func (r *renders) get(key string) ([]*unstructured.Unstructured, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	el, ok := r.entries[key]
	if !ok {
		return nil, false
	}
	r.order.MoveToFront(el)
	entry, _ := el.Value.(rendered)
	return entry.objects, true
}

func (r *renders) put(key string, objects []*unstructured.Unstructured) {
	size := len(key)
	for _, o := range objects {
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
	r.entries[key] = r.order.PushFront(rendered{key: key, size: size, objects: objects})
	r.size += size
	for r.size > r.most {
		r.drop(r.order.Back())
	}
}

func (r *renders) drop(el *list.Element) {
	entry, _ := r.order.Remove(el).(rendered)
	delete(r.entries, entry.key)
	r.size -= entry.size
}
