package chart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/towline-cd/towline/internal/core/chart"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/source/archive"
	"github.com/towline-cd/towline/internal/source/web"
)

const (
	maxTags     = 100_000
	maxManifest = 4 << 20

	chartLayer      = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	oldChartLayer   = "application/tar+gzip" // before Helm 3.7
	provenanceLayer = "application/vnd.cncf.helm.chart.provenance.v1.prov"
)

func (s *Store) repository(p place, e *endpoint) *remote.Repository {
	return &remote.Repository{
		Client: &caller{store: s, place: p, login: &e.login}, Reference: p.ref, PlainHTTP: p.party.URL.Scheme == "http",
		MaxMetadataBytes: maxManifest,
	}
}

// versionTag is how a version is written as a tag, in which there may be no '+'.
func versionTag(version string) string { return strings.ReplaceAll(version, "+", "_") }

func isDigest(text string) bool {
	hexadecimal, ok := strings.CutPrefix(text, "sha256:")
	return ok && digestForm.MatchString(hexadecimal)
}

// resolveTag names the version of a chart, or the digest of an artifact, in a registry.
func (s *Store) resolveTag(ctx context.Context, p place, want string, maxAge time.Duration) (string, time.Time, error) {
	if isDigest(want) {
		return want, s.now(), nil
	}
	e := s.endpoint(p)
	if !chart.IsRange(want) || validTag(want) {
		found, err := s.pinOf(ctx, p, e, wanted{versionTag(want), maxAge, true})
		if err == nil {
			return p.revision(want, found.value), found.seen, nil
		}
		if fault.ReasonOf(err) != "NotFound" {
			return "", time.Time{}, err
		}
	}
	asked := s.now()
	tags, err := s.tagsOf(ctx, p, e, maxAge)
	if err != nil {
		return "", time.Time{}, err
	}
	version, ok := p.pickTag(tags.value, want)
	if !ok && asked.Sub(tags.seen) > freshEnough {
		if tags, err = s.tagsOf(ctx, p, e, freshEnough); err != nil {
			return "", time.Time{}, err
		}
		version, ok = p.pickTag(tags.value, want)
	}
	if !ok {
		return "", time.Time{}, noVersion(p, tags.value, want)
	}
	found, err := s.pinOf(ctx, p, e, wanted{versionTag(version), maxAge, false})
	if err != nil {
		return "", time.Time{}, err
	}
	seen := found.seen
	if tags.seen.Before(seen) {
		seen = tags.seen
	}
	return p.revision(version, found.value), seen, nil
}

// revision is what names the content: people know a chart by its version, and an artifact by its digest alone, because
// its tags may move.
func (p place) revision(version string, at v1.Descriptor) string {
	if p.kind == chartRegistry {
		return version
	}
	return string(at.Digest)
}

// pickTag is the version among the tags that is meant. An artifact without versions has its newest content at "latest".
func (p place) pickTag(versions []string, want string) (string, bool) {
	if picked, ok := chart.Pick(versions, want); ok {
		return picked, true
	}
	if want == "" && p.kind == plainRegistry && slices.Contains(versions, "latest") {
		return "latest", true
	}
	return "", false
}

func validTag(text string) bool {
	ref := registry.Reference{Reference: versionTag(text)}
	return text != "" && ref.ValidateReferenceAsTag() == nil
}

// wanted is a tag or a digest, and how old the word on it may be.
type wanted struct {
	reference string
	maxAge    time.Duration
	// exact says that the tag is what somebody wrote, and not what a range was found to stand for.
	exact bool
}

// pinOf is what a tag or digest stands for. One that was fetched before is not asked about unless the caller wants to
// know now, or the tag is one of those that a range was found to stand for.
func (s *Store) pinOf(ctx context.Context, p place, e *endpoint, w wanted) (*answer[v1.Descriptor], error) {
	pin, reference := e.pin(w.reference), w.reference
	settled := w.exact && p.kind == chartRegistry && w.maxAge > 0
	if last := pin.peek(); settled && last != nil && s.blobs.Has(p.scope, digestOf(last.value)) {
		return &answer[v1.Descriptor]{value: last.value, seen: s.now()}, nil
	}
	return pin.ask(ctx, s, w.maxAge, func(ctx context.Context, _ *v1.Descriptor) (v1.Descriptor, error) {
		s.asked.Add(1)
		begun := s.now()
		found, err := s.repository(p, e).Resolve(ctx, reference)
		s.tell(Asked{Repo: p.shown, What: "resolve", Took: s.now().Sub(begun), Err: err})
		if err != nil {
			return found, registryFault("finding "+reference+" in "+p.shown, err)
		}
		if !isDigest(string(found.Digest)) {
			return found, fault.Terminalf("DigestRefused", "finding %s in %s: the digest %q is not one of SHA-256",
				reference, p.shown, found.Digest)
		}
		return found, nil
	})
}

