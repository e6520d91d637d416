package source

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
)

// Digest names the content at path: two commits with the same digest have the same content there. It is the hash of
// git's tree or file, unless symbolic links lead out of the folder: then it also covers what they lead to, since that is
// read as if it was in the folder.
func (s *snapshot) Digest(name string) (string, error) {
	at, err := s.find("digest", name, true)
	if err != nil {
		return "", err
	}
	if !at.entry().isTree() {
		return at.entry().hash, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	digest, err := s.folderDigest(at, func(trail) {})
	if err != nil {
		return "", &fs.PathError{Op: "digest", Path: name, Err: err}
	}
	return digest, nil
}

// folderDigest names the content of a folder, and tells of every way that a link within it goes. The caller holds the
// mutex.
func (s *snapshot) folderDigest(at place, met func(trail)) (string, error) {
	elsewhere, err := s.reached(at, met)
	if err != nil || len(elsewhere) == 0 {
		return at.entry().hash, err
	}
	var lines []string
	for path, there := range elsewhere {
		lines = append(lines, path+" "+there.entry().hash)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(at.entry().hash + "\n" + strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:]), nil
}

// reached are the places outside of a folder that links within it lead to, directly or by further links.
func (s *snapshot) reached(from place, met func(trail)) (map[string]place, error) {
	seen := map[string]place{from.path(): from}
	for queue := []place{from}; len(queue) > 0; queue = queue[1:] {
		links, err := s.linksBelow(queue[0])
		if err != nil {
			return nil, err
		}
		for _, link := range links {
			var way trail
			target, err := s.follow(link, true, &way)
			if err == nil {
				way.name = ""
			}
			met(way)
			if errors.Is(err, fs.ErrNotExist) || fault.ClassOf(err) == fault.Terminal {
				continue // it leads nowhere: there is nothing to read
			}
			if err != nil {
				return nil, err
			}
			if !covered(seen, target.path()) {
				seen[target.path()] = target
				queue = append(queue, target)
			}
		}
	}
	delete(seen, from.path())
	return seen, nil
}

// covered reports whether a path is one of those that were seen, or within one.
func covered(seen map[string]place, path string) bool {
	for known := range seen {
		if path == known || known == "." || strings.HasPrefix(path, known+"/") {
			return true
		}
	}
	return false
}

// linksBelow are the paths of the symbolic links in a folder and its folders.
func (s *snapshot) linksBelow(dir place) ([]string, error) {
	if !dir.entry().isTree() || len(dir) > maxDepth {
		return nil, nil
	}
	entries, err := s.tree(dir.entry())
	if err != nil {
		return nil, err
	}
	var links []string
	for _, e := range entries {
		inner := append(slices.Clip(dir), e)
		if e.isLink() {
			links = append(links, inner.path())
		}
		if !e.isTree() {
			continue
		}
		below, err := s.linksBelow(inner)
		if err != nil {
			return nil, err
		}
		links = append(links, below...)
	}
	return links, nil
}
