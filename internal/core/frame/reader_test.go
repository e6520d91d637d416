package frame_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"

	"github.com/towline-cd/towline/internal/core/frame"
)

// framers are client-go's own and ours.
func framers() [2]runtime.Framer {
	loose := dynamic.ConfigFor(&rest.Config{}).NegotiatedSerializer
	of := func(s runtime.NegotiatedSerializer) runtime.Framer {
		info, _ := runtime.SerializerInfoForMediaType(s.SupportedMediaTypes(), runtime.ContentTypeJSON)
		return info.StreamSerializer.Framer
	}
	return [2]runtime.Framer{of(loose), of(frame.Quick(loose, frame.Unstructured))}
}

// chunks gives a text in parts of these sizes, the last of them over and over.
type chunks struct {
	text  *strings.Reader
	sizes []int
}

func (c *chunks) Read(into []byte) (int, error) {
	size := c.sizes[0]
	if len(c.sizes) > 1 {
		c.sizes = c.sizes[1:]
	}
	return c.text.Read(into[:min(size, len(into))])
}

func (c *chunks) Close() error { return nil }

// frames are all that a stream is taken apart into, read with a buffer of that size.
func frames(t *rapid.T, f runtime.Framer, stream io.ReadCloser, size int) (out []string, err error) {
	r := f.NewFrameReader(stream)
	for {
		var whole []byte
		for {
			part := make([]byte, size)
			n, err := r.Read(part)
			whole = append(whole, part[:n]...)
			if err == nil {
				break
			}
			if !errors.Is(err, io.ErrShortBuffer) {
				return out, err
			}
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, whole); err != nil {
			t.Fatalf("a frame is not JSON: %v: %s", err, whole)
		}
		out = append(out, compact.String())
	}
}

// TestFramesAreTheSame takes streams apart that come in pieces of any size.
func TestFramesAreTheSame(t *testing.T) {
	words := rapid.SampledFrom([]string{"", "a", `"`, `\`, `\"`, `{`, `}`, `[]`, "ü", "\n", `\\"}`, "é }"})
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaves := []*rapid.Generator[any]{rapid.Map(words, func(s string) any { return s }), rapid.Just[any](1.5), rapid.Just[any](nil)}
		if depth == 0 {
			return rapid.OneOf(leaves...)
		}
		return rapid.OneOf(append(leaves,
			rapid.Map(rapid.MapOfN(words, value(depth-1), 0, 3), func(m map[string]any) any { return m }),
			rapid.Map(rapid.SliceOfN(value(depth-1), 0, 3), func(l []any) any { return l }))...)
	}
	both := framers()
	rapid.Check(t, func(t *rapid.T) {
		var stream strings.Builder
		for range rapid.IntRange(0, 4).Draw(t, "events") {
			text, err := json.Marshal(rapid.MapOfN(words, value(3), 0, 4).Draw(t, "event"))
			if err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "indented") {
				var pretty bytes.Buffer
				if err := json.Indent(&pretty, text, " ", "\t"); err != nil {
					t.Fatal(err)
				}
				text = pretty.Bytes()
			}
			stream.WriteString(rapid.SampledFrom([]string{"", "\n", " \r\n\t"}).Draw(t, "between"))
			stream.Write(text)
		}
		text := stream.String()
		if rapid.IntRange(0, 4).Draw(t, "something else") == 0 {
			text += rapid.SampledFrom([]string{` [1] {"a":2}`, ` "a"`, `7 `}).Draw(t, "what")
		}
		text = text[:len(text)-rapid.IntRange(0, min(3, len(text))).Draw(t, "cut")]
		sizes := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 6).Draw(t, "chunks")
		size := rapid.IntRange(1, 64).Draw(t, "buffer")
		var got [2][]string
		var ends [2]error
		for i, f := range both {
			got[i], ends[i] = frames(t, f, &chunks{text: strings.NewReader(text), sizes: sizes}, size)
		}
		if d := cmp.Diff(got[0], got[1]); d != "" {
			t.Errorf("client-go takes %q apart otherwise (-client-go +quick):\n%s", text, d)
		}
		if errors.Is(ends[0], io.EOF) != errors.Is(ends[1], io.EOF) {
			t.Errorf("%q ends with %v, and with client-go with %v", text, ends[1], ends[0])
		}
	})
}

func BenchmarkFrames(b *testing.B) {
	text := strings.Repeat(`{"type":"ADDED","object":`+strings.Replace(object, `"list":[1,"b",{}]`, `"list":[`+strings.Repeat(`{"name":"a","value":"text"},`, 40)+`1]`, 1)+"}\n", 100)
	for i, f := range framers() {
		b.Run([]string{"client-go", "quick"}[i], func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			into := make([]byte, 1<<16)
			for b.Loop() {
				r := f.NewFrameReader(io.NopCloser(strings.NewReader(text)))
				for range 100 {
					if _, err := r.Read(into); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
