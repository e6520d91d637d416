package source

import (
	"container/list"
	"sync"
)

// folderRoom is how many names of folders are kept in memory, for all repositories together: some 16 MiB.
const folderRoom = 1 << 17

// folders keeps the folders that were read last, so that ten thousand applications of one repository do not each read
// and sort its ten thousand names. A folder is known by the repository that it was read from and by its hash: who may
// not read a repository does not learn from it what is in another one of the same content.
type folders struct {
	mu    sync.Mutex
	room  int
	kept  map[folderKey]*list.Element
	order list.List // the one that was used last is in front
}

type folderKey struct{ dir, hash string }

// listing is the content of a tree, or of a commit the hash of its tree. It never changes.
type listing struct {
	key     folderKey
	entries []entry
	root    string
}

// weight counts what a folder takes beside its names, too.
func (f *listing) weight() int { return len(f.entries) + 4 }

func (f *folders) get(dir, hash string) (*listing, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, ok := f.kept[folderKey{dir: dir, hash: hash}]
	if !ok {
		return nil, false
	}
	f.order.MoveToFront(at)
	found, ok := at.Value.(*listing)
	return found, ok
}

// put keeps a folder, and forgets those that nobody used for the longest time.
func (f *folders) put(it *listing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.kept[it.key]; ok || it.weight() > folderRoom/2 {
		return
	}
	if f.kept == nil {
		f.kept, f.room = map[folderKey]*list.Element{}, folderRoom
	}
	f.kept[it.key] = f.order.PushFront(it)
	for f.room -= it.weight(); f.room < 0; {
		last, ok := f.order.Remove(f.order.Back()).(*listing)
		if !ok {
			return
		}
		delete(f.kept, last.key)
		f.room += last.weight()
	}
}
