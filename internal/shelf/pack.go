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

func unpack(packed []byte) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), largest+1))
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	if len(data) > largest {
		return nil, errors.New("unpacking: it is too large")
	}
	return data, nil
}
