package chart

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// maxText bounds each of the files that are read here.
const maxText = 1 << 20

// Files is what a chart says of its dependencies, as text, and what it brings along.
type Files struct {
	// Dir is the folder of the chart in its tree, with '/' between names; "" and "." are the root.
	Dir string
	// Chart is Chart.yaml. Requirements is requirements.yaml, which charts of apiVersion v1 have.
	Chart, Requirements []byte
	// Lock is Chart.lock, or else requirements.lock; nil where there is none.
	Lock []byte
	// Present are the names of the charts in charts/, folders and archives.
	Present []string
}

// Missing is a dependency that a chart names and does not bring along.
type Missing struct {
	Name string
	// Version is what to ask for: exactly one if there is a lock, else what Chart.yaml says.
	Version string
	// Path is the folder of the dependency in the same tree; "" if it has to be fetched, and then it is the Need.
	Path string
	Need manifest.Need
}

type dependency struct {
	Name         string   `json:"name"`
	Version      string   `json:"version,omitempty"`
	Repository   string   `json:"repository"`
	Condition    string   `json:"condition,omitempty"`
	Tags         []string `json:"tags,omitempty"`
	Enabled      bool     `json:"enabled,omitempty"`
	ImportValues []any    `json:"import-values,omitempty"`
	Alias        string   `json:"alias,omitempty"`
}

type lock struct {
	Digest       string        `json:"digest"`
	Dependencies []*dependency `json:"dependencies"`
}

// Dependencies are those that are missing, in the order in which the chart names them, each once. As with Helm one is
// there if a chart of its name is in charts/, and if one is missing the lock has to fit. Conditions and tags do not
// count: whether a dependency is wanted is known when values are, and Helm fetches all. The dependencies of the
// dependencies are their own affair.
func Dependencies(of Files) ([]Missing, error) {
	wanted, old, err := read(of)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(wanted, func(d *dependency) bool { return !slices.Contains(of.Present, d.Name) }) {
		return nil, nil
	}
	locked, err := readLock(of, wanted, old)
	if err != nil {
		return nil, err
	}
	var missing []Missing
	for i, d := range wanted {
		if slices.Contains(of.Present, d.Name) {
			continue
		}
		if locked != nil {
			d = locked[i]
		}
		one, err := find(of, *d)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(missing, one) {
			missing = append(missing, one)
		}
	}
	return missing, nil
}

// read returns the dependencies, and whether the chart is of the old form.
func read(of Files) (wanted []*dependency, old bool, err error) {
	var chart struct {
		APIVersion   string        `json:"apiVersion"`
		Dependencies []*dependency `json:"dependencies"`
	}
	if err := decode(of.at("Chart.yaml"), of.Chart, &chart); err != nil {
		return nil, false, err
	}
	old, name := chart.APIVersion == "" || chart.APIVersion == "v1", "Chart.yaml"
	if of.Requirements != nil {
		name = "requirements.yaml"
		if err := decode(of.at(name), of.Requirements, &chart); err != nil {
			return nil, false, err
		}
	}
	for i, d := range chart.Dependencies {
		if d == nil || !validName(d.Name) {
			return nil, false, fault.Terminalf("ChartRefused", "reading %s: dependency %d has no name, or one that cannot be that "+
				"of a chart; correct it", of.at(name), i+1)
		}
	}
	return chart.Dependencies, old, nil
}

func readLock(of Files, wanted []*dependency, old bool) ([]*dependency, error) {
	if of.Lock == nil {
		return nil, nil
	}
	name, source := of.at("Chart.lock"), "Chart.yaml"
	if of.Requirements != nil {
		name, source = of.at("requirements.lock"), "requirements.yaml"
	}
	var read lock
	if err := decode(name, of.Lock, &read); err != nil {
		return nil, err
	}
	fits := len(read.Dependencies) == len(wanted)
	for i := 0; fits && i < len(wanted); i++ {
		fits = read.Dependencies[i] != nil && read.Dependencies[i].Name == wanted[i].Name
	}
	if !fits || !sums(wanted, read, old) {
		return nil, fault.Terminalf("DependencyLockMismatch", "%s does not fit the dependencies of %s; run `helm dependency update` "+
			"and commit both", name, source)
	}
	return read.Dependencies, nil
}

// sums checks the digest of a lock, which Helm makes of the dependencies and of what they were locked to. Where a
// repository goes by a name, it does so with the URL that the name stood for.
func sums(wanted []*dependency, read lock, old bool) bool {
	named := make([]*dependency, len(wanted))
	for i, d := range wanted {
		copied := *d
		if _, ok := Alias(d.Repository); ok {
			copied.Repository = read.Dependencies[i].Repository
		}
		named[i] = &copied
	}
	if sum([2][]*dependency{named, read.Dependencies}) == read.Digest || sum([2][]*dependency{wanted, read.Dependencies}) == read.Digest {
		return true
	}
	return old && sum(map[string][]*dependency{"dependencies": wanted}) == read.Digest
}

func sum(of any) string {
	text, err := json.Marshal(of)
	if err != nil {
		return "" // what was read as JSON can be written as such; and nothing equals this
	}
	digest := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(digest[:])
}

// find says where a dependency comes from.
func find(of Files, d dependency) (Missing, error) {
	found := Missing{Name: d.Name, Version: d.Version}
	why := of.at("Chart.yaml") + ": dependency " + d.Name
	if d.Repository == "" {
		return found, fault.Terminalf("DependencyMissing", "%s names no repository and is not in charts/; "+
			"commit it there, or name its repository", why)
	}
	if local, ok := strings.CutPrefix(d.Repository, "file://"); ok {
		found.Path = path.Join(of.Dir, local)
		outside := found.Path == ".." || strings.HasPrefix(found.Path, "../")
		if outside || strings.HasPrefix(local, "/") || strings.ContainsAny(local, "\\\x00") {
			return found, fault.Terminalf("DependencyRefused", "%s is at %q, outside of the repository; "+
				"only folders of the same repository can be used", why, d.Repository)
		}
		return found, nil
	}
	if _, ok := Alias(d.Repository); !ok && !remote.MatchString(d.Repository) {
		return found, fault.Terminalf("DependencyRefused", "%s has the repository %q; use the URL of one (https://, http://, oci://), "+
			"@name for one that is registered under a name, or file:// for a folder", why, d.Repository)
	}
	found.Need = manifest.Need{Kind: manifest.NeedChart, URL: d.Repository, Chart: d.Name, Revision: d.Version, Why: why}
	return found, nil
}

var (
	remote    = regexp.MustCompile(`^(https?|oci)://[^/\s]`)
	chartName = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]*$`)
)

func validName(name string) bool { return len(name) <= 250 && chartName.MatchString(name) }

// Alias is the name that a repository is registered under, where a dependency says @name or alias:name for a URL.
func Alias(repository string) (string, bool) {
	for _, prefix := range []string{"@", "alias:"} {
		if name, ok := strings.CutPrefix(repository, prefix); ok && name != "" {
			return name, true
		}
	}
	return "", false
}

func (f Files) at(name string) string { return path.Join(f.Dir, name) }

func decode(name string, data []byte, into any) error {
	if len(data) > maxText {
		return fault.Terminalf("ChartRefused", "reading %s: it is %d bytes long, the limit is %d", name, len(data), maxText)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		return fault.Terminalf("ChartRefused", "reading %s: %w", name, err)
	}
	return nil
}
