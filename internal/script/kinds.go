package script

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/gobwas/glob"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kinds find what belongs to a kind: that which names it, or else the most
// particular of those with a * that match.
type kinds[T any] struct {
	exact map[string]T
	wild  []wildcard[T]

	mu    sync.RWMutex
	found map[schema.GroupKind]*T
}

type wildcard[T any] struct {
	text  string
	glob  *glob.Pattern
	value T
}

// newKinds takes what belongs to group/Kind, or Kind alone for the core group.
func newKinds[T any](all map[string]T) *kinds[T] {
	k := &kinds[T]{exact: map[string]T{}, found: map[schema.GroupKind]*T{}}
	for kind, value := range all {
		if !strings.Contains(kind, "*") {
			k.exact[kind] = value
			continue
		}
		if g, err := glob.Compile(kind); err == nil {
			k.wild = append(k.wild, wildcard[T]{text: kind, glob: g, value: value})
		}
	}
	slices.SortFunc(k.wild, func(a, b wildcard[T]) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.text, b.text))
	})
	return k
}

// of remembers what it found: there are a few hundred kinds, and many events.
func (k *kinds[T]) of(gk schema.GroupKind) (T, bool) {
	k.mu.RLock()
	v, known := k.found[gk]
	k.mu.RUnlock()
	if !known {
		v = k.search(gk)
		k.mu.Lock()
		k.found[gk] = v
		k.mu.Unlock()
	}
	if v == nil {
		var none T
		return none, false
	}
	return *v, true
}

func (k *kinds[T]) search(gk schema.GroupKind) *T {
	name := gk.Kind
	if gk.Group != "" {
		name = gk.Group + "/" + gk.Kind
	}
	if v, ok := k.exact[name]; ok {
		return &v
	}
	for _, w := range k.wild {
		if w.glob.Match(name) {
			return &w.value
		}
	}
	return nil
}
