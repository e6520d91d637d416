package fields_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/server/fields"
)

const document = `{"items":[{"metadata":{"name":"a","uid":"1"},"spec":{"project":"p"}},{"metadata":{"name":"b"}}],"metadata":{"resourceVersion":"7"}}`

func TestCut(t *testing.T) {
	cases := map[string]struct{ fields, want string }{
		"nothing said":      {"", document},
		"one field":         {"items.metadata.name", `{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`},
		"a whole object":    {"items.metadata,metadata", `{"items":[{"metadata":{"name":"a","uid":"1"}},{"metadata":{"name":"b"}}],"metadata":{"resourceVersion":"7"}}`},
		"spaces":            {"metadata, items.spec", `{"items":[{"spec":{"project":"p"}},{}],"metadata":{"resourceVersion":"7"}}`},
		"left out":          {"-items.metadata,metadata", `{"items":[{"spec":{"project":"p"}},{}]}`},
		"a part left out":   {"-items.metadata.uid", `{"items":[{"metadata":{"name":"a"},"spec":{"project":"p"}},{"metadata":{"name":"b"}}],"metadata":{"resourceVersion":"7"}}`},
		"what is not there": {"nothing", `{}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := fields.Parse(c.fields)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Cut([]byte(document))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBelow(t *testing.T) {
	cases := map[string]struct {
		fields string
		any    bool
		want   string
	}{
		"nothing said":          {"", true, `{"metadata":{"name":"a"},"spec":1}`},
		"fields of the item":    {"items.metadata.name", true, `{"metadata":{"name":"a"}}`},
		"all of the items":      {"items", true, `{"metadata":{"name":"a"},"spec":1}`},
		"none of the items":     {"metadata", false, ``},
		"items left out":        {"-items", false, ``},
		"others left out":       {"-metadata", true, `{"metadata":{"name":"a"},"spec":1}`},
		"a part of it left out": {"-items.spec", true, `{"metadata":{"name":"a"}}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := fields.Parse(c.fields)
			if err != nil {
				t.Fatal(err)
			}
			below, found := s.Below("items")
			if found != c.any {
				t.Fatalf("anything to keep: %v, want %v", found, c.any)
			}
			if !found {
				return
			}
			got, err := below.Cut([]byte(`{"metadata":{"name":"a"},"spec":1}`))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