func digestOf(d v1.Descriptor) string { return strings.TrimPrefix(string(d.Digest), "sha256:") }

// tagsOf are the versions that the tags of a repository stand for.
func (s *Store) tagsOf(ctx context.Context, p place, e *endpoint, maxAge time.Duration) (*answer[[]string], error) {
	return e.tags.ask(ctx, s, maxAge, func(ctx context.Context, _ *[]string) ([]string, error) {
		s.asked.Add(1)
		var versions []string
		begun := s.now()
		err := s.repository(p, e).Tags(ctx, "", func(tags []string) error {
			for _, tag := range tags {
				versions = append(versions, strings.ReplaceAll(tag, "_", "+"))
			}
			if len(versions) > maxTags {
				return fault.Terminalf("TooManyTags", "it has more than %d tags; name the version in targetRevision", maxTags)
			}
			return nil
		})
		s.tell(Asked{Repo: p.shown, What: "get_tags", Took: s.now().Sub(begun), Err: err})
		if err != nil {
			return nil, registryFault("listing the tags of "+p.shown, err)
		}
		return versions, nil
	})
}

// registryFault gives an error of oras its class; what our own client refused has one.
func registryFault(doing string, err error) error {
	if fault.ReasonOf(err) != "" {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if errors.Is(err, errdef.ErrNotFound) || strings.Contains(err.Error(), "response status code 404") {
		return fault.Terminalf("NotFound", "%s: the registry does not have it; check repoURL, chart and targetRevision, and whether a "+
			"login is needed to see it", doing)
	}
	if errors.Is(err, errdef.ErrInvalidReference) || errors.Is(err, errdef.ErrInvalidDigest) || errors.Is(err, errdef.ErrSizeExceedsLimit) {
		return fault.Terminalf("RepositoryRefused", "%s: %w", doing, err)
	}
	return fault.Transientf("RepositoryFailed", "%s: %w", doing, err)
}

// registryTree is the content of a version, tag or digest in a registry.
func (s *Store) registryTree(ctx context.Context, p place, revision string) (*archive.Tree, error) {
	e := s.endpoint(p)
	data, err := s.manifestOf(ctx, p, e, revision)
	if err != nil {
		return nil, err
	}
	layer, form, err := s.layer(p, revision, data)
	if err != nil {
		return nil, err
	}
	if !s.blobs.Has(p.scope, digestOf(layer)) {
		s.downloads.Add(1)
		fetch := func(ctx context.Context) (io.ReadCloser, error) { return s.repository(p, e).Blobs().Fetch(ctx, layer) }
		if err := s.pull(ctx, p, layer, s.options.Archive.Packed, fetch); err != nil {
			return nil, err
		}
	}
	tree, err := s.open(p.scope, digestOf(layer), form)
	if err == nil && tree == nil {
		err = fault.Transientf("ContentLost", "it is no longer stored, and will be fetched again")
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s of %s: %w", revision, p.shown, err)
	}
	return tree, nil
}

// manifestOf is the manifest of a version, tag or digest.
func (s *Store) manifestOf(ctx context.Context, p place, e *endpoint, revision string) ([]byte, error) {
	digest := strings.TrimPrefix(revision, "sha256:")
	if !isDigest(revision) || !s.blobs.Has(p.scope, digest) {
		pin, err := s.pinOf(ctx, p, e, wanted{versionTag(revision), anyAge, true})
		if err != nil {
			return nil, err
		}
		digest = digestOf(pin.value)
		if !s.blobs.Has(p.scope, digest) {
			fetch := func(ctx context.Context) (io.ReadCloser, error) {
				return s.repository(p, e).Manifests().Fetch(ctx, pin.value)
			}
			if err := s.pull(ctx, p, pin.value, maxManifest, fetch); err != nil {
				return nil, err
			}
		}
	}
	data, err := s.blobs.Get(p.scope, digest)
	if err != nil {
		return nil, fault.Transientf("ContentLost", "the manifest of %s of %s is no longer stored, and will be fetched again",
			revision, p.shown)
	}
	return data, nil
}

// pull brings a blob or manifest into the store, once for all who wait for it.
func (s *Store) pull(ctx context.Context, p place, what v1.Descriptor, limit int64,
	fetch func(context.Context) (io.ReadCloser, error),
) error {
	doing := fmt.Sprintf("fetching %s of %s", what.Digest, p.shown)
	if what.Size > limit {
		return fault.Terminalf("TooLarge", "%s: it is %d bytes long, the limit is %d", doing, what.Size, limit)
	}
	got := s.downloading.DoChan(p.key+" "+string(what.Digest), func() (any, error) {
		return detached(ctx, s, func(ctx context.Context) (string, error) {
			begun := s.now()
			from, err := fetch(ctx)
			s.tell(Asked{Repo: p.shown, What: "extract", Took: s.now().Sub(begun), Err: err})
			if err != nil {
				return "", registryFault(doing, err)
			}
			defer from.Close()
			digest, err := s.blobs.Put(p.scope, digestOf(what), from, limit)
			if err != nil {
				return "", fmt.Errorf("%s: %w", doing, err)
			}
			return digest, nil
		})
	})
	select {
	case result := <-got:
		return result.Err
	case <-ctx.Done():
		return fault.Transientf("Cancelled", "%s: %w", doing, context.Cause(ctx))
	}
}

// layer is the one layer that holds the content, and how it is packed.
func (s *Store) layer(p place, revision string, data []byte) (v1.Descriptor, archive.Form, error) {
	var read v1.Manifest
	if err := json.Unmarshal(data, &read); err != nil {
		return v1.Descriptor{}, archive.Form{}, fault.Terminalf("ArtifactRefused", "reading the manifest of %s of %s: %w",
			revision, p.shown, err)
	}
	var types []string
	var found []v1.Descriptor
	for _, layer := range read.Layers {
		if layer.MediaType == provenanceLayer {
			continue
		}
		types = append(types, layer.MediaType)
		if _, ok := s.form(layer.MediaType); ok && isDigest(string(layer.Digest)) {
			found = append(found, layer)
		}
	}
	if len(found) != 1 || len(types) != 1 {
		return v1.Descriptor{}, archive.Form{}, fault.Terminalf("ArtifactRefused", "%s of %s has %d layers %v and has to have "+
			"exactly one, a tar (%s, with +gzip or without) or a chart (%s)", revision, p.shown, len(types), types[:min(5, len(types))],
			v1.MediaTypeImageLayer, chartLayer)
	}
	form, _ := s.form(found[0].MediaType)
	return found[0], form, nil
}

func (s *Store) form(mediaType string) (archive.Form, bool) {
	switch mediaType {
	case chartLayer, oldChartLayer:
		return archive.Form{Strip: true}, true
	case v1.MediaTypeImageLayerGzip:
		return archive.Form{}, true
	case v1.MediaTypeImageLayer:
		return archive.Form{Plain: true}, true
	}
	return archive.Form{Plain: !strings.HasSuffix(mediaType, "gzip")}, slices.Contains(s.options.LayerTypes, mediaType)
}

// elsewhere is the content of a release whose index points into a registry. The registry is content's choice, so it gets
// no login, unless the repository passes its own on.
func (s *Store) elsewhere(ctx context.Context, p place, raw string) (*archive.Tree, error) {
	ref, err := registry.ParseReference(strings.TrimPrefix(raw, "oci://"))
	if err != nil || ref.Reference == "" {
		return nil, fault.Terminalf("URLRefused", "the index of %s names %q for %s, which is no reference into a registry",
			p.shown, web.Redact(raw), p.chart)
	}
	entry, registered := s.entry("oci://"+ref.Registry+"/"+ref.Repository, p.party.Entry.Project)
	bare := repository.Repository{
		Insecure: entry.Insecure, InsecureOCIForceHTTP: entry.InsecureOCIForceHTTP, Proxy: entry.Proxy, NoProxy: entry.NoProxy,
	}
	if p.party.PassCredentials {
		from := p.party.Entry
		bare.URL, bare.Project = from.URL, from.Project
		bare.Username, bare.Password, bare.BearerToken = from.Username, from.Password, from.BearerToken
	}
	of := manifest.Origin{RepoURL: "oci://" + ref.Registry + "/" + ref.Repository, ByContent: true}
	there, err := s.registryPlace(of, ref.Registry+"/"+ref.Repository, bare, registered)
	if err != nil {
		return nil, err
	}
	return s.registryTree(ctx, there, ref.Reference)
}
