package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/reads"
	"github.com/towline-cd/towline/internal/source/archive"
)

// pack makes an archive of headers, each with as many bytes as it says.
func pack(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	w := tar.NewWriter(zipped)
	for _, h := range headers {
		content, size := h.Linkname, h.Size
		if h.Typeflag == tar.TypeReg {
			h.Linkname = ""
			if size == 0 {
				h.Size = int64(len(content))
			}
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		var body io.Reader = strings.NewReader(content)
		if size > 0 {
			body = io.LimitReader(zeros{}, size)
		}
		if _, err := io.Copy(w, body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// text is a file; its content travels in the link's name.
func text(name, content string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Linkname: content, Mode: 0o000}
}

func TestOpen(t *testing.T) {
	data := pack(t, tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "abc"}},
		tar.Header{Typeflag: tar.TypeDir, Name: "app/"}, text("app/Chart.yaml", "name: app\n"),
		text("./app/templates/a.yaml", "kind: A\n"), text("app/charts/sub.tgz", "packed"))
	tree, err := archive.Open(data, archive.Form{Strip: true}, archive.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(tree, "Chart.yaml", "templates/a.yaml", "charts/sub.tgz"); err != nil {
		t.Error(err)
	}
	read, err := tree.Trace(reads.File, "Chart.yaml")
	if diff := cmp.Diff([]reads.Read{{Kind: reads.Folder, Path: ".", Digest: tree.Digest()}}, read); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if same, err := tree.Same(read[0]); !same || err != nil {
		t.Errorf("Same = %v, %v", same, err)
	}
	again, err := archive.Open(pack(t, text("x/templates/a.yaml", "kind: A\n"), text("x/charts/sub.tgz", "packed"), text("x/Chart.yaml", "name: app\n")),
		archive.Form{Strip: true}, archive.Limits{})
	if err != nil || again.Digest() != tree.Digest() {
		t.Errorf("the same content in another archive is something else: %v", err)
	}
	other, err := archive.Open(pack(t, text("x/Chart.yaml", "name: other\n")), archive.Form{Strip: true}, archive.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if same, err := other.Same(read[0]); same || err != nil {
		t.Errorf("Same of other content = %v, %v", same, err)
	}
	whole, err := archive.Open(data, archive.Form{}, archive.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat(whole, "app/Chart.yaml"); err != nil {
		t.Error(err)
	}
	if _, err := whole.ReadLink("app"); err == nil {
		t.Error("a folder is no link")
	}
}

func TestRefused(t *testing.T) {
	deep := strings.Repeat("a/", 100) + "b"
	tests := map[string]struct {
		data []byte
		form archive.Form
		want string
	}{
		"named pipe":        {data: pack(t, tar.Header{Typeflag: tar.TypeFifo, Name: "app/pipe"}), want: "a named pipe"},
		"device":            {data: pack(t, tar.Header{Typeflag: tar.TypeChar, Name: "app/zero", Devmajor: 1, Devminor: 5}), want: "a device"},
		"block device":      {data: pack(t, tar.Header{Typeflag: tar.TypeBlock, Name: "app/disk"}), want: "a device"},
		"symbolic link":     {data: pack(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "app/values.yaml", Linkname: "/etc/passwd"}), want: "a symbolic link"},
		"symbolic link in":  {data: pack(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "app/Chart.lock", Linkname: "Chart.yaml"}), want: "a symbolic link"},
		"hard link":         {data: pack(t, text("app/a", "x"), tar.Header{Typeflag: tar.TypeLink, Name: "app/b", Linkname: "app/a"}), want: "a hard link"},
		"leads out":         {data: pack(t, text("app/../../x", "x")), want: "leads out"},
		"leads out at once": {data: pack(t, text("../x", "x")), want: "leads out"},
		"absolute":          {data: pack(t, text("/etc/x", "x")), want: "is absolute"},
		"backslash":         {data: pack(t, text(`app\..\x`, "x")), want: "backslash"},
		"drive":             {data: pack(t, text("c:/x", "x")), want: "not fit"},
		"deep":              {data: pack(t, text(deep, "x")), want: "deeper than 64"},
		"long":              {data: pack(t, text(strings.Repeat("a", 5000), "x")), want: "5000 bytes long"},
		"twice":             {data: pack(t, text("app/a", "x"), text("app/./a", "y")), want: "twice"},
		"file and folder":   {data: pack(t, text("app/a", "x"), text("app/a/b", "y")), want: "a file and a folder"},
		"folder and file":   {data: pack(t, text("app/a/b", "x"), text("app/a", "y")), want: "twice"},
		"no UTF-8":          {data: pack(t, tar.Header{Typeflag: tar.TypeReg, Name: "app/\xff", Format: tar.FormatGNU}), want: "not UTF-8"},
		"two tops":          {data: pack(t, text("a/Chart.yaml", "x"), text("b/x", "y")), form: archive.Form{Strip: true}, want: "outside of the folder"},
		"no top":            {data: pack(t, text("Chart.yaml", "x")), form: archive.Form{Strip: true}, want: "outside of the folder"},
		"not compressed":    {data: []byte("hello"), want: "not compressed"},
		"cut off":           {data: pack(t, text("app/a", strings.Repeat("x", 1000)))[:60], want: "unexpected EOF"},
		"not a tar":         {data: []byte(strings.Repeat("hello", 1000)), form: archive.Form{Plain: true}, want: "invalid tar header"},
		"gnu sparse":        {data: gnuSparse(), form: archive.Form{Plain: true}, want: "a sparse file"},
		"pax sparse":        {data: paxSparse(t), form: archive.Form{Plain: true}, want: "a sparse file"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tree, err := archive.Open(tc.data, tc.form, archive.Limits{})
			if err == nil || !strings.Contains(err.Error(), tc.want) || fault.ClassOf(err) != fault.Terminal {
				t.Errorf("Open = %v, %v (%v), want a Terminal fault with %q", tree, err, fault.ClassOf(err), tc.want)
			}
		})
	}
}

// gnuSparse is a header of a file that is all hole: a gigabyte in 1 KiB.
func gnuSparse() []byte {
	block := make([]byte, 512)
	copy(block, "app/sparse")
	copy(block[100:], "0000644\x00")
	copy(block[108:], "0000000\x00")
	copy(block[116:], "0000000\x00")
	copy(block[124:], "00000000000\x00")
	copy(block[136:], "00000000000\x00")
	block[156] = 'S'
	copy(block[257:], "ustar  \x00")
	copy(block[483:], "10000000000\x00")
	copy(block[148:], "        ")
	sum := 0
	for _, b := range block {
		sum += int(b)
	}
	copy(block[148:], fmt.Sprintf("%06o\x00 ", sum))
	return append(block, make([]byte, 1024)...)
}

// paxSparse is the same in the newer form.
func paxSparse(t *testing.T) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	header := tar.Header{
		Typeflag: tar.TypeReg, Name: "app/sparse", Size: 512, Format: tar.FormatPAX,
		PAXRecords: map[string]string{"XXX.sparse.major": "1", "XXX.sparse.minor": "0", "XXX.sparse.name": "app/s", "XXX.sparse.realsize": "1073741824"},
	}
	if err := w.WriteHeader(&header); err != nil {
		t.Fatal(err)
	}
	content := append([]byte("1\n0\n0\n"), make([]byte, 506)...)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// The writer refuses to write such records itself.
	return bytes.ReplaceAll(packed.Bytes(), []byte("XXX.sparse"), []byte("GNU.sparse"))
}

