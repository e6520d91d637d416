package worker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// The form in which values travel between the processes. A map carries its length in bytes, so that a reader can step
// over what it never looks at.
const (
	TagNil   = 'n'
	TagTrue  = 't'
	TagFalse = 'f'
	TagInt   = 'i' // eight bytes
	TagFloat = 'd' // eight bytes
	TagText  = 's' // a length, the bytes
	TagList  = 'l' // a count, the items
	TagMap   = 'm' // four bytes of length of what follows: a count, keys and values
)

// Deepest bounds the nesting of what travels; no manifest comes near.
const Deepest = 1000

// weight is what a value takes at least, and that of its key.
const weight = 32

// What can be wrong with a value that travels.
var (
	ErrDeep  = fmt.Errorf("it is nested deeper than %d levels", Deepest)
	ErrShort = errors.New("the message ends too soon")
	ErrTag   = errors.New("the message has an unknown tag")
	ErrLarge = errors.New("the message holds more than is allowed")
)

// Encoder writes values. It is used for one message after the other.
type Encoder struct {
	Out []byte
	Err error
	// Unordered leaves the keys of maps in the order in which they come, for a reader that makes maps of them again.
	Unordered bool
	// keys are those of the maps that are being written, the innermost last.
	keys []string
}

// Value appends a value as JSON has them.
func (e *Encoder) Value(v any, depth int) {
	if depth > Deepest {
		e.fail(ErrDeep)
	}
	if e.Err != nil {
		return
	}
	switch t := v.(type) {
	case nil:
		e.Out = append(e.Out, TagNil)
	case bool:
		e.Out = append(e.Out, BoolTag(t))
	case int64:
		e.Out = binary.BigEndian.AppendUint64(append(e.Out, TagInt), uint64(t))
	case int:
		e.Out = binary.BigEndian.AppendUint64(append(e.Out, TagInt), uint64(t))
	case float64:
		e.Out = binary.BigEndian.AppendUint64(append(e.Out, TagFloat), math.Float64bits(t))
	case string:
		e.Out = AppendText(append(e.Out, TagText), t)
	case []any:
		e.Out = AppendCount(append(e.Out, TagList), len(t))
		for _, item := range t {
			e.Value(item, depth+1)
		}
	case map[string]any:
		out, start := OpenMap(e.Out)
		e.Out = out
		e.Fields(t, depth)
		CloseMap(e.Out, start)
	default:
		e.fail(fmt.Errorf("it holds a %T, which is no JSON", v))
	}
}

// Fields appends the entries of a map, in the order of their keys: a script that walks over a map says the same each
// time.
func (e *Encoder) Fields(m map[string]any, depth int) {
	e.Out = AppendCount(e.Out, len(m))
	if e.Unordered {
		for k, v := range m {
			e.Out = AppendText(e.Out, k)
			e.Value(v, depth+1)
		}
		return
	}
	from := len(e.keys)
	for k := range m {
		e.keys = append(e.keys, k)
	}
	to := len(e.keys)
	slices.Sort(e.keys[from:to])
	for i := from; i < to; i++ {
		k := e.keys[i]
		e.Out = AppendText(e.Out, k)
		e.Value(m[k], depth+1)
	}
	e.keys = e.keys[:from]
}

func (e *Encoder) fail(err error) {
	if e.Err == nil {
		e.Err = err
	}
}

// BoolTag is the value of a truth.
func BoolTag(b bool) byte {
	if b {
		return TagTrue
	}
	return TagFalse
}

// AppendText appends a text without a tag.
func AppendText(out []byte, s string) []byte { return append(AppendCount(out, len(s)), s...) }

// AppendCount appends a number of things that follow.
func AppendCount(out []byte, n int) []byte { return binary.AppendUvarint(out, uint64(n)) }

// AppendWord appends eight bytes.
func AppendWord(out []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(out, n) }

// OpenMap leaves room for the length that CloseMap fills in.
func OpenMap(out []byte) (grown []byte, start int) {
	return append(out, TagMap, 0, 0, 0, 0), len(out) + 5
}

// CloseMap fills in the length of what was appended since OpenMap.
func CloseMap(out []byte, start int) {
	binary.BigEndian.PutUint32(out[start-4:], uint32(len(out)-start))
}

