package appset

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

// The functions that templates do not have, as in Argo CD: they look into the process or the network.
var withheld = []string{"env", "expandenv", "getHostByName"}

// The functions that give something else each time they are asked. With them an Application would be another at each
// look, and would be written again each time.
var fickle = []string{
	"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes", "randInt", "uuidv4", "shuffle",
	"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert",
	"genSignedCertWithKey", "bcrypt", "htpasswd", "encryptAES",
}

const (
	// maxCount bounds the numbers that one call of a function makes.
	maxCount = 100_000
	// maxName is the length of a name in Kubernetes.
	maxName = 253
)

// general are the functions that do not depend on the time.
var general = sync.OnceValue(func() template.FuncMap {
	all := sprig.TxtFuncMap()
	for _, name := range withheld {
		delete(all, name)
	}
	for _, name := range fickle {
		all[name] = func(...any) (string, error) {
			return "", fmt.Errorf("%s gives something else each time, so that the Application would change at every look; "+
				"take a digest of a parameter, as in {{ .name | sha256sum | trunc 8 }}", name)
		}
	}
	maps.Copy(all, bounds(all))
	all["normalize"] = Normalize
	all["slugify"] = slugify
	all["toYaml"] = toYAML
	all["fromYaml"] = fromYAML
	all["fromYamlArray"] = fromYAMLArray
	return all
})

func functions(now time.Time) template.FuncMap {
	all := maps.Clone(general())
	all["now"] = func() time.Time { return now }
	all["ago"] = func(date any) string {
		at := now
		switch d := date.(type) {
		case time.Time:
			at = d
		case int64:
			at = time.Unix(d, 0)
		case int:
			at = time.Unix(int64(d), 0)
		}
		return now.Sub(at).Round(time.Second).String()
	}
	return all
}

// bounds are the functions that make much out of a number, with an end to it: a template cannot be stopped while it runs.
func bounds(all template.FuncMap) template.FuncMap {
	until, _ := all["until"].(func(int) []int)
	untilStep, _ := all["untilStep"].(func(int, int, int) []int)
	seq, _ := all["seq"].(func(...int) string)
	indent, _ := all["indent"].(func(int, string) string)
	nindent, _ := all["nindent"].(func(int, string) string)
	return template.FuncMap{
		"repeat": func(count int, s string) (string, error) {
			if count > 0 && len(s) > maxText/count {
				return "", errTooLong
			}
			return strings.Repeat(s, max(count, 0)), nil
		},
		"until": func(count int) ([]int, error) {
			if count > maxCount || count < -maxCount {
				return nil, tooMany("until", count)
			}
			return until(count), nil
		},
		"untilStep": func(start, stop, step int) ([]int, error) {
			if step != 0 && (stop-start)/step > maxCount {
				return nil, tooMany("untilStep", (stop-start)/step)
			}
			return untilStep(start, stop, step), nil
		},
		"seq": func(params ...int) (string, error) {
			for _, p := range params {
				if p > maxCount || p < -maxCount {
					return "", tooMany("seq", p)
				}
			}
			return seq(params...), nil
		},
		"indent": func(spaces int, s string) (string, error) {
			if spaces > maxText/(strings.Count(s, "\n")+1) {
				return "", errTooLong
			}
			return indent(max(spaces, 0), s), nil
		},
		"nindent": func(spaces int, s string) (string, error) {
			if spaces > maxText/(strings.Count(s, "\n")+1) {
				return "", errTooLong
			}
			return nindent(max(spaces, 0), s), nil
		},
	}
}

func tooMany(function string, count int) error {
	return fmt.Errorf("%s makes %d numbers, and %d are the most", function, count, maxCount)
}

var unfit = regexp.MustCompile(`[^-a-z0-9.]`)

// Normalize makes a string fit to be a name in Kubernetes.
func Normalize(s string) string {
	s = unfit.ReplaceAllString(strings.ToLower(s), "-")
	if len(s) > maxName {
		s = s[:maxName]
	}
	return strings.Trim(s, "-.")
}

var dashes = regexp.MustCompile(`-+`)

// slugify takes at most a length, then whether to cut between words, and last the string.
func slugify(args ...any) (string, error) {
	most, whole := 50, true
	if len(args) == 0 {
		return "", nil
	}
	s, ok := args[len(args)-1].(string)
	if !ok {
		return "", errors.New("slugify takes a string last, as in {{ slugify 23 true .branch }}")
	}
	if len(args) > 1 {
		if most, ok = args[0].(int); !ok || most < 0 {
			return "", errors.New("slugify takes a length first, as in {{ slugify 23 .branch }}")
		}
	}
	if len(args) > 2 {
		if whole, ok = args[1].(bool); !ok {
			return "", errors.New("slugify takes true or false second, as in {{ slugify 23 false .branch }}")
		}
	}
	s = strings.ReplaceAll(Normalize(s), ".", "-")
	if !whole && len(s) > most {
		s = s[:most]
	}
	s = strings.Trim(dashes.ReplaceAllString(s, "-"), "-")
	if len(s) <= most {
		return s, nil
	}
	if i := strings.LastIndexByte(s[:most+1], '-'); i > 0 {
		return s[:i], nil
	}
	return s[:most], nil
}

func toYAML(v any) (string, error) {
	data, err := yaml.Marshal(v)
	return strings.TrimSuffix(string(data), "\n"), err
}

func fromYAML(s string) (map[string]any, error) {
	out := map[string]any{}
	err := yaml.Unmarshal([]byte(s), &out)
	return out, err
}

func fromYAMLArray(s string) ([]any, error) {
	out := []any{}
	err := yaml.Unmarshal([]byte(s), &out)
	return out, err
}
