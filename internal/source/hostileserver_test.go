package source

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// Types of objects in a pack.
const (
	packCommit = 1
	packTree   = 2
	packBlob   = 3
	packOffset = 6
	packRef    = 7
)

// packed is an object as a pack has it. size is what it says of itself, base what a delta is made from: an id, or how far
// back it is.
type packed struct {
	kind byte
	size uint64
	base []byte
	data []byte
}

// deflated is how a pack has the content of an object. What is short is stored as it is, which costs nothing to make.
func deflated(t *testing.T, data []byte) []byte {
	t.Helper()
	if n := len(data); n < 1<<15 {
		out := []byte{0x78, 0x01, 0x01, byte(n), byte(n >> 8), ^byte(n), ^byte(n >> 8)}
		return binary.BigEndian.AppendUint32(append(out, data...), adler32.Checksum(data))
	}
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// pack writes objects as a server sends them.
func pack(t *testing.T, objects ...packed) []byte {
	t.Helper()
	out := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("PACK"), 2), uint32(len(objects)))
	for _, o := range objects {
		size := o.size
		head := o.kind<<4 | byte(size&15)
		for size >>= 4; size > 0; size >>= 7 {
			out = append(out, head|0x80)
			head = byte(size & 0x7f)
		}
		out = append(append(append(out, head), o.base...), deflated(t, o.data)...)
	}
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}

func blob(data []byte) packed { return packed{kind: packBlob, size: uint64(len(data)), data: data} }

// delta is an object that is made from another by a list of copies: each takes length bytes from its beginning.
func delta(kind byte, base []byte, from uint64, copies int, length uint64) packed {
	data := binary.AppendUvarint(binary.AppendUvarint(nil, from), uint64(copies)*length)
	for range copies {
		data = append(data, 0x80|0x10|0x20|0x40, byte(length), byte(length>>8), byte(length>>16))
	}
	return packed{kind: kind, size: uint64(len(data)), base: base, data: data}
}

func blobID(data []byte) []byte {
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(data)), data...))
	return sum[:]
}

// back is how far back the base of a delta begins, as a pack writes it.
func back(distance uint64) []byte {
	out := []byte{byte(distance & 0x7f)}
	for distance >>= 7; distance > 0; distance >>= 7 {
		distance--
		out = append([]byte{0x80 | byte(distance&0x7f)}, out...)
	}
	return out
}

