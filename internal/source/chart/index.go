package chart

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/chart"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/source/web"
)

const (
	// maxEntry bounds one release in the text of an index.
	maxEntry = 4 << 20
	// maxWhole bounds an index that can only be read in one piece.
	maxWhole = 4 << 20
	// maxKept and maxReleases bound what is kept of one index.
	maxKept     = 128 << 20
	maxReleases = 500_000
)

// index is what is kept of the index of a repository.
type index struct {
	charts         map[string][]release
	etag, modified string
	weight         int64
	releases       int
}

// release is one version of a chart.
type release struct {
	version string
	// digest is that of the archive, or "" if the index has none that is of use.
	digest  string
	created string
	urls    []string
}

// written is a release as an index has it.
type written struct {
	Version string   `json:"version"`
	Digest  string   `json:"digest"`
	Created string   `json:"created"`
	URLs    []string `json:"urls"`
}

var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// count counts releases, such as are nothing among them.
func (i *index) count() error {
	if i.releases++; i.releases > maxReleases {
		return web.ErrTooLarge
	}
	return nil
}

// add keeps a release. One without a version is none.
func (i *index) add(name string, w *written) error {
	if err := i.count(); err != nil {
		return err
	}
	if w == nil || w.Version == "" || name == "" {
		return nil
	}
	one := release{version: w.Version, created: w.Created, urls: w.URLs}
	if digest := strings.ToLower(strings.TrimPrefix(w.Digest, "sha256:")); digestForm.MatchString(digest) {
		one.digest = digest
	}
	i.weight += 160 + int64(len(one.version)+len(one.digest)+len(one.created))
	for _, u := range one.urls {
		i.weight += 16 + int64(len(u))
	}
	if i.weight > maxKept {
		return web.ErrTooLarge
	}
	i.charts[name] = append(i.charts[name], one)
	return nil
}

func (i *index) versions(name string) []string {
	versions := make([]string, 0, len(i.charts[name]))
	for _, r := range i.charts[name] {
		versions = append(versions, r.version)
	}
	return versions
}

func (i *index) pick(name, want string) (string, bool) { return chart.Pick(i.versions(name), want) }

func (i *index) find(name, version string) *release {
	for at := range i.charts[name] {
		if i.charts[name][at].version == version {
			return &i.charts[name][at]
		}
	}
	return nil
}

// lacks says what is missing, what there is, and what to do.
func (i *index) lacks(p place, want string) error {
	if len(i.charts[p.chart]) > 0 {
		return noVersion(p, i.versions(p.chart), want)
	}
	near := ""
	var names []string
	for _, name := range slices.Sorted(maps.Keys(i.charts)) {
		if strings.Contains(name, p.chart) || strings.Contains(p.chart, name) || strings.EqualFold(name, p.chart) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		near = "; it has " + strings.Join(names[:min(5, len(names))], ", ")
	}
	return fault.Terminalf("ChartNotFound", "%s has no chart %q among its %d%s; correct chart or repoURL",
		p.shown, p.chart, len(i.charts), near)
}

func noVersion(p place, versions []string, want string) error {
	what := p.shown
	if p.kind == helmRepository {
		what = "the chart " + p.chart + " of " + p.shown
	}
	if len(versions) == 0 {
		return fault.Terminalf("VersionNotFound", "%s has no versions; publish one, or correct targetRevision", what)
	}
	names := chart.Near(versions, want)
	if len(names) == 0 {
		names = versions[:min(5, len(versions))]
	}
	near := strings.Join(names, ", ")
	if want == "" {
		return fault.Terminalf("VersionNotFound", "%s has no release, only %s; write one of them in targetRevision, "+
			"or >0.0.0-0 for the newest", what, near)
	}
	return fault.Terminalf("VersionNotFound", "%s has no version %q; near ones are %s (versions before a release only count for a range "+
		"that names one, such as >=1.0.0-0); correct targetRevision", what, want, near)
}

// errForm says that an index is not written in the usual form, though it may be right.
var errForm = errors.New("not in the form that `helm repo index` writes")

