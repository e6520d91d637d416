package chart

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/towline-cd/towline/internal/core/chart"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/source/archive"
	"github.com/towline-cd/towline/internal/source/web"
)

// maxIndexes bounds the memory of all indexes together.
const maxIndexes = 512 << 20

// resolveRelease names the version of a chart of a Helm repository.
func (s *Store) resolveRelease(ctx context.Context, p place, want string, maxAge time.Duration) (string, time.Time, error) {
	e := s.endpoint(p)
	if digest := e.contentOf(p.chart + " " + want); maxAge > 0 && !chart.IsRange(want) && s.blobs.Has(p.scope, digest) {
		return want, s.now(), nil
	}
	asked := s.now()
	found, err := s.indexOf(ctx, p, e, maxAge)
	if err != nil {
		return "", time.Time{}, err
	}
	version, ok := found.value.pick(p.chart, want)
	// What an old index lacks may have come into being since; but a wrong name must not ask every time.
	if !ok && asked.Sub(found.seen) > freshEnough {
		if found, err = s.indexOf(ctx, p, e, freshEnough); err != nil {
			return "", time.Time{}, err
		}
		version, ok = found.value.pick(p.chart, want)
	}
	if !ok {
		return "", time.Time{}, found.value.lacks(p, want)
	}
	return version, found.seen, nil
}

// releaseTree is the content of a version of a chart.
func (s *Store) releaseTree(ctx context.Context, p place, version string) (*archive.Tree, error) {
	e := s.endpoint(p)
	name := p.chart + " " + version
	var known *release
	if last := e.index.peek(); last != nil {
		known = last.value.find(p.chart, version)
	}
	digest := e.contentOf(name)
	if known == nil && !s.blobs.Has(p.scope, digest) {
		found, err := s.indexOf(ctx, p, e, freshEnough)
		if err != nil {
			return nil, err
		}
		if known = found.value.find(p.chart, version); known == nil {
			return nil, found.value.lacks(p, version)
		}
	}
	if known != nil && known.digest != "" {
		digest = known.digest // it may have been published anew
	}
	if tree, err := s.open(p.scope, digest, archive.Form{Strip: true}); tree != nil || err != nil {
		return tree, describe(err, p, version)
	}
	if known == nil {
		return nil, fault.Transientf("ContentLost", "%s %s of %s is no longer stored, and will be fetched again", p.chart, version, p.shown)
	}
	if len(known.urls) > 0 && strings.HasPrefix(known.urls[0], "oci://") {
		return s.elsewhere(ctx, p, known.urls[0])
	}
	digest, err := s.download(ctx, p, *known)
	if err != nil {
		return nil, describe(err, p, version)
	}
	e.setContent(name, digest)
	tree, err := s.open(p.scope, digest, archive.Form{Strip: true})
	if tree == nil && err == nil {
		err = fault.Transientf("ContentLost", "it was dropped at once; the quota of the store is too small for it")
	}
	return tree, describe(err, p, version)
}

func describe(err error, p place, version string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("fetching %s %s of %s: %w", p.chart, version, p.shown, err)
}

// download fetches the archive of a release into the store, once for all who wait for it.
func (s *Store) download(ctx context.Context, p place, of release) (digest string, err error) {
	from, err := p.archiveURL(of)
	if err != nil {
		return "", err
	}
	got := s.downloading.DoChan(p.key+" "+of.digest+" "+from, func() (any, error) {
		return detached(ctx, s, func(ctx context.Context) (string, error) {
			s.downloads.Add(1)
			answer, err := s.client.Do(ctx, p.party, web.Request{URL: from})
			if err != nil {
				return "", err
			}
			defer answer.Body.Close()
			if err := web.Check("downloading "+web.Redact(from), p.party, answer); err != nil {
				return "", err
			}
			return s.blobs.Put(p.scope, of.digest, answer.Body, s.options.Archive.Packed)
		})
	})
	select {
	case result := <-got:
		digest, _ = result.Val.(string)
		return digest, result.Err
	case <-ctx.Done():
		return "", fault.Transientf("Cancelled", "waiting for the download: %w", context.Cause(ctx))
	}
}

// archiveURL is where the archive of a release is; the index may say so relative to the repository.
func (p place) archiveURL(of release) (string, error) {
	if len(of.urls) == 0 {
		return "", fault.Terminalf("IndexRefused", "the index of the repository names no URL for it; have the index made again")
	}
	given, err := url.Parse(of.urls[0])
	if err != nil {
		return "", fault.Terminalf("URLRefused", "the index of the repository names a URL that is none: %q", web.Redact(of.urls[0]))
	}
	base := *p.party.URL
	base.Path = strings.TrimSuffix(base.Path, "/") + "/"
	base.RawPath = ""
	at := base.ResolveReference(given)
	if !given.IsAbs() && given.Host == "" && at.RawQuery == "" {
		at.RawQuery = base.RawQuery
	}
	return at.String(), nil
}

