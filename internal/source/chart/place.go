package chart

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry"

	"github.com/towline-cd/towline/internal/core/chart"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/source/web"
)

// maxEndpoints bounds the places that are remembered.
const maxEndpoints = 4096

type kind string

const (
	helmRepository kind = "helm repository"
	chartRegistry  kind = "chart in a registry"
	plainRegistry  kind = "artifact in a registry"
)

// place is where an origin leads to.
type place struct {
	kind  kind
	party web.Party
	// ref is the repository in a registry.
	ref   registry.Reference
	chart string
	shown string
	// key names the place and who asks, secrets among it; it stays in memory. scope is the same without the secrets,
	// and names a folder of the store: what one login may read must not be found by another.
	key, scope string
}

// endpoint is what is known of a place.
type endpoint struct {
	turn  int64
	index shared[*index]
	tags  shared[[]string]
	login session

	mu sync.Mutex
	// pins are what tags and digests stand for; content is the digest of the archive of a version.
	pins    map[string]*shared[v1.Descriptor]
	content map[string]string
}

var chartName = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]*(/[a-zA-Z0-9_][a-zA-Z0-9._-]*)*$`)

// place finds out what is spoken with an origin, and how to sign in there.
func (s *Store) place(of manifest.Origin) (place, error) {
	if of.Chart != "" && (!chartName.MatchString(of.Chart) || len(of.Chart) > 250) {
		return place{}, fault.Terminalf("ChartRefused", "%q cannot be the name of a chart; correct it", of.Chart)
	}
	raw, err := s.unalias(of)
	if err != nil {
		return place{}, err
	}
	entry, registered := s.entry(raw, of.Project)
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		rest = raw
	}
	if !ok || scheme == "oci" || entry.EnableOCI || entry.Type == repository.OCI {
		return s.registryPlace(of, rest, entry, registered)
	}
	if of.Chart == "" {
		return place{}, fault.Terminalf("ChartRefused", "%s is a Helm repository and no chart of it is named; name one in chart",
			web.Redact(raw))
	}
	party, err := s.client.Party(raw, of.Project, of.ByContent)
	if err != nil {
		return place{}, err
	}
	party.PassCredentials = of.PassCredentials || entry.PassCredentials
	p := place{kind: helmRepository, party: party, chart: of.Chart, shown: web.Shown(party.URL)}
	return p.identified(party.URL.String()), nil
}

// unalias is the URL of an origin, which a chart may have named by the name of a registered repository.
func (s *Store) unalias(of manifest.Origin) (string, error) {
	name, ok := chart.Alias(of.RepoURL)
	if !ok {
		return strings.TrimRight(of.RepoURL, "/"), nil
	}
	if names, ok := s.options.Book.(repository.Names); ok {
		if found, ok := names.Named(name, of.Project); ok {
			return strings.TrimRight(found.URL, "/"), nil
		}
	}
	return "", fault.Terminalf("RepositoryUnknown", "a chart names the repository %q, and none is registered under the name %q; "+
		"register it, or write its URL", of.RepoURL, name)
}

// entry is what is registered for a URL, however the URL of a registry is written.
func (s *Store) entry(raw, project string) (repository.Repository, bool) {
	entry, ok := s.client.Entry(raw, project)
	if ok {
		return entry, ok
	}
	if bare, isOCI := strings.CutPrefix(raw, "oci://"); isOCI {
		return s.client.Entry(bare, project)
	}
	if !strings.Contains(raw, "://") {
		return s.client.Entry("oci://"+raw, project)
	}
	return entry, false
}

func (s *Store) registryPlace(of manifest.Origin, rest string, entry repository.Repository, registered bool) (place, error) {
	name, sort := rest, plainRegistry
	if of.Chart != "" {
		name, sort = rest+"/"+of.Chart, chartRegistry
	}
	ref, err := registry.ParseReference(name)
	if err != nil || ref.Reference != "" || strings.ContainsAny(name, "@?#\\ ") {
		return place{}, fault.Terminalf("RepositoryRefused", "%q is not a repository of a registry; write oci://host/path, "+
			"and the version, tag or digest in targetRevision", web.Redact("oci://"+name))
	}
	party := web.Party{URL: &url.URL{Scheme: "https", Host: ref.Host()}, Entry: entry, Reach: web.Local}
	if entry.InsecureOCIForceHTTP {
		party.URL.Scheme = "http"
	}
	if of.ByContent && !registered {
		party.Reach = web.Public
	}
	p := place{kind: sort, party: party, ref: ref, chart: of.Chart, shown: "oci://" + ref.Registry + "/" + ref.Repository}
	return p.identified(p.shown), nil
}

// identified gives the place its names.
func (p place) identified(at string) place {
	e := p.party.Entry
	scope := sha256.Sum256(fmt.Appendf(nil, "%q", []string{string(p.kind), at, e.URL, e.Project, e.Username}))
	p.scope = hex.EncodeToString(scope[:16])
	key := sha256.Sum256(fmt.Appendf(nil, "%q %v %v %v %v", []string{
		p.scope, e.Password.Reveal(), e.BearerToken.Reveal(), e.TLSClientCert, e.TLSClientKey.Reveal(), e.Proxy, e.NoProxy,
	}, e.Insecure, e.ForceBasicAuth, p.party.Reach, p.party.PassCredentials))
	p.key = hex.EncodeToString(key[:])
	return p
}

// endpoint is what is known of a place; the longest unused is forgotten when there are too many.
func (s *Store) endpoint(p place) *endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn++
	known := s.endpoints[p.key]
	if known == nil {
		known = &endpoint{pins: map[string]*shared[v1.Descriptor]{}, content: map[string]string{}}
		s.endpoints[p.key] = known
	}
	known.turn = s.turn
	if len(s.endpoints) > maxEndpoints {
		oldest := p.key
		for key, e := range s.endpoints {
			if e.turn < s.endpoints[oldest].turn {
				oldest = key
			}
		}
		delete(s.endpoints, oldest)
	}
	return known
}

// contentOf is the digest of the archive of a version as it was last downloaded, or "".
func (e *endpoint) contentOf(version string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.content[version]
}

func (e *endpoint) setContent(version, digest string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.content) > 10_000 {
		clear(e.content)
	}
	e.content[version] = digest
}

// pin is the question what a tag or digest stands for.
func (e *endpoint) pin(reference string) *shared[v1.Descriptor] {
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.pins[reference]
	if known == nil {
		if len(e.pins) > 1000 {
			clear(e.pins)
		}
		known = &shared[v1.Descriptor]{}
		e.pins[reference] = known
	}
	return known
}
