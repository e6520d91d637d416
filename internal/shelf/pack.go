package shelf

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"sync"
)

// largest bounds what is unpacked. What is sealed was packed by us, so this is
// only for a mistake of our own.
const largest = 256 << 20

// packers are used again: each has tables of a megabyte, which in a first sync of many applications would be more than all
// else that is thrown away.
var packers sync.Pool

func pack(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, used := packers.Get().(*flate.Writer)
	if used {
		w.Reset(&out)
	} else {
		var err error
		if w, err = flate.NewWriter(&out, level); err != nil {
			return nil, fmt.Errorf("packing: %w", err)
		}
	}
	defer packers.Put(w)
	if _, err := w.Write(data); err != nil {
		return nil, fmt.Errorf("packing: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing: %w", err)
	}
	return out.Bytes(), nil
}

// unpackers are used again as well: each has a window and tables of 40 KiB, and a start reads everything that is kept.
var unpackers sync.Pool

func unpack(packed []byte) ([]byte, error) {
	from := bytes.NewReader(packed)
	r, _ := unpackers.Get().(io.ReadCloser)
	if again, ok := r.(flate.Resetter); !ok {
		r = flate.NewReader(from)
	} else if err := again.Reset(from, nil); err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	defer unpackers.Put(r)
	var out bytes.Buffer
	out.Grow(ratio * len(packed))
	if _, err := out.ReadFrom(io.LimitReader(r, largest+1)); err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	if out.Len() > largest {
		return nil, errors.New("unpacking: it is too large")
	}
	return out.Bytes(), nil
}

// ratio is about how much smaller manifests are when they are packed.
const ratio = 6