// readIndex reads an index as it comes, and keeps no more of the text than one release.
func readIndex(text io.Reader) (*index, error) {
	head := &recorder{from: text, limit: maxWhole}
	buffered := bufio.NewReaderSize(head, 64<<10)
	isJSON, err := beginsWith(buffered, '{')
	if err != nil {
		return nil, err
	}
	read := &index{charts: map[string][]release{}}
	if isJSON {
		err = read.readJSON(buffered)
	} else {
		err = newLines(read).read(buffered)
	}
	if errors.Is(err, errForm) && !head.full {
		// A small one may be written in any way that YAML allows.
		if _, err := io.Copy(io.Discard, head); err != nil {
			return nil, err
		}
		if !head.full {
			return readWhole(head.seen.Bytes())
		}
	}
	switch {
	case err == nil || errors.Is(err, web.ErrTooLarge):
		return read, err
	case fault.ReasonOf(err) != "":
		return nil, err
	case errors.Is(err, errForm) || errors.Is(err, bufio.ErrTooLong) || isSyntax(err):
		return nil, fault.Terminalf("IndexRefused", "it cannot be read: %w; have it made again", err)
	}
	return nil, fault.Transientf("RepositoryUnreachable", "%w", err)
}

func isSyntax(err error) bool {
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return true
	}
	_, ok := errors.AsType[*json.UnmarshalTypeError](err)
	return ok
}

func beginsWith(from *bufio.Reader, want byte) (bool, error) {
	for {
		b, err := from.ReadByte()
		if errors.Is(err, io.EOF) {
			return false, fault.Terminalf("IndexRefused", "it is empty; have it made again")
		}
		if err != nil {
			return false, err
		}
		if !unicode.IsSpace(rune(b)) {
			return b == want, from.UnreadByte()
		}
	}
}

// recorder keeps what was read as long as it is little.
type recorder struct {
	from  io.Reader
	limit int
	seen  bytes.Buffer
	full  bool
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if !r.full && r.seen.Len()+n > r.limit {
		r.full, r.seen = true, bytes.Buffer{}
	}
	if !r.full {
		r.seen.Write(p[:n])
	}
	return n, err
}

func readWhole(text []byte) (*index, error) {
	var all struct {
		Entries map[string][]*written `json:"entries"`
	}
	if err := yaml.Unmarshal(text, &all); err != nil {
		return nil, fault.Terminalf("IndexRefused", "it cannot be read: %w; have it made again", err)
	}
	read := &index{charts: map[string][]release{}}
	for name, releases := range all.Entries {
		for _, w := range releases {
			if err := read.add(name, w); err != nil {
				return nil, err
			}
		}
	}
	return read, nil
}

// gate bounds how much is read for one piece.
type gate struct {
	from io.Reader
	left int64
}

func (g *gate) Read(p []byte) (int, error) {
	if g.left <= 0 {
		return 0, fault.Terminalf("IndexRefused", "one entry of it is longer than %d bytes; have it made again without", maxEntry)
	}
	n, err := g.from.Read(p[:min(int64(len(p)), g.left)])
	g.left -= int64(n)
	return n, err
}

// readJSON reads an index in JSON, release by release.
func (i *index) readJSON(text io.Reader) error {
	bound := &gate{from: text, left: maxEntry}
	decoder := json.NewDecoder(bound)
	next := func(into any) error {
		bound.left = maxEntry
		return decoder.Decode(into)
	}
	return object(decoder, bound, func(key string) error {
		if key != "entries" {
			var ignored json.RawMessage
			return next(&ignored)
		}
		return object(decoder, bound, func(name string) error {
			return list(decoder, bound, func() error {
				var w *written
				if err := next(&w); err != nil {
					return err
				}
				return i.add(name, w)
			})
		})
	})
}

// object reads an object key by key; null has none.
func object(decoder *json.Decoder, bound *gate, value func(key string) error) error {
	if begun, err := opening(decoder, bound, '{'); !begun {
		return err
	}
	for decoder.More() {
		bound.left = maxEntry
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			return errForm
		}
		if err := value(key); err != nil {
			return err
		}
	}
	bound.left = maxEntry
	_, err := decoder.Token()
	return err
}

func list(decoder *json.Decoder, bound *gate, item func() error) error {
	if begun, err := opening(decoder, bound, '['); !begun {
		return err
	}
	for decoder.More() {
		if err := item(); err != nil {
			return err
		}
	}
	bound.left = maxEntry
	_, err := decoder.Token()
	return err
}

func opening(decoder *json.Decoder, bound *gate, want json.Delim) (bool, error) {
	bound.left = maxEntry
	token, err := decoder.Token()
	if err != nil || token == nil {
		return false, err
	}
	if token != want {
		return false, fault.Terminalf("IndexRefused", "it has %v where %v is expected; have it made again", token, want)
	}
	return true, nil
}

func unmarshalRelease(text []byte) (*written, error) {
	if w, ok := plainRelease(string(text)); ok {
		return w, nil
	}
	var w written
	if err := yaml.Unmarshal(text, &w); err != nil {
		return nil, fmt.Errorf("%w: %w", errForm, err)
	}
	return &w, nil
}
