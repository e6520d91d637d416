package chart

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"weak"

	"github.com/towline-cd/towline/internal/source/archive"
)

// open is the tree of an archive in the store, or nil if it is not there. Readers of the same content share it while one
// of them has it.
func (s *Store) open(scope, digest string, form archive.Form) (*archive.Tree, error) {
	if digest == "" {
		return nil, nil
	}
	key := fmt.Sprintf("%s %s %v", scope, digest, form)
	s.mu.Lock()
	known := s.trees[key].Value()
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	data, err := s.blobs.Get(scope, digest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	tree, err := archive.Open(data, form, s.options.Archive)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trees[key] = weak.Make(tree)
	runtime.AddCleanup(tree, s.letGo, key)
	return tree, nil
}

// letGo forgets a tree that nobody reads any more.
func (s *Store) letGo(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trees[key].Value() == nil {
		delete(s.trees, key)
	}
}
