package helm

import (
	"fmt"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// maxRepeatBytes and maxCount bound what one call of a function can make out of nothing.
const (
	maxRepeatBytes = 16 << 20
	maxCount       = 1_000_000
)

// bounded are the functions of templates that turn a number into as much memory, with an end to it. The templates
// cannot be stopped while they run; without these a line of text could ask for all the memory there is.
var bounded = template.FuncMap{
	"repeat": func(count int, text string) (string, error) {
		if count > 0 && len(text) > maxRepeatBytes/count {
			return "", fmt.Errorf("repeat of %d bytes %d times is more than %d bytes", len(text), count, maxRepeatBytes)
		}
		return strings.Repeat(text, max(count, 0)), nil
	},
	"until": func(count int) ([]int, error) {
		if count > maxCount || count < -maxCount {
			return nil, fmt.Errorf("until %d is more than %d numbers", count, maxCount)
		}
		return original[func(int) []int]("until")(count), nil
	},
	"untilStep": func(start, stop, step int) ([]int, error) {
		if step != 0 && (stop-start)/step > maxCount {
			return nil, fmt.Errorf("untilStep %d %d %d is more than %d numbers", start, stop, step, maxCount)
		}
		return original[func(int, int, int) []int]("untilStep")(start, stop, step), nil
	},
	"seq": func(params ...int) (string, error) {
		for _, param := range params {
			if param > maxCount || param < -maxCount {
				return "", fmt.Errorf("seq with %d is more than %d numbers", param, maxCount)
			}
		}
		return original[func(...int) string]("seq")(params...), nil
	},
	"indent": func(spaces int, text string) (string, error) {
		if err := indentable(spaces, text); err != nil {
			return "", err
		}
		return original[func(int, string) string]("indent")(spaces, text), nil
	},
	"nindent": func(spaces int, text string) (string, error) {
		if err := indentable(spaces, text); err != nil {
			return "", err
		}
		return original[func(int, string) string]("nindent")(spaces, text), nil
	},
	"randAlphaNum": random("randAlphaNum"),
	"randAlpha":    random("randAlpha"),
	"randNumeric":  random("randNumeric"),
	"randAscii":    random("randAscii"),
	"randBytes": func(count int) (string, error) {
		if count > maxCount {
			return "", fmt.Errorf("randBytes %d is more than %d bytes", count, maxCount)
		}
		return original[func(int) (string, error)]("randBytes")(count)
	},
}

func random(name string) func(int) (string, error) {
	return func(count int) (string, error) {
		if count > maxCount {
			return "", fmt.Errorf("%s %d is more than %d characters", name, count, maxCount)
		}
		return original[func(int) string](name)(count), nil
	}
}

func indentable(spaces int, text string) error {
	if spaces > 0 && strings.Count(text, "\n")+1 > maxRepeatBytes/spaces {
		return fmt.Errorf("indenting %d lines by %d is more than %d bytes", strings.Count(text, "\n")+1, spaces, maxRepeatBytes)
	}
	return nil
}

// generic are the functions that Helm itself takes.
var generic = sprig.TxtFuncMap()

// original is the function that Helm would call. A test calls them all: one that has another type is nil, and found there.
func original[F any](name string) F {
	found, _ := generic[name].(F)
	return found
}
