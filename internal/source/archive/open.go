package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/towline-cd/towline/internal/core/fault"
)

const (
	maxNameBytes = 4 << 10
	// smallBytes may come out of an archive however well it was compressed.
	smallBytes = 8 << 20
)

// Limits bound an archive. A zero is the default.
type Limits struct {
	// Packed is how many bytes the archive may have, 64 MiB by default.
	Packed int64
	// Unpacked is how many may come out of it, 256 MiB by default.
	Unpacked int64
	// Ratio is how many times its own size may come out of it, 100 by default; 8 MiB are always fine.
	Ratio int64
	// Entries is how many files and folders it may hold, 20000 by default.
	Entries int
	// Depth is how many names a path may have, 64 by default.
	Depth int
}

// WithDefaults fills in what is zero.
func (l Limits) WithDefaults() Limits {
	if l.Packed <= 0 {
		l.Packed = 64 << 20
	}
	if l.Unpacked <= 0 {
		l.Unpacked = 256 << 20
	}
	if l.Ratio <= 0 {
		l.Ratio = 100
	}
	if l.Entries <= 0 {
		l.Entries = 20_000
	}
	if l.Depth <= 0 {
		l.Depth = 64
	}
	return l
}

// Form is how an archive is made.
type Form struct {
	// Strip takes the folder away that everything in the archive is in, as in that of a chart.
	Strip bool
	// Plain is a tar that was not compressed.
	Plain bool
}

// Open reads an archive. A refusal is a Terminal fault.
func Open(data []byte, form Form, limits Limits) (*Tree, error) {
	limits = limits.WithDefaults()
	if int64(len(data)) > limits.Packed {
		return nil, refused("it is %d bytes long, the limit is %d", len(data), limits.Packed)
	}
	most := min(limits.Unpacked, max(smallBytes, limits.Ratio*int64(len(data))))
	var unpacked io.Reader = bytes.NewReader(data)
	if !form.Plain {
		unzipped, err := gzip.NewReader(unpacked)
		if err != nil {
			return nil, refused("it is not compressed by gzip: %w", err)
		}
		unpacked = unzipped
	}
	bound := &bounded{from: unpacked, left: most}
	r := reader{tar: tar.NewReader(bound), form: form, limits: limits, builder: newBuilder(), bound: bound}
	for {
		more, err := r.next()
		if bound.over {
			return nil, refused("more than %d bytes come out of its %d", most, len(data))
		}
		if err != nil {
			return nil, err
		}
		if !more {
			return r.builder.tree(), nil
		}
	}
}

func refused(format string, args ...any) error {
	return fault.Terminalf("ArchiveRefused", "opening the archive: "+format, args...)
}

// bounded ends what is read from it with an error once it is too much.
type bounded struct {
	from io.Reader
	left int64
	over bool
}

var errTooMuch = errors.New("too many bytes")

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		// One byte more tells a limit that was reached from one that was passed.
		if n, err := io.ReadFull(b.from, make([]byte, 1)); n == 0 {
			return 0, err
		}
		b.over = true
		return 0, errTooMuch
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

type reader struct {
	tar     *tar.Reader
	form    Form
	limits  Limits
	builder *builder
	bound   *bounded
	entries int
	top     string
}

// next reads one entry.
func (r *reader) next() (more bool, err error) {
	header, err := r.tar.Next()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, refused("%w", err)
	}
	if r.entries++; r.entries > r.limits.Entries {
		return false, refused("it holds more than %d files and folders", r.limits.Entries)
	}
	switch header.Typeflag {
	case tar.TypeXGlobalHeader:
		return true, nil // what git writes about itself
	case tar.TypeDir, tar.TypeReg:
	default:
		return false, refused("%q is %s; only files and folders are taken", shorten(header.Name), typeName(header.Typeflag))
	}
	if sparse(header) {
		return false, refused("%q is a sparse file; only files and folders are taken", shorten(header.Name))
	}
	if !utf8.ValidString(header.Name) {
		return false, refused("the name %q is not UTF-8", shorten(header.Name))
	}
	name, err := clean(header.Name, r.limits.Depth)
	if err != nil {
		return false, refused("%w", err)
	}
	if r.form.Strip {
		if name, err = r.strip(name, header.Typeflag == tar.TypeDir); err != nil {
			return false, err
		}
	}
	return true, r.add(name, header)
}

// strip takes the first name away, which has to be the same for all.
func (r *reader) strip(name string, dir bool) (string, error) {
	if name == "." {
		return name, nil
	}
	top, rest, inside := strings.Cut(name, "/")
	if r.top == "" {
		r.top = top
	}
	if top != r.top || !inside && !dir {
		return "", refused("%q is outside of the folder %q, which is to hold everything", shorten(name), shorten(r.top))
	}
	if !inside {
		return ".", nil
	}
	return rest, nil
}

func (r *reader) add(name string, header *tar.Header) error {
	if header.Typeflag == tar.TypeDir {
		if err := r.builder.folder(name); err != nil {
			return refused("%w", err)
		}
		return nil
	}
	if r.builder.nodes[name] != nil {
		return refused("it holds %q twice", shorten(name))
	}
	if err := r.builder.folder(parentOf(name)); err != nil {
		return refused("%w", err)
	}
	if len(r.builder.nodes) > 4*r.limits.Entries {
		return refused("it holds more than %d files and folders", r.limits.Entries)
	}
	if header.Size > r.bound.left {
		r.bound.over = true // it says so itself; there is no need to read on
		return nil
	}
	content := make([]byte, header.Size)
	if _, err := io.ReadFull(r.tar, content); err != nil {
		return refused("reading %q: %w", shorten(name), err)
	}
	r.builder.file(name, content)
	return nil
}

func parentOf(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i]
	}
	return "."
}

// sparse says that the content has holes, which take no room in the archive and all of it once it is read.
func sparse(header *tar.Header) bool {
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

func typeName(flag byte) string {
	switch flag {
	case tar.TypeLink:
		return "a hard link"
	case tar.TypeSymlink:
		return "a symbolic link"
	case tar.TypeChar, tar.TypeBlock:
		return "a device"
	case tar.TypeFifo:
		return "a named pipe"
	case tar.TypeGNUSparse:
		return "a sparse file"
	}
	return fmt.Sprintf("of the unknown type %q", flag)
}
