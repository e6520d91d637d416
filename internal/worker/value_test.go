package worker_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/worker"
)

var value = map[string]any{
	"nil": nil, "yes": true, "no": false, "int": int64(9223372036854775807), "negative": int64(-1), "float": 0.1,
	"text": "ü\x00", "list": []any{int64(1), "a", []any{}}, "map": map[string]any{"a": map[string]any{}},
}

func TestValuesTravel(t *testing.T) {
	for _, unordered := range []bool{false, true} {
		e := worker.Encoder{Unordered: unordered}
		e.Value(value, 0)
		for _, known := range []map[string]string{nil, {}} {
			c := worker.Cursor{Data: e.Out, Known: known}
			got := c.Value(0)
			if diff := cmp.Diff(any(value), got); diff != "" || c.Err != nil || e.Err != nil || len(c.Data) != 0 {
				t.Errorf("%v, %v, %d bytes left (-want +got)\n%s", e.Err, c.Err, len(c.Data), diff)
			}
			c = worker.Cursor{Data: e.Out}
			if c.Skip(0); c.Err != nil || len(c.Data) != 0 {
				t.Errorf("stepping over it: %v, %d bytes left", c.Err, len(c.Data))
			}
		}
		if !unordered {
			again := worker.Encoder{}
			if again.Value(value, 0); !bytes.Equal(e.Out, again.Out) {
				t.Error("the same value was written in two ways")
			}
		}
	}
}

// TestNothingIsBelieved: a message may be cut, or claim what it does not hold.
func TestNothingIsBelieved(t *testing.T) {
	e := worker.Encoder{}
	e.Value(value, 0)
	for n := range e.Out {
		c := worker.Cursor{Data: e.Out[:n]}
		if c.Value(0); c.Err == nil {
			t.Errorf("%d bytes of %d are a value", n, len(e.Out))
		}
	}
	huge := append([]byte{worker.TagList}, binary.AppendUvarint(nil, 1<<60)...)
	tests := map[string]struct {
		data []byte
		want error
	}{
		"a list that is not there": {huge, worker.ErrShort},
		"an unknown tag":           {[]byte("x"), worker.ErrTag},
		"lists in lists":           {bytes.Repeat([]byte{worker.TagList, 1}, worker.Deepest+2), worker.ErrDeep},
		"more than allowed":        {append(worker.AppendCount([]byte{worker.TagList}, 1<<20), bytes.Repeat([]byte{worker.TagNil}, 1<<20)...), worker.ErrLarge},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			budget := int64(1 << 20)
			c := worker.Cursor{Data: tc.data, Budget: &budget}
			if c.Value(0); !errors.Is(c.Err, tc.want) {
				t.Errorf("got %v, want %v", c.Err, tc.want)
			}
		})
	}
	odd := worker.Encoder{}
	if odd.Value([]any{struct{}{}}, 0); odd.Err == nil {
		t.Error("a value that is no JSON was written")
	}
}

func TestFrames(t *testing.T) {
	var pipe bytes.Buffer
	for _, text := range []string{"a", "", strings.Repeat("x", 3<<20)} {
		if err := worker.WriteFrame(&pipe, append(worker.NewFrame(nil), text...)); err != nil {
			t.Fatal(err)
		}
		got, err := worker.ReadFrame(&pipe, nil)
		if err != nil || string(got) != text {
			t.Errorf("%d bytes became %d, %v", len(text), len(got), err)
		}
	}
	for name, data := range map[string]string{
		"a length that is too long": "\xff\xff\xff\xff", "less than its length": "\x00\x00\x00\x05abc", "no length": "\x00",
	} {
		if _, err := worker.ReadFrame(strings.NewReader(data), nil); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := worker.ReadFrame(strings.NewReader(""), nil); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	// Sixty megabytes are claimed and not sent: they are not made room for.
	claimed := strings.NewReader("\x03\x00\x00\x00abc")
	if n := testing.AllocsPerRun(1, func() {
		if got, err := worker.ReadFrame(claimed, nil); err == nil || cap(got) > 2<<20 {
			t.Errorf("room for %d bytes, %v", cap(got), err)
		}
	}); n > 10 {
		t.Errorf("%v allocations", n)
	}
}