// Cursor reads what an Encoder wrote. The first problem is kept and ends the reading; it comes from another process, so
// nothing in it is believed.
type Cursor struct {
	Data []byte
	Err  error
	// Known are keys that were read before: most objects have the same.
	Known map[string]string
	// Budget, if there is one, bounds the memory of what is read, roughly: a message of a byte for each item of a list
	// becomes sixteen times as large.
	Budget *int64
}

// Fail ends the reading.
func (c *Cursor) Fail(err error) {
	if c.Err == nil {
		c.Err = err
	}
	c.Data = nil
}

// Take reads a number of bytes.
func (c *Cursor) Take(n int) []byte {
	if n < 0 || n > len(c.Data) {
		c.Fail(ErrShort)
		return nil
	}
	out := c.Data[:n]
	c.Data = c.Data[n:]
	return out
}

// Tag reads a byte.
func (c *Cursor) Tag() byte {
	if b := c.Take(1); b != nil {
		return b[0]
	}
	return TagNil
}

// Truth reads a truth.
func (c *Cursor) Truth() bool { return c.Tag() == TagTrue }

// Count reads a number of things that follow, each of which takes a byte at least.
func (c *Cursor) Count() int {
	n, size := binary.Uvarint(c.Data)
	if size <= 0 || n > uint64(len(c.Data)) {
		c.Fail(ErrShort)
		return 0
	}
	c.Data = c.Data[size:]
	return int(n)
}

// Bytes reads bytes, which stay part of the message.
func (c *Cursor) Bytes() []byte { return c.Take(c.Count()) }

// Text reads a text without a tag.
func (c *Cursor) Text() string { return string(c.Bytes()) }

// Word reads eight bytes.
func (c *Cursor) Word() uint64 {
	if b := c.Take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// Entries are the bytes of a map after its tag.
func (c *Cursor) Entries() []byte {
	if b := c.Take(4); b != nil {
		return c.Take(int(binary.BigEndian.Uint32(b)))
	}
	return nil
}

// key reads the key of a map.
func (c *Cursor) key() string {
	raw := c.Bytes()
	if c.Known == nil {
		return string(raw)
	}
	if known, ok := c.Known[string(raw)]; ok {
		return known
	}
	key := string(raw)
	if len(c.Known) < manyKeys {
		c.Known[key] = key
	}
	return key
}

// manyKeys bounds how many keys are remembered.
const manyKeys = 4096

// Skip steps over a value.
func (c *Cursor) Skip(depth int) {
	if depth > Deepest {
		c.Fail(ErrDeep)
		return
	}
	switch c.Tag() {
	case TagNil, TagTrue, TagFalse:
	case TagInt, TagFloat:
		c.Take(8)
	case TagText:
		c.Bytes()
	case TagList:
		for n := c.Count(); n > 0 && c.Err == nil; n-- {
			c.Skip(depth + 1)
		}
	case TagMap:
		c.Entries()
	default:
		c.Fail(ErrTag)
	}
}

// Value reads a value as JSON has them.
func (c *Cursor) Value(depth int) any {
	if depth > Deepest {
		c.Fail(ErrDeep)
		return nil
	}
	if c.Budget != nil {
		if *c.Budget -= weight; *c.Budget < 0 {
			c.Fail(ErrLarge)
			return nil
		}
	}
	switch tag := c.Tag(); tag {
	case TagNil:
		return nil
	case TagTrue, TagFalse:
		return tag == TagTrue
	case TagInt:
		return int64(c.Word())
	case TagFloat:
		return math.Float64frombits(c.Word())
	case TagText:
		return c.Text()
	case TagList:
		n := c.Count()
		// A count costs the sender a byte for each, and us sixteen: room is made for what is likely.
		out := make([]any, 0, min(n, 64))
		for ; n > 0 && c.Err == nil; n-- {
			out = append(out, c.Value(depth+1))
		}
		return out
	case TagMap:
		return c.mapping(depth)
	default:
		c.Fail(ErrTag)
		return nil
	}
}

func (c *Cursor) mapping(depth int) map[string]any {
	in := Cursor{Data: c.Entries(), Known: c.Known, Budget: c.Budget}
	n := in.Count()
	out := make(map[string]any, min(n, 64))
	for ; n > 0 && in.Err == nil; n-- {
		k := in.key()
		out[k] = in.Value(depth + 1)
	}
	if in.Err != nil {
		c.Fail(in.Err)
	}
	return out
}
