package engine

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// TestDifference: whatever differs between two applications, the patch makes the
// JSON of the one that of the other; and there is none where nothing does.
func TestDifference(t *testing.T) {
	random := filler{rand.New(rand.NewPCG(1, 2))}
	patched := 0
	for range 2000 {
		var was, next written
		random.fill(reflect.ValueOf(&was).Elem(), 7)
		random.fill(reflect.ValueOf(&next).Elem(), 7)
		if random.IntN(2) == 0 {
			// As it is after a look: nearly all is the same.
			next = written{Metadata: was.Metadata, Operation: was.Operation, Status: *was.Status.DeepCopy()}
			random.fill(reflect.ValueOf(&next.Status.Health).Elem(), 3)
			random.fill(reflect.ValueOf(&next.Status.OperationState).Elem(), 5)
		}
		from, to := encoded(t, was), encoded(t, next)
		d, err := difference(was, next)
		if err != nil {
			t.Fatal(err)
		}
		want, err := jsonpatch.CreateMergePatch(from, to)
		if err != nil {
			t.Fatal(err)
		}
		if d == nil {
			if string(want) != "{}" {
				t.Fatalf("no difference, want %s", want)
			}
			continue
		}
		patched++
		if got := encoded(t, d); !jsonpatch.Equal(got, want) {
			t.Fatalf("from %s\nto   %s\ngot  %s\nwant %s", from, to, got, want)
		}
	}
	if patched < 1000 {
		t.Errorf("only %d differed", patched)
	}
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestTheSameTimeElsewhere: what was read has the time of this place, and what
// was made that of Greenwich; in JSON they are the same.
func TestTheSameTimeElsewhere(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	one, other := metav1.NewTime(at), metav1.NewTime(at.In(time.FixedZone("CET", 3600)))
	d, err := difference(
		written{Status: v1alpha1.ApplicationStatus{ReconciledAt: &one, History: v1alpha1.RevisionHistories{{DeployedAt: one}}}},
		written{Status: v1alpha1.ApplicationStatus{ReconciledAt: &other, History: v1alpha1.RevisionHistories{{DeployedAt: other}}}},
	)
	if d != nil || err != nil {
		t.Errorf("got %v, %v", d, err)
	}
}

// filler makes values of any type, with much that is empty.
type filler struct{ *rand.Rand }

func (f filler) fill(v reflect.Value, depth int) {
	if depth == 0 || f.IntN(3) == 0 {
		v.SetZero()
		return
	}
	switch at := v.Addr().Interface().(type) {
	case *metav1.Time:
		*at = metav1.NewTime(time.Unix(int64(f.IntN(3)), 0))
		return
	case *runtime.RawExtension:
		at.Raw = f.json()
		return
	case *apiextv1.JSON:
		at.Raw = f.json()
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), depth-1)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i), depth-1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), f.IntN(3), 3))
		for i := range v.Len() {
			f.fill(v.Index(i), depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.IntN(3) {
			e := reflect.New(v.Type().Elem()).Elem()
			f.fill(e, depth-1)
			v.SetMapIndex(reflect.ValueOf(f.word()).Convert(v.Type().Key()), e)
		}
	case reflect.String:
		v.SetString(f.word())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.IntN(3)))
	default:
	}
}

func (f filler) word() string { return []string{"", "a", "b<c>"}[f.IntN(3)] }

func (f filler) json() []byte {
	return []byte([]string{`{"a":1}`, `{"a":{"b":2},"c":[]}`, `{}`, `"a"`}[f.IntN(4)])
}