// indexOf is the index of a repository, not older than maxAge.
func (s *Store) indexOf(ctx context.Context, p place, e *endpoint, maxAge time.Duration) (*answer[*index], error) {
	return e.index.ask(ctx, s, maxAge, func(ctx context.Context, last **index) (*index, error) {
		var known *index
		if last != nil {
			known = *last
		}
		fresh, err := s.fetchIndex(ctx, p, known)
		if err == nil && fresh != known {
			s.makeRoom(e, fresh)
		}
		return fresh, err
	})
}

// makeRoom forgets the indexes that were not used for longest when all together are too large.
func (s *Store) makeRoom(except *endpoint, fresh *index) {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := fresh.weight
	held := map[*endpoint]int64{}
	for _, e := range s.endpoints {
		if last := e.index.peek(); last != nil && e != except {
			held[e] = last.value.weight
			total += last.value.weight
		}
	}
	for total > maxIndexes && len(held) > 0 {
		var oldest *endpoint
		for e := range held {
			if oldest == nil || e.turn < oldest.turn {
				oldest = e
			}
		}
		oldest.index.forget()
		total -= held[oldest]
		delete(held, oldest)
	}
}

// fetchIndex asks for the index, and whether it changed at all since the last one.
func (s *Store) fetchIndex(ctx context.Context, p place, last *index) (*index, error) {
	at := *p.party.URL
	at.Path, at.RawPath = path.Join("/", at.Path, "index.yaml"), ""
	doing := "reading the index of " + p.shown
	header := http.Header{"Accept-Encoding": {"gzip"}}
	if last != nil && last.etag != "" {
		header.Set("If-None-Match", last.etag)
	}
	if last != nil && last.modified != "" {
		header.Set("If-Modified-Since", last.modified)
	}
	s.asked.Add(1)
	answer, err := s.client.Do(ctx, p.party, web.Request{URL: at.String(), Header: header})
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if err := web.Check(doing, p.party, answer); err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusNotModified {
		if last == nil {
			return nil, fault.Transientf("RepositoryFailed", "%s: the server says that it did not change, and nobody asked that", doing)
		}
		s.unchanged.Add(1)
		return last, nil
	}
	text, err := s.indexText(answer)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	fresh, err := readIndex(text)
	if errors.Is(err, web.ErrTooLarge) {
		return nil, fault.Terminalf("IndexTooLarge", "%s: it is larger than the limits of %d bytes as sent, %d bytes as text and %d "+
			"versions; have old versions removed from it", doing, s.options.MaxIndex, s.options.MaxIndexText, maxReleases)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	fresh.etag, fresh.modified = answer.Header.Get("ETag"), answer.Header.Get("Last-Modified")
	return fresh, nil
}

// indexText is the bounded text of an index. Some servers send a compressed file without saying so.
func (s *Store) indexText(answer web.Answer) (io.Reader, error) {
	sent := web.Limit(answer.Body, s.options.MaxIndex)
	begin := make([]byte, 2)
	n, err := io.ReadFull(sent, begin)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fault.Transientf("RepositoryUnreachable", "%w", err)
	}
	sent = io.MultiReader(bytes.NewReader(begin[:n]), sent)
	if !bytes.Equal(begin, []byte{0x1f, 0x8b}) {
		return web.Limit(sent, s.options.MaxIndexText), nil
	}
	unzipped, err := gzip.NewReader(sent)
	if err != nil {
		return nil, fault.Terminalf("IndexRefused", "it is not compressed as it says: %w", err)
	}
	return web.Limit(unzipped, s.options.MaxIndexText), nil
}

// get is the whole of a small answer.
func (s *Store) get(ctx context.Context, with web.Party, ask web.Request, doing string, limit int64) ([]byte, error) {
	answer, err := s.client.Do(ctx, with, ask)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if err := web.Check(doing, with, answer); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(web.Limit(answer.Body, limit))
	if errors.Is(err, web.ErrTooLarge) {
		return nil, fault.Terminalf("TooLarge", "%s: it is longer than %d bytes, which is the limit", doing, limit)
	}
	if err != nil {
		return nil, fault.Transientf("RepositoryUnreachable", "%s: %w", doing, err)
	}
	return data, nil
}
