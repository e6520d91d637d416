package wish

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Unmask puts back what was hidden when an object was shown: who reads an application, changes a line and sends it back
// sends masks along. A text in wanted that is what mask makes of exactly one text of now becomes that text. What still is a
// mask is named by its path, since it would be stored as it is.
func Unmask(now, wanted any, mask func(text string) string, masked func(text string) bool) (left []string, err error) {
	var was any
	if err := through(now, &was); err != nil {
		return nil, err
	}
	hidden := map[string][]string{}
	texts(was, func(text string) {
		if shown := mask(text); shown != text && !slices.Contains(hidden[shown], text) {
			hidden[shown] = append(hidden[shown], text)
		}
	})
	var doc any
	if err := through(wanted, &doc); err != nil {
		return nil, err
	}
	changed := false
	doc = replaced(doc, "", func(path, text string) string {
		if !masked(text) {
			return text
		}
		if of := hidden[text]; len(of) == 1 {
			changed = true
			return of[0]
		}
		left = append(left, path)
		return text
	})
	slices.Sort(left)
	if !changed {
		return left, nil
	}
	return left, through(doc, wanted)
}

// through takes a value from one form to another.
func through(from, into any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("decoding: %w", err)
	}
	return nil
}

func texts(value any, each func(string)) {
	switch v := value.(type) {
	case string:
		each(v)
	case []any:
		for _, item := range v {
			texts(item, each)
		}
	case map[string]any:
		for _, item := range v {
			texts(item, each)
		}
	}
}

func replaced(value any, path string, by func(path, text string) string) any {
	switch v := value.(type) {
	case string:
		return by(strings.TrimPrefix(path, "."), v)
	case []any:
		for i := range v {
			v[i] = replaced(v[i], fmt.Sprintf("%s[%d]", path, i), by)
		}
	case map[string]any:
		for key := range v {
			v[key] = replaced(v[key], path+"."+key, by)
		}
	}
	return value
}
