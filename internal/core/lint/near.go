package lint

import (
	"reflect"
	"strings"
)

// nearest is the known word that was probably meant; empty if there is none.
func nearest(written string, known []string) string {
	best, least := "", 1+max(2, len(written)/5)
	for _, k := range known {
		if d := distance(strings.ToLower(written), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is how many letters have to be changed, added or taken away.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := before
			if a[i-1] != b[j-1] {
				change++
			}
			before = row[j]
			row[j] = min(change, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}

// siblings are the names of the fields beside a place in a type.
func siblings(of reflect.Type, path []any) []string {
	if len(path) == 0 {
		return nil
	}
	for _, step := range path[:len(path)-1] {
		of = inside(of, step)
		if of == nil {
			return nil
		}
	}
	var out []string
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return nil
	}
	for f := range of.Fields() {
		if name := jsonName(f); name != "" {
			out = append(out, name)
		}
	}
	return out
}

func inside(of reflect.Type, step any) reflect.Type {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	name, isName := step.(string)
	switch {
	case !isName && of.Kind() == reflect.Slice, isName && of.Kind() == reflect.Map:
		return of.Elem()
	case !isName || of.Kind() != reflect.Struct:
		return nil
	}
	for f := range of.Fields() {
		if jsonName(f) == name {
			return f.Type
		}
	}
	return nil
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" {
		return ""
	}
	return name
}
