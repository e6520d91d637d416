package shelf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// volume is a file of pieces, one after the other: the name of each, its size,
// and what is sealed. It is not made safe against a power failure, nor against
// anybody who writes to it: what comes of that does not open.
type volume struct {
	file *os.File
	size int64
}

const (
	suffix = ".pieces"
	header = len(name{}) + 4
)

// openVolume opens one that another process wrote.
func openVolume(dir string, e fs.DirEntry) (*volume, int, error) {
	text, ok := strings.CutSuffix(e.Name(), suffix)
	number, err := strconv.Atoi(text)
	if !ok || err != nil || !e.Type().IsRegular() {
		return nil, 0, fmt.Errorf("%q is no volume", e.Name())
	}
	file, err := os.Open(filepath.Join(dir, e.Name()))
	if err != nil {
		return nil, 0, fmt.Errorf("opening a volume: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("opening a volume: %w", err), file.Close())
	}
	return &volume{file: file, size: info.Size()}, number, nil
}

// newVolume makes one that nobody else has, and counts the number on.
func newVolume(dir string, next *int) (*volume, error) {
	for {
		path := filepath.Join(dir, fmt.Sprintf("%08d%s", *next, suffix))
		*next++
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the name is a number
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("making a volume: %w", err)
		}
		return &volume{file: file}, nil
	}
}

// read tells of the pieces that a volume has, as far as they are whole.
func (v *volume) read(tell func(name, piece)) {
	r := bufio.NewReader(io.NewSectionReader(v.file, 0, v.size))
	var head [header]byte
	for at := int64(0); ; {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		p := piece{in: v, at: at + int64(header), size: int(binary.BigEndian.Uint32(head[len(name{}):]))}
		at = p.at + int64(p.size)
		if p.size == 0 || at > v.size {
			return
		}
		if _, err := r.Discard(p.size); err != nil {
			return
		}
		tell(name(head[:len(name{})]), p)
	}
}

// write adds a piece. Half a piece is written over by the next.
func (v *volume) write(of name, sealed []byte) (piece, error) {
	record := make([]byte, 0, header+len(sealed))
	record = append(record, of[:]...)
	record = binary.BigEndian.AppendUint32(record, uint32(len(sealed))) //nolint:gosec // bounded by the shelf
	record = append(record, sealed...)
	if _, err := v.file.WriteAt(record, v.size); err != nil {
		return piece{}, fmt.Errorf("writing to a volume: %w", err)
	}
	p := piece{in: v, at: v.size + int64(header), size: len(sealed)}
	v.size += int64(len(record))
	return p, nil
}

// remove takes a volume off the disk. Who reads it meanwhile finds nothing.
func (v *volume) remove() {
	_ = os.Remove(v.file.Name())
	_ = v.file.Close()
}
