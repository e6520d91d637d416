package script

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// The form in which values travel between the processes. A map carries its
// length in bytes, so that the worker can step over what a script never reads.
// Keys are in order: a script that walks over a map says the same each time.
const (
	tagNil   = 'n'
	tagTrue  = 't'
	tagFalse = 'f'
	tagInt   = 'i' // eight bytes
	tagFloat = 'd' // eight bytes
	tagText  = 's' // a length, the bytes
	tagList  = 'l' // a count, the items
	tagMap   = 'm' // four bytes of length of what follows: a count, keys and values
)

// deepest bounds the nesting of what travels; no manifest comes near.
const deepest = 128

var (
	errDeep  = fmt.Errorf("it is nested deeper than %d levels", deepest)
	errShort = errors.New("the message ends too soon")
)

// encoder writes values. It is used for one message after the other.
type encoder struct {
	out []byte
	// keys are those of the maps that are being written, the innermost last.
	keys []string
	err  error
}

// value appends a value as JSON has them.
func (e *encoder) value(v any, depth int) {
	if depth > deepest {
		e.fail(errDeep)
	}
	if e.err != nil {
		return
	}
	switch t := v.(type) {
	case nil:
		e.out = append(e.out, tagNil)
	case bool:
		e.out = append(e.out, boolTag(t))
	case int64:
		e.out = binary.BigEndian.AppendUint64(append(e.out, tagInt), uint64(t))
	case int:
		e.out = binary.BigEndian.AppendUint64(append(e.out, tagInt), uint64(t))
	case float64:
		e.out = binary.BigEndian.AppendUint64(append(e.out, tagFloat), math.Float64bits(t))
	case string:
		e.out = appendText(append(e.out, tagText), t)
	case []any:
		e.out = appendCount(append(e.out, tagList), len(t))
		for _, item := range t {
			e.value(item, depth+1)
		}
	case map[string]any:
		out, start := openMap(e.out)
		e.out = out
		e.fields(t, depth)
		closeMap(e.out, start)
	default:
		e.fail(fmt.Errorf("it holds a %T, which is no JSON", v))
	}
}

// fields appends the entries of a map, in the order of their keys.
func (e *encoder) fields(m map[string]any, depth int) {
	e.out = appendCount(e.out, len(m))
	from := len(e.keys)
	for k := range m {
		e.keys = append(e.keys, k)
	}
	to := len(e.keys)
	slices.Sort(e.keys[from:to])
	for i := from; i < to; i++ {
		k := e.keys[i]
		e.out = appendText(e.out, k)
		e.value(m[k], depth+1)
	}
	e.keys = e.keys[:from]
}

func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

func boolTag(b bool) byte {
	if b {
		return tagTrue
	}
	return tagFalse
}

func appendText(out []byte, s string) []byte { return append(appendCount(out, len(s)), s...) }

func appendCount(out []byte, n int) []byte { return binary.AppendUvarint(out, uint64(n)) }

// openMap leaves room for the length that closeMap fills in.
func openMap(out []byte) (grown []byte, start int) {
	return append(out, tagMap, 0, 0, 0, 0), len(out) + 5
}

func closeMap(out []byte, start int) {
	binary.BigEndian.PutUint32(out[start-4:], uint32(len(out)-start))
}

// cursor reads what an encoder wrote. The first problem is kept and ends the
// reading; it comes from another process, so nothing in it is believed.
type cursor struct {
	data []byte
	err  error
}

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.data = nil
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.data) {
		c.fail(errShort)
		return nil
	}
	out := c.data[:n]
	c.data = c.data[n:]
	return out
}

func (c *cursor) tag() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return tagNil
}

// count is a number of things that follow, each of which takes a byte at least.
func (c *cursor) count() int {
	n, size := binary.Uvarint(c.data)
	if size <= 0 || n > uint64(len(c.data)) {
		c.fail(errShort)
		return 0
	}
	c.data = c.data[size:]
	return int(n)
}

func (c *cursor) bytes() []byte { return c.take(c.count()) }

func (c *cursor) text() string { return string(c.bytes()) }

func (c *cursor) word() uint64 {
	if b := c.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// entries are the bytes of a map after its tag.
func (c *cursor) entries() []byte {
	if b := c.take(4); b != nil {
		return c.take(int(binary.BigEndian.Uint32(b)))
	}
	return nil
}

// skip steps over a value.
func (c *cursor) skip(depth int) {
	if depth > deepest {
		c.fail(errDeep)
		return
	}
	switch c.tag() {
	case tagNil, tagTrue, tagFalse:
	case tagInt, tagFloat:
		c.take(8)
	case tagText:
		c.bytes()
	case tagList:
		for n := c.count(); n > 0 && c.err == nil; n-- {
			c.skip(depth + 1)
		}
	case tagMap:
		c.entries()
	default:
		c.fail(errors.New("the message has an unknown tag"))
	}
}

// value reads a value as JSON has them.
func (c *cursor) value(depth int) any {
	if depth > deepest {
		c.fail(errDeep)
		return nil
	}
	switch tag := c.tag(); tag {
	case tagNil:
		return nil
	case tagTrue, tagFalse:
		return tag == tagTrue
	case tagInt:
		return int64(c.word())
	case tagFloat:
		return math.Float64frombits(c.word())
	case tagText:
		return c.text()
	case tagList:
		out := []any{}
		for n := c.count(); n > 0 && c.err == nil; n-- {
			out = append(out, c.value(depth+1))
		}
		return out
	case tagMap:
		in := cursor{data: c.entries()}
		out := map[string]any{}
		for n := in.count(); n > 0 && in.err == nil; n-- {
			k := in.text()
			out[k] = in.value(depth + 1)
		}
		if in.err != nil {
			c.fail(in.err)
		}
		return out
	default:
		c.fail(errors.New("the message has an unknown tag"))
		return nil
	}
}

// frameMax bounds a message in either direction.
const frameMax = 64 << 20

// newFrame begins a message: room for its length.
func newFrame(buf []byte) []byte { return append(buf[:0], 0, 0, 0, 0) }

// writeFrame sends a message that newFrame began.
func writeFrame(w io.Writer, frame []byte) error {
	if len(frame) > frameMax {
		return fmt.Errorf("a message of %d bytes is too long", len(frame))
	}
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	_, err := w.Write(frame)
	return err
}

// readFrame reads a message into buf, which grows as needed.
func readFrame(r io.Reader, buf []byte) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if n > frameMax {
		return nil, fmt.Errorf("a message of %d bytes is too long", n)
	}
	buf = slices.Grow(buf[:0], n)[:n]
	_, err := io.ReadFull(r, buf)
	return buf, err
}

// appendGlobals appends what a script finds when it begins, in the form that
// the entries of a map have.
func appendGlobals(out []byte, globals map[string]any) ([]byte, error) {
	e := encoder{out: out}
	e.fields(globals, 0)
	return e.out, e.err
}
