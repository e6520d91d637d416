package object

import (
	"cmp"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
)

// leastSecret is how long a value is at least that is hidden: a shorter one would hide words that are none.
const leastSecret = 4

// Scrub hides in a text, such as an error, what stands in the data of Secrets in the given files. Nothing is asked of the
// files: one that is broken is the reason for most such texts. So more may be hidden than had to be.
func Scrub(text string, files ...[]byte) string {
	values := map[string]struct{}{}
	for _, file := range files {
		for _, value := range secretValues(string(file)) {
			for _, form := range forms(value) {
				if len(form) >= leastSecret && strings.Contains(text, form) {
					values[form] = struct{}{}
				}
			}
		}
	}
	ordered := make([]string, 0, len(values))
	for value := range values {
		ordered = append(ordered, value)
	}
	// A value may be part of another.
	slices.SortFunc(ordered, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	for _, value := range ordered {
		text = strings.ReplaceAll(text, value, Masked)
	}
	return text
}

// forms are how a value may be told: as it is, the other way round of its encoding, and the beginning that a parser
// shows of a long one.
func forms(value string) []string {
	out := []string{value, base64.StdEncoding.EncodeToString([]byte(value))}
	if plain, err := base64.StdEncoding.DecodeString(value); err == nil {
		out = append(out, string(plain))
	}
	const shown = 7
	if len(value) > shown {
		out = append(out, value[:shown]+"...")
	}
	return out
}

var (
	// secretData begins the data of a Secret, in YAML, JSON or jsonnet.
	secretData = regexp.MustCompile(`(?:^|[\s,{])["']?(?:data|stringData)["']?\s*:`)
	// otherField is what may follow it at the top of an object.
	otherField = regexp.MustCompile(`^\s*-?\s*["']?(?:apiVersion|kind|metadata|type|immutable)["']?\s*:`)
)

// secretValues are the words that stand in the data of Secrets, line by line.
func secretValues(file string) []string {
	if !strings.Contains(file, "Secret") {
		return nil
	}
	var out []string
	within := false
	for line := range strings.Lines(file) {
		switch begin := secretData.FindStringIndex(line); {
		case begin != nil:
			within = true
			line = line[begin[1]:]
		case strings.HasPrefix(line, "---"), otherField.MatchString(line):
			within = false
		}
		if within {
			out = append(out, lineValues(line)...)
		}
	}
	return out
}

// lineValues are the words of a line that may be values: what follows a key, or all of it.
func lineValues(line string) []string {
	const marks = " \t\r\n\"'`,{}[]|>"
	out := []string{strings.Trim(line, marks)}
	for part := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(",{}[]", r) }) {
		if _, value, ok := strings.Cut(part, ":"); ok {
			out = append(out, strings.Trim(value, marks))
		}
	}
	if _, value, ok := strings.Cut(line, ":"); ok {
		out = append(out, strings.Trim(value, marks))
		if value, _, ok := strings.Cut(value, " #"); ok {
			out = append(out, strings.Trim(value, marks))
		}
	}
	return out
}