func TestBounds(t *testing.T) {
	many := make([]tar.Header, 20_001)
	for i := range many {
		many[i] = text(fmt.Sprintf("app/%d", i), "")
	}
	noise := make([]byte, 100<<10)
	for i := range noise {
		noise[i] = byte(rand.IntN(256))
	}
	lies := pack(t, text("app/a", "short"))
	tests := map[string]struct {
		data   []byte
		limits archive.Limits
		want   string
	}{
		"a thousand to one": {data: pack(t, tar.Header{Typeflag: tar.TypeReg, Name: "app/zero", Size: 16 << 20}), want: "more than 8388608 bytes come out"},
		"many small bombs": {data: pack(t, tar.Header{Typeflag: tar.TypeReg, Name: "app/1", Size: 5 << 20},
			tar.Header{Typeflag: tar.TypeReg, Name: "app/2", Size: 5 << 20}), want: "come out of"},
		"many empty files": {data: pack(t, many...), want: "more than 20000 files"},
		"long":             {data: pack(t, text("app/a", string(noise))), limits: archive.Limits{Packed: 50 << 10}, want: "the limit is 51200"},
		"unpacked":         {data: pack(t, text("app/a", string(noise))), limits: archive.Limits{Unpacked: 50 << 10}, want: "more than 51200 bytes"},
		"fine":             {data: lies},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := archive.Open(tc.data, archive.Form{}, tc.limits)
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || fault.ClassOf(err) != fault.Terminal {
				t.Errorf("Open = %v, want a Terminal fault with %q", err, tc.want)
			}
		})
	}
}

// An archive within an archive is a file like any other.
func TestNested(t *testing.T) {
	inner := pack(t, tar.Header{Typeflag: tar.TypeReg, Name: "x/zero", Size: 4 << 20})
	tree, err := archive.Open(pack(t, text("app/charts/bomb.tgz", string(inner))), archive.Form{Strip: true}, archive.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := tree.ReadFile("charts/bomb.tgz")
	if err != nil || !bytes.Equal(got, inner) {
		t.Errorf("ReadFile = %d bytes, %v", len(got), err)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte("x"), true)
	f.Add(gnuSparse(), true)
	f.Fuzz(func(t *testing.T, data []byte, plain bool) {
		tree, err := archive.Open(data, archive.Form{Plain: plain}, archive.Limits{})
		if err != nil {
			return
		}
		_ = fs.WalkDir(tree, ".", func(name string, _ fs.DirEntry, err error) error {
			if err != nil || !fs.ValidPath(name) {
				t.Errorf("%q: %v", name, err)
			}
			return nil
		})
	})
}
