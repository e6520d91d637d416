package source

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
)

var (
	fullSHA  = regexp.MustCompile(`^[0-9a-fA-F]{40}$`)
	shortSHA = regexp.MustCompile(`^[0-9a-fA-F]{7,39}$`)
)

func isSHA(text string) bool      { return fullSHA.MatchString(text) }
func isShortSHA(text string) bool { return shortSHA.MatchString(text) }

// checkRevision refuses what cannot be the name of anything, before anybody is asked.
func checkRevision(at address, revision string) error {
	if strings.HasPrefix(revision, "-") {
		return fault.Terminalf("RevisionRefused", "the revision %q of %s begins with '-'; name a branch, a tag or a SHA",
			revision, at.shown)
	}
	if _, ok := versionRange(revision); ok {
		return nil
	}
	malformed := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`:?[\*^~<>`, r) }
	if strings.ContainsFunc(revision, malformed) || strings.Contains(revision, "..") || strings.Contains(revision, "@{") {
		return fault.Terminalf("RevisionRefused", "the revision %q of %s cannot be the name of a branch or tag, nor a range of "+
			"versions; correct it", revision, at.shown)
	}
	return nil
}

// nearNames are up to three branches and tags that somebody may have meant, quoted, the nearest first.
func nearNames(revision string, named map[string]string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	wanted := strings.ToLower(revision)
	for ref := range named {
		name := strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/tags/")
		if name == "HEAD" || len(name) > 100 || len(wanted) > 100 {
			continue
		}
		distance := editDistance(wanted, strings.ToLower(name))
		if distance <= max(2, len(wanted)/4) || strings.TrimPrefix(name, "v") == strings.TrimPrefix(wanted, "v") {
			near = append(near, candidate{name: name, distance: distance})
		}
	}
	slices.SortFunc(near, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	near = slices.CompactFunc(near, func(a, b candidate) bool { return a.name == b.name })
	var names []string
	for _, c := range near[:min(3, len(near))] {
		names = append(names, strconv.Quote(c.name))
	}
	return names
}

// editDistance counts the letters to add, drop or change to make a out of b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
