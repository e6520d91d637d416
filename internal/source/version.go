package source

import (
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// versionRange reads a range of versions. A single version is none: it is the name of a tag.
func versionRange(revision string) (*semver.Constraints, bool) {
	if _, err := semver.NewVersion(revision); err == nil || revision == "" || len(revision) > 256 {
		return nil, false
	}
	allowed, err := semver.NewConstraint(revision)
	return allowed, err == nil
}

// newest is the tag with the highest version that is allowed, or "". Only tags with the prefix count, without it. A
// prerelease counts where the range names one.
func (a *answer) newest(allowed *semver.Constraints, prefix string) string {
	best, name := (*semver.Version)(nil), ""
	for ref := range a.named {
		tag, ok := strings.CutPrefix(ref, "refs/tags/")
		if !ok {
			continue
		}
		text, ok := strings.CutPrefix(tag, prefix)
		if !ok {
			continue
		}
		version, err := semver.NewVersion(text)
		if err != nil || !allowed.Check(version) {
			continue
		}
		// Two tags may have one version, as "1.0.0" and "v1.0.0": the choice must not depend on the order of a map.
		if best == nil || version.GreaterThan(best) || version.Equal(best) && tag < name {
			best, name = version, tag
		}
	}
	return name
}

// noVersion says that no tag is in the range.
func noVersion(at address, of manifest.Origin) error {
	which := "no tag"
	if of.TagPrefix != "" {
		which = "no tag that begins with \"" + of.TagPrefix + "\""
	}
	return fault.Terminalf("RevisionNotFound", "%s of %s has a version in the range %q; push one, or widen the range "+
		"(prereleases count only where it names one, like >=1.0.0-0)", which, at.shown, of.Revision)
}
