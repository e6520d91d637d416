package sidecar

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// raw is a message as it is on the wire.
type raw []byte

// asIs is a codec that leaves messages alone: they are read and written here, field by field.
type asIs struct{}

func (asIs) Name() string { return "proto" }

func (asIs) Marshal(v any) ([]byte, error) {
	m, ok := v.(*raw)
	if !ok {
		return nil, fmt.Errorf("%T is no message", v)
	}
	return *m, nil
}

func (asIs) Unmarshal(data []byte, v any) error {
	m, ok := v.(*raw)
	if !ok {
		return fmt.Errorf("%T is no message", v)
	}
	*m = bytes.Clone(data)
	return nil
}

// fields are those of a message that hold bytes, and the numbers, each as they come.
func fields(m []byte, each func(n protowire.Number, word uint64, data []byte) error) error {
	for len(m) > 0 {
		n, kind, size := protowire.ConsumeTag(m)
		if size < 0 {
			return protowire.ParseError(size)
		}
		m = m[size:]
		var word uint64
		var data []byte
		switch kind {
		case protowire.VarintType:
			word, size = protowire.ConsumeVarint(m)
		case protowire.BytesType:
			data, size = protowire.ConsumeBytes(m)
		default:
			return fmt.Errorf("field %d has type %d", n, kind)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		if err := each(n, word, data); err != nil {
			return err
		}
		m = m[size:]
	}
	return nil
}

// Received is what a plugin was sent.
type Received struct {
	App, Path string
	Variables []string
	// Files are by name; a link is "-> target", and a file that may be run has " x" after its name.
	Files map[string]string

	checksum string
	size     int64
}

func (r *Received) metadata(m []byte) error {
	return fields(m, func(n protowire.Number, word uint64, data []byte) error {
		switch n {
		case 1:
			r.App = string(data)
		case 2:
			r.Path = string(data)
		case 3:
			r.checksum = string(data)
		case 4:
			r.size = int64(word)
		case 5:
			var name, value string
			err := fields(data, func(n protowire.Number, _ uint64, data []byte) error {
				if n == 1 {
					name = string(data)
				} else {
					value = string(data)
				}
				return nil
			})
			r.Variables = append(r.Variables, name+"="+value)
			return err
		default:
			return fmt.Errorf("field %d of the metadata is not known", n)
		}
		return nil
	})
}

// receive reads a stream as a stock sidecar does: the metadata, then the file, whose checksum has to be right and whose
// names have to stay where they are unpacked.
func receive(next func(any) error) (*Received, error) {
	r := &Received{Files: map[string]string{}}
	var file bytes.Buffer
	for first := true; ; first = false {
		var m raw
		err := next(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		err = fields(m, func(n protowire.Number, _ uint64, data []byte) error {
			switch {
			case first && n == 1:
				return r.metadata(data)
			case !first && n == 2:
				return fields(data, func(_ protowire.Number, _ uint64, data []byte) error {
					_, err := file.Write(data)
					return err
				})
			}
			return fmt.Errorf("field %d does not belong here", n)
		})
		if err != nil {
			return nil, err
		}
	}
	sum := sha256.Sum256(file.Bytes())
	if hex.EncodeToString(sum[:]) != r.checksum || r.size != int64(file.Len()) {
		return nil, fmt.Errorf("the file of %d bytes is not the one of %d that was announced", file.Len(), r.size)
	}
	return r, r.unpack(&file)
}

func (r *Received) unpack(file io.Reader) error {
	zipped, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	tarred := tar.NewReader(zipped)
	for {
		header, err := tarred.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(header.Name, "/")
		if !fs.ValidPath(name) {
			return fmt.Errorf("the name %q leads elsewhere", header.Name)
		}
		switch header.Typeflag {
		case tar.TypeDir:
		case tar.TypeSymlink:
			r.Files[name] = "-> " + header.Linkname
		case tar.TypeReg:
			content, err := io.ReadAll(tarred)
			if err != nil {
				return err
			}
			if header.Mode&0o111 != 0 {
				name += " x"
			}
			r.Files[name] = string(content)
		default:
			return fmt.Errorf("%q is of type %q", header.Name, header.Typeflag)
		}
	}
}
