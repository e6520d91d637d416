// Package chart is what Helm charts say of themselves and of each other: which of many versions is meant, and which
// dependencies are missing. It works on values and text: it must not fetch, and it must not render.
package chart

import (
	"cmp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// maxRange bounds the text of a range of versions.
const maxRange = 256

// IsRange reports whether the text stands for many versions, so that which one is meant depends on which there are.
// "1.2" is one: it means the newest of 1.2.
func IsRange(text string) bool {
	if text == "" {
		return true
	}
	if len(text) > maxRange {
		return false
	}
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(text, "v")); err == nil {
		return false
	}
	_, err := semver.NewConstraint(text)
	return err == nil
}

// Pick finds the version that is meant. One that is written exactly so is it; else the newest of the range that the
// text stands for, "" for any. Versions before a release count only for a range that names one, as in ">=1.0.0-0".
func Pick(versions []string, want string) (string, bool) {
	if want != "" && slices.Contains(versions, want) {
		return want, true
	}
	if len(want) > maxRange {
		return "", false
	}
	constraint, err := semver.NewConstraint(cmp.Or(want, "*"))
	if err != nil {
		return "", false
	}
	var best *semver.Version
	for _, text := range versions {
		version, err := semver.NewVersion(text)
		if err != nil || !constraint.Check(version) {
			continue
		}
		// Versions that differ in build metadata alone are equal to the rules; the text makes the choice a stable one.
		if best == nil || cmp.Or(version.Compare(best), cmp.Compare(text, best.Original())) > 0 {
			best = version
		}
	}
	if best == nil {
		return "", false
	}
	return best.Original(), true
}

// Near are up to five versions that somebody may have meant: those of the same line first, then the newest.
func Near(versions []string, want string) []string {
	type candidate struct {
		text    string
		version *semver.Version
		shared  int
	}
	wanted := strings.FieldsFunc(strings.TrimLeft(want, "v^~=<> "), func(r rune) bool { return r == '.' || r == '-' || r == '+' })
	var known []candidate
	for _, text := range versions {
		version, err := semver.NewVersion(text)
		if err != nil {
			continue
		}
		parts := strings.FieldsFunc(strings.TrimPrefix(text, "v"), func(r rune) bool { return r == '.' || r == '-' || r == '+' })
		shared := 0
		for shared < len(parts) && shared < len(wanted) && parts[shared] == wanted[shared] {
			shared++
		}
		known = append(known, candidate{text: text, version: version, shared: shared})
	}
	slices.SortFunc(known, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.shared, a.shared), b.version.Compare(a.version), cmp.Compare(a.text, b.text))
	})
	var near []string
	for _, c := range known[:min(5, len(known))] {
		near = append(near, c.text)
	}
	return near
}
