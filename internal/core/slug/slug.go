// Package slug turns a text into a name that a DNS label can hold, in the way that users of Argo CD know from branch_slug
// and slugify: an application that is named after a branch keeps its name. It must not know what the text is.
package slug

import (
	"regexp"
	"strings"

	"github.com/gosimple/unidecode"
)

// Length is how long a slug may be, so that there is room for something beside it in a label of 63 letters.
const Length = 50

// spelled are the letters that are written out, or left out, before any others are looked at.
var spelled = strings.NewReplacer("_", "-", `"`, "", "'", "", "’", "", "‒", "-", "–", "-", "—", "-", "―", "-",
	"&", "and", "@", "at")

var (
	strange = regexp.MustCompile(`[^a-z0-9_-]`)
	dashes  = regexp.MustCompile(`-+`)
)

// Make is the slug of a text, cut after the last whole word that fits.
func Make(text string) string { return Cut(text, Length, true) }

// Cut is the slug of a text that is no longer than a limit. With whole words, it ends where a word ends, if there is one
// that fits; without, the text is cut before it is cleaned. A limit of zero is none.
func Cut(text string, limit int, words bool) string {
	text = strings.ToLower(unidecode.Unidecode(spelled.Replace(strings.TrimSpace(text))))
	if !words && limit > 0 && len(text) > limit {
		text = text[:limit]
	}
	text = dashes.ReplaceAllString(strange.ReplaceAllString(text, "-"), "-")
	text = strings.Trim(text, "-_")
	if limit <= 0 || len(text) <= limit {
		return text
	}
	if end := strings.LastIndexByte(text[:limit+1], '-'); end >= 0 {
		return text[:end]
	}
	return text[:limit]
}
