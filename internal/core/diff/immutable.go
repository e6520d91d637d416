package diff

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/internal/core/field"
)

// exceptions are refusals that list what may change and do not name what was
// changed: "spec: Forbidden: updates to statefulset spec for fields other than
// 'replicas', 'template' and 'minReadySeconds' are forbidden".
var (
	exceptions = regexp.MustCompile(`(?s)([A-Za-z.]+): Forbidden: [^:]*for fields other than (.*?) are forbidden`)
	excepted   = regexp.MustCompile(`'([^']+)'`)
)

// Immutable names the fields that a refusal is about where the server names
// only the others: those that the manifest would change and that it did not
// except. It is nil where the server says it itself.
func Immutable(desired, live *unstructured.Unstructured, refusal, manager string) []string {
	m := exceptions.FindStringSubmatch(refusal)
	if m == nil {
		return nil
	}
	way, ok := plainWay(m[1])
	if !ok {
		return nil
	}
	var allowed []string
	for _, q := range excepted.FindAllStringSubmatch(m[2], -1) {
		allowed = append(allowed, q[1])
	}
	at := func(u *unstructured.Unstructured) map[string]any {
		v, _ := field.Find(u.Object, way)
		out, _ := v.(map[string]any)
		return out
	}
	wanted, standing := at(desired), at(live)
	var out []string
	for _, k := range slices.Sorted(maps.Keys(standing)) {
		if _, ok := wanted[k]; !ok && !slices.Contains(allowed, k) && owns(live, append(slices.Clip(way), "f:"+k), manager) {
			out = append(out, m[1]+"."+k)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(wanted)) {
		if !slices.Contains(allowed, k) && !within(standing[k], wanted[k], amounts) {
			out = append(out, m[1]+"."+k)
		}
	}
	return out
}

// Named is a refusal together with the fields that it is about, where the
// server does not name them.
func Named(refusal string, fields []string) string {
	if len(fields) == 0 {
		return refusal
	}
	return fmt.Sprintf("%s (the manifest changes %s)", refusal, strings.Join(fields, ", "))
}

func owns(live *unstructured.Unstructured, way []string, manager string) bool {
	return slices.ContainsFunc(field.Applied(live, manager), func(e field.Entry) bool { return field.Has(e.Fields, way) })
}

// amounts is what is equal to the server though it is written differently: a
// quantity in another unit, and nothing as an empty value.
func amounts(live, written any) bool {
	switch w := written.(type) {
	case map[string]any:
		return live == nil && len(w) == 0
	case []any:
		return live == nil && len(w) == 0
	}
	if reflect.DeepEqual(live, written) {
		return true
	}
	a, err1 := resource.ParseQuantity(fmt.Sprint(live))
	b, err2 := resource.ParseQuantity(fmt.Sprint(written))
	return err1 == nil && err2 == nil && a.Cmp(b) == 0
}