func pktLine(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// answering makes the server send a pack of ours in place of its own.
func answering(pack []byte) func([]byte) []byte {
	return func(body []byte) []byte {
		const section = "packfile\n"
		at := bytes.Index(body, []byte(section))
		if at < 0 {
			return body
		}
		out := bytes.NewBuffer(bytes.Clone(body[:at+len(section)]))
		for rest := pack; len(rest) > 0; {
			n := min(len(rest), 60_000)
			out.WriteString(pktLine("\x01" + string(rest[:n])))
			rest = rest[n:]
		}
		out.WriteString("0000")
		return out.Bytes()
	}
}

// TestM11Packs: packs of a few kilobytes that would become gigabytes, or that never resolve. The fetch fails within bounds,
// what was fetched before is still served, and the next honest answer is taken.
func TestM11Packs(t *testing.T) {
	const (
		most = 1<<16 - 1 // what one copy takes
		gigs = 4 << 30
	)
	zeros := make([]byte, 1<<16)
	small := []byte(strings.Repeat("x", 100))
	one, two := blobID([]byte("one")), blobID([]byte("two"))
	tests := map[string]struct {
		pack   func() []byte
		reason string
	}{
		"deltas that are made from each other": {func() []byte {
			return pack(t, delta(packRef, one, 3, 1, 3), delta(packRef, two, 3, 1, 3), delta(packRef, blobID([]byte("three")), 3, 1, 3))
		}, ""},
		"a delta that is made from itself": {func() []byte {
			return pack(t, blob(small), delta(packOffset, back(0), 100, 1, 50))
		}, ""},
		"a delta from before the beginning": {func() []byte {
			return pack(t, blob(small), delta(packOffset, back(1<<30), 100, 1, 50))
		}, ""},
		"a delta of 4 GiB": {func() []byte {
			return pack(t, blob(zeros), delta(packRef, blobID(zeros), 1<<16, gigs/most+1, most))
		}, "RepositoryTooLarge"},
		"a delta that lies about its size": {func() []byte {
			d := delta(packRef, blobID(small), 100, 1, 50)
			d.data = append(binary.AppendUvarint(binary.AppendUvarint(nil, 100), gigs), d.data[2:]...)
			d.size = uint64(len(d.data))
			return pack(t, blob(small), d)
		}, "RepositoryTooLarge"},
		"a file of 4 GiB is announced": {func() []byte {
			return pack(t, packed{kind: packBlob, size: gigs + 5, data: small})
		}, ""},
		"a folder of 4 GiB is announced": {func() []byte {
			return pack(t, packed{kind: packTree, size: gigs + 5, data: small})
		}, "RepositoryTooLarge"},
		"a commit of 2^60 bytes is announced": {func() []byte {
			return pack(t, packed{kind: packCommit, size: 1 << 60, data: small})
		}, "RepositoryTooLarge"},
		"a file is longer than announced": {func() []byte {
			return pack(t, packed{kind: packBlob, size: 10, data: zeros})
		}, ""},
		"4 thousand million objects are announced": {func() []byte {
			p := pack(t, blob(small))
			binary.BigEndian.PutUint32(p[8:], 1<<32-1)
			return p
		}, ""},
		"a long chain that leads nowhere": {func() []byte { return chain(t, 20_000) }, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t)
			after := h.repo.commit("main", map[string]string{"a": "2"})
			h.server.set(func(s *gitServer) { s.spoil = answering(tc.pack()) })
			_, err := h.store.Tree(t.Context(), manifest.Origin{RepoURL: h.repo.url}, after)
			t.Log(err)
			if err == nil || tc.reason != "" && fault.ReasonOf(err) != tc.reason {
				t.Errorf("fetching gave %v (%s), want %s", err, fault.ReasonOf(err), tc.reason)
			}
			h.intact()
			h.server.set(func(s *gitServer) { s.spoil = nil })
			if data, err := fs.ReadFile(tree(t, h.store, h.repo.url, after), "a"); err != nil || string(data) != "2" {
				t.Errorf("after the server came to its senses = %q, %v", data, err)
			}
		})
	}
}

// chain is a pack of deltas, each made from the one before, and the first from a file that is there; nothing in it is what
// anybody asked for.
func chain(t *testing.T, length int) []byte {
	t.Helper()
	text := []byte(strings.Repeat("0123456789", 10))
	objects := []packed{blob(text)}
	distance := func(o packed) uint64 { return uint64(len(pack(t, o)) - 12 - sha1.Size) }
	last := distance(objects[0])
	for i := range length {
		// All but the last byte, which is another one each time.
		data := binary.AppendUvarint(binary.AppendUvarint(nil, 100), 100)
		data = append(data, 0x80|0x10, 96, 4)
		data = binary.BigEndian.AppendUint32(data, uint32(i))
		d := packed{kind: packOffset, size: uint64(len(data)), base: back(last), data: data}
		last = distance(d)
		objects = append(objects, d)
	}
	return pack(t, objects...)
}

// hostile is a store that has fetched a commit from a server which is about to turn.
type hostile struct {
	t      *testing.T
	server *gitServer
	repo   bareRepo
	store  *Store
	before string
}

func newHostile(t *testing.T) *hostile {
	t.Helper()
	h := &hostile{t: t, server: newGitServer(t)}
	h.repo = h.server.repo(t, "shop.git")
	h.before = h.repo.commit("main", map[string]string{"a": "1"})
	h.store = newStore(t, func(o *Options) { o.MaxMemory, o.Timeout = 256<<20, 5*time.Minute })
	h.intact()
	return h
}

// intact checks that what was fetched first is served, and that nothing lies about.
func (h *hostile) intact() {
	h.t.Helper()
	if data, err := fs.ReadFile(tree(h.t, h.store, h.repo.url, h.before), "a"); err != nil || string(data) != "1" {
		h.t.Errorf("what was here before = %q, %v", data, err)
	}
	known, err := h.store.repository(manifest.Origin{RepoURL: h.repo.url})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, pattern := range leftovers {
		if left, _ := filepath.Glob(filepath.Join(known.dir, pattern)); len(left) > 0 {
			h.t.Errorf("it left %v", left)
		}
	}
}

