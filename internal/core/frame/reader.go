package frame

import (
	"bytes"
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
)

// framer finds the ends of the events in a stream. Client-go reads each event as JSON for that, and then once more to copy
// it; where an object ends can be told by its braces, and whether it is JSON shows when it is read.
type framer struct{ runtime.Framer }

func (f framer) NewFrameReader(r io.ReadCloser) io.ReadCloser {
	return &reader{ReadCloser: r, other: f.Framer}
}

// reader hands out one object after the other. A stream in which something else comes is left to the other framer, from
// there on.
type reader struct {
	io.ReadCloser
	other runtime.Framer
	left  io.ReadCloser
	// data is what was read of the stream and is not handed out, of which ready bytes are the rest of an object.
	data  []byte
	ready int
	// room is what data is a part of, and want how large the next one should be.
	room []byte
	want int
	err  error
}

// Bounds on how much is read of a stream at once. Most watches are silent and there are thousands, so a room is small until
// a stream fills it; only objects that are larger make it larger than most.
const (
	least = 512
	most  = 64 << 10
)

// Read fills the buffer with the next object, or with a part of it and io.ErrShortBuffer: then the next call goes on.
func (r *reader) Read(into []byte) (int, error) {
	if r.left != nil {
		return r.left.Read(into)
	}
	if r.ready == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
		if r.left != nil {
			return r.left.Read(into)
		}
	}
	n := copy(into, r.data[:r.ready])
	r.data, r.ready = r.data[n:], r.ready-n
	if r.ready > 0 {
		return n, io.ErrShortBuffer
	}
	return n, nil
}

// next reads until there is a whole object.
func (r *reader) next() error {
	var s scan
	at := 0
	for {
		if at == 0 {
			r.data = bytes.TrimLeft(r.data, " \t\r\n")
		}
		if len(r.data) > 0 && r.data[0] != '{' {
			rest := io.MultiReader(bytes.NewReader(r.data), r.ReadCloser)
			r.left = r.other.NewFrameReader(struct {
				io.Reader
				io.Closer
			}{rest, r.ReadCloser})
			return nil
		}
		n, over := s.through(r.data[at:])
		if over {
			r.ready = at + n
			return nil
		}
		at = len(r.data)
		if r.err != nil {
			if errors.Is(r.err, io.EOF) && at > 0 {
				return io.ErrUnexpectedEOF
			}
			return r.err
		}
		r.more()
	}
}

// more reads what there is. What was not handed out moves to the beginning of the room when there is too little behind it.
func (r *reader) more() {
	free := r.room[len(r.room):cap(r.room)]
	if len(free) < least {
		room := r.room[:0]
		if want := max(2*len(r.data)+2*least, r.want); cap(room) < want {
			room = make([]byte, 0, want)
		}
		r.room = append(room, r.data...)
		r.data, free = r.room, r.room[len(r.room):cap(r.room)]
	}
	n, err := r.ReadCloser.Read(free)
	if n == len(free) {
		r.want = min(2*cap(r.room), most)
	}
	begin := len(r.room) - len(r.data)
	r.room = r.room[:len(r.room)+n]
	r.data, r.err = r.room[begin:], err
}

// scan is how far the braces of an object have been followed.
type scan struct {
	depth           int
	quoted, escaped bool
}

// through follows more of the object, and says where it ends, if it does.
func (s *scan) through(text []byte) (n int, over bool) {
	i := 0
	for i < len(text) {
		if s.quoted {
			i += s.unquote(text[i:])
			continue
		}
		for i < len(text) && !telling[text[i]] {
			i++
		}
		if i == len(text) {
			break
		}
		switch text[i] {
		case '"':
			s.quoted = true
		case '{', '[':
			s.depth++
		default:
			if s.depth--; s.depth == 0 {
				return i + 1, true
			}
		}
		i++
	}
	return i, false
}

// telling are the bytes outside of quotes that matter.
var telling = [256]bool{'"': true, '{': true, '[': true, '}': true, ']': true}

// unquote goes to the end of a quoted text, as far as there is one, and says how many bytes that is.
func (s *scan) unquote(text []byte) int {
	i := 0
	if s.escaped {
		s.escaped, i = false, 1
	}
	for i < len(text) {
		switch text[i] {
		case '"':
			s.quoted = false
			return i + 1
		case '\\':
			if i++; i == len(text) {
				s.escaped = true
				return i
			}
		}
		i++
	}
	return i
}
