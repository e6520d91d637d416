package forge

import (
	ordered "container/list"
	"net/http"
	"sync"
)

// The answers that are kept: a few thousand pages of what was understood of them.
const (
	maxKept      = 4096
	maxKeptBytes = 32 << 20
	maxKeptOne   = 1 << 20
)

// remembered is an answer with the mark by which the forge knows it.
type remembered struct {
	etag   string
	header http.Header
	body   []byte
}

// kept are the answers that were used last.
type kept struct {
	mu    sync.Mutex
	bytes int
	order *ordered.List // of keptEntry, the one used last first
	byKey map[[32]byte]*ordered.Element
}

type keptEntry struct {
	key   [32]byte
	value remembered
}

func newKept() *kept { return &kept{order: ordered.New(), byKey: map[[32]byte]*ordered.Element{}} }

func (k *kept) get(key [32]byte) (remembered, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at, ok := k.byKey[key]
	if !ok {
		return remembered{}, false
	}
	k.order.MoveToFront(at)
	return entryOf(at).value, true
}

func (k *kept) put(key [32]byte, value remembered) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at, ok := k.byKey[key]; ok {
		k.drop(at)
	}
	if len(value.body) > maxKeptOne {
		return
	}
	k.byKey[key] = k.order.PushFront(keptEntry{key: key, value: value})
	k.bytes += len(value.body)
	for k.bytes > maxKeptBytes || len(k.byKey) > maxKept {
		k.drop(k.order.Back())
	}
}

func (k *kept) drop(at *ordered.Element) {
	entry := entryOf(at)
	k.order.Remove(at)
	delete(k.byKey, entry.key)
	k.bytes -= len(entry.value.body)
}

func entryOf(at *ordered.Element) keptEntry {
	entry, _ := at.Value.(keptEntry)
	return entry
}