// instead answers a question of the protocol in place of git.
func (h *hostile) instead(command string, answer func(w io.Writer)) {
	h.server.set(func(s *gitServer) {
		s.instead = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPost {
				return false
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return false
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if r.Header.Get("Content-Encoding") == "gzip" {
				if unzipped, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
					body, _ = io.ReadAll(unzipped)
				}
			}
			if !bytes.Contains(body, []byte("command="+command)) {
				return false
			}
			w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
			answer(w)
			return true
		}
	})
}

// TestM11Refs: a server that says too much of its refs is not listened to any longer.
func TestM11Refs(t *testing.T) {
	tests := map[string]struct {
		refs   int
		memory int64
		reason string
	}{
		"a million": {1_000_000, 1 << 30, "OutputTooLarge"},
		// Git tells of none before it has heard of all.
		"no end": {-1, 64 << 20, "RepositoryTooLarge"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t)
			h.store.git.limits.memory = tc.memory
			var sent atomic.Int64
			h.instead("ls-refs", func(w io.Writer) {
				buffered := bufio.NewWriterSize(w, 64<<10)
				const number = "0000000\n"
				begin := strings.TrimSuffix(pktLine(h.before+" refs/heads/team/feature-branch-with-a-name-"+number), number)
				line := make([]byte, 0, 100)
				for i := 0; i != tc.refs; i++ {
					line = append(strconv.AppendInt(append(line[:0], begin...), int64(1_000_000+i%9_000_000), 10), '\n')
					if _, err := buffered.Write(line); err != nil {
						return
					}
					sent.Add(1)
				}
				_, _ = buffered.WriteString("0000")
				_ = buffered.Flush()
			})
			began := time.Now()
			_, _, err := h.store.Resolve(t.Context(), manifest.Origin{RepoURL: h.repo.url, Revision: "main"}, 0)
			t.Logf("%v after %d refs and %s", err, sent.Load(), time.Since(began).Round(time.Millisecond))
			wantFault(t, err, fault.Terminal, tc.reason)
			h.intact()
			h.server.set(func(s *gitServer) { s.instead = nil })
			if got := resolve(t, h.store, h.repo.url, "main"); got != h.before {
				t.Errorf("after the server came to its senses main is %s", got)
			}
		})
	}
}

// TestM11SymbolicRefs: what a server says that a ref stands for is not followed.
func TestM11SymbolicRefs(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	// In its own repository, where its git finds the loop.
	for ref, target := range map[string]string{"HEAD": "refs/heads/a", "refs/heads/a": "refs/heads/b", "refs/heads/b": "refs/heads/a"} {
		if err := os.WriteFile(filepath.Join(h.repo.dir, filepath.FromSlash(ref)), []byte("ref: "+target+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, revision := range []string{"HEAD", "", "a", "b"} {
		_, _, err := h.store.Resolve(t.Context(), manifest.Origin{RepoURL: h.repo.url, Revision: revision}, 0)
		wantFault(t, err, fault.Terminal, "RevisionNotFound")
	}
	if got := resolve(t, h.store, h.repo.url, "main"); got != h.before {
		t.Errorf("main is %s", got)
	}
	h.intact()
	// And by its word: a ref is where it says that it is, whatever else it says.
	h.instead("ls-refs", func(w io.Writer) {
		for _, text := range []string{
			h.before + " HEAD symref-target:refs/heads/a", h.before + " refs/heads/a symref-target:HEAD",
			h.before + " refs/heads/b symref-target:refs/heads/b", "unborn refs/heads/c symref-target:refs/heads/../../x",
		} {
			_, _ = io.WriteString(w, pktLine(text+"\n"))
		}
		_, _ = io.WriteString(w, "0000")
	})
	for _, revision := range []string{"HEAD", "a", "b"} {
		if got := resolve(t, h.store, h.repo.url, revision); got != h.before {
			t.Errorf("%s is %s", revision, got)
		}
	}
	h.intact()
}
