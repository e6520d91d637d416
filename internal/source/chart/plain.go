package chart

import (
	"regexp"
	"strings"
)

// Values that mean themselves in YAML: no numbers, no dates, no words that stand for something else.
var (
	plainVersion = regexp.MustCompile(`^v?\d+\.\d+\.\d+[0-9A-Za-z.+-]*$`)
	plainDigest  = regexp.MustCompile(`^[0-9a-f]*[abcdf][0-9a-f]*$`)
	plainURL     = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+-]*[./:][a-zA-Z0-9._/:+%=&?~-]*[a-zA-Z0-9/]$`)
)

// plainRelease reads the lines of a release that nearly all are written in, at a fraction of the cost of a parser. What
// it is not sure of it leaves to one.
func plainRelease(text string) (*written, bool) {
	var w written
	urls := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if item, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "- "); ok && urls {
			value, ok := plainValue(item, plainURL)
			if !ok {
				return nil, false
			}
			w.URLs = append(w.URLs, value)
			continue
		}
		key, value, _ := strings.Cut(line, ":")
		urls = key == "urls" && value == "" && w.URLs == nil
		if urls {
			continue
		}
		into, form := &w.Version, plainVersion
		switch key {
		case "version":
		case "digest":
			into, form = &w.Digest, plainDigest
		case "created":
			into, form = &w.Created, nil
		default:
			return nil, false
		}
		value, ok := strings.CutPrefix(value, " ")
		if ok {
			value, ok = plainValue(value, form)
		}
		if !ok || *into != "" {
			return nil, false
		}
		*into = value
	}
	return &w, true
}

func plainValue(text string, form *regexp.Regexp) (string, bool) {
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		quoted, ok = strings.CutSuffix(quoted, `"`)
		return quoted, ok && !strings.ContainsAny(quoted, "\"\\") && printable(quoted)
	}
	return text, form != nil && form.MatchString(text)
}

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}
