// Package worker is what the processes have in common that this program starts of itself to run what it does not trust:
// how they are started, bound and watched, and the form in which values travel to them and back. It knows nothing of
// what they do, and it believes nothing that comes back.
package worker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// FrameMax bounds a message in either direction.
const FrameMax = 64 << 20

// NewFrame begins a message: room for its length.
func NewFrame(buf []byte) []byte { return append(buf[:0], 0, 0, 0, 0) }

// WriteFrame sends a message that NewFrame began.
func WriteFrame(w io.Writer, frame []byte) error {
	if len(frame) > FrameMax {
		return fmt.Errorf("a message of %d bytes is too long", len(frame))
	}
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	_, err := w.Write(frame)
	return err
}

// grow is how much room is made at once for a message whose length is only claimed.
const grow = 1 << 20

// ReadFrame reads a message into buf, which grows as needed.
func ReadFrame(r io.Reader, buf []byte) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if n > FrameMax {
		return nil, fmt.Errorf("a message of %d bytes is too long", n)
	}
	buf = buf[:0]
	for len(buf) < n {
		at := len(buf)
		next := min(n, max(at+grow, cap(buf)))
		buf = slices.Grow(buf, next-at)[:next]
		if _, err := io.ReadFull(r, buf[at:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return buf[:at], err
		}
	}
	return buf, nil
}
