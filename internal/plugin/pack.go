package plugin

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
)

// parcel is what a plugin is sent: the whole content of the source, as a compressed tar on disk, and what it is told.
type parcel struct {
	file     *os.File
	size     int64
	checksum string
	// app is the name of the application, root its folder in the content, and variables are NAME=value.
	app, root string
	variables []string
	remarks   remarks
	// secrets are files with Secrets in them, whose values must not stand in an error.
	secrets [][]byte
}

// close removes the file.
func (p *parcel) close() { _ = p.file.Close() }

// metadata is what goes before the file.
func (p *parcel) metadata() metadata {
	m := metadata{app: p.app, path: p.root, checksum: p.checksum, size: p.size}
	for _, text := range p.variables {
		name, value, _ := strings.Cut(text, "=")
		m.variables = append(m.variables, variable{name, value})
	}
	return m
}

// hide takes what may be a secret out of what a plugin says.
func (p *parcel) hide(text string) string {
	for _, v := range p.variables {
		name, value, _ := strings.Cut(v, "=")
		if len(value) >= 4 && secretName(name) {
			text = strings.ReplaceAll(text, value, object.Masked)
		}
	}
	return object.Scrub(text, p.secrets...)
}

// secretName reports whether a variable of this name is likely to hold a secret. All parameters together may.
func secretName(name string) bool {
	upper := strings.ToUpper(name)
	for _, word := range []string{"PASS", "SECRET", "TOKEN", "KEY", "CRED", "AUTH", "PRIVATE", "ARGOCD_APP_PARAMETERS"} {
		if strings.Contains(upper, word) {
			return true
		}
	}
	return false
}

// pack writes the content of a tree to a file that nobody else can open.
func (h *Host) pack(ctx context.Context, tree fs.FS) (*parcel, error) {
	if tree == nil {
		return nil, fault.Terminalf("PathNotFound", "the source has no content")
	}
	file, err := os.CreateTemp(h.scratch, "towline-plugin-")
	if err != nil {
		return nil, fault.Transientf("PluginFailed", "making a file for what the plugin is sent: %w", err)
	}
	sent := &parcel{file: file}
	// It is gone when it is closed, however this process ends.
	err = os.Remove(file.Name())
	if err == nil {
		err = h.write(ctx, tree, sent)
	}
	if err != nil {
		sent.close()
		return nil, fmt.Errorf("packing the content for the plugin: %w", err)
	}
	return sent, nil
}

func (h *Host) write(ctx context.Context, tree fs.FS, sent *parcel) error {
	sum := sha256.New()
	counted := &counter{}
	buffered := bufio.NewWriterSize(io.MultiWriter(sent.file, sum, counted), 64<<10)
	zipped, err := gzip.NewWriterLevel(buffered, gzip.BestSpeed)
	if err != nil {
		return err
	}
	p := &packer{ctx: ctx, tree: tree, tar: tar.NewWriter(zipped), limits: h.limits, sent: sent}
	err = p.folder(".", 0)
	if err = errors.Join(err, p.tar.Close(), zipped.Close(), buffered.Flush()); err != nil {
		return err
	}
	sent.size, sent.checksum = counted.n, hex.EncodeToString(sum.Sum(nil))
	return nil
}

// counter counts bytes.
type counter struct{ n int64 }

func (c *counter) Write(data []byte) (int, error) {
	c.n += int64(len(data))
	return len(data), nil
}

// packer goes through a tree.
type packer struct {
	ctx    context.Context //nolint:containedctx // it lives for one walk, which is this context
	tree   fs.FS
	tar    *tar.Writer
	limits Limits
	sent   *parcel

	bytes  int64
	files  int
	hidden int
}

const (
	// maxDepth is how deep folders may be.
	maxDepth = 128
	// maxHidden is how much of files with Secrets is kept to take them out of errors.
	maxHidden = 16 << 20
)

func (p *packer) folder(dir string, depth int) error {
	if depth > maxDepth {
		return fault.Terminalf(reasonLimit, "%q is more than %d folders deep", dir, maxDepth)
	}
	entries, err := fs.ReadDir(p.tree, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := p.ctx.Err(); err != nil {
			return fault.Transientf("Cancelled", "%w", context.Cause(p.ctx))
		}
		if p.files++; p.files > p.limits.SentFiles {
			return fault.Terminalf(reasonLimit, "the repository has more than %d files, more than a plugin is sent; use a smaller "+
				"repository", p.limits.SentFiles)
		}
		if err := p.entry(path.Join(dir, e.Name()), e, depth); err != nil {
			return err
		}
	}
	return nil
}

func (p *packer) entry(name string, e fs.DirEntry, depth int) error {
	if strings.EqualFold(e.Name(), ".git") {
		p.leaveOut("%q, which is git's own", name)
		return nil
	}
	switch {
	case e.IsDir():
		if err := p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755}); err != nil {
			return err
		}
		return p.folder(name, depth+1)
	case e.Type()&fs.ModeSymlink != 0:
		return p.link(name)
	case e.Type().IsRegular():
		return p.file(name, e)
	}
	p.leaveOut("%q, which is neither a file nor a folder", name)
	return nil
}

// leaveOut notes that a plugin does not get something.
func (p *packer) leaveOut(format string, args ...any) {
	const most = 20
	if len(p.sent.remarks.said) < most {
		p.sent.remarks.said = append(p.sent.remarks.said, "the plugin was not sent "+fmt.Sprintf(format, args...))
	}
}

// link writes a symbolic link, unless it leads out: for such a one a sidecar refuses everything.
func (p *packer) link(name string) error {
	target, err := fs.ReadLink(p.tree, name)
	if err != nil {
		return err
	}
	if path.IsAbs(target) || !fs.ValidPath(path.Join(path.Dir(name), target)) {
		p.leaveOut("the symbolic link %q, which leads out of the repository", name)
		return nil
	}
	return p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777})
}

func (p *packer) file(name string, e fs.DirEntry) error {
	content, err := fs.ReadFile(p.tree, name)
	if fault.ReasonOf(err) == "FileTooLarge" {
		p.leaveOut("%q, which is too large: %v", name, err)
		p.sent.remarks.incomplete = true
		return nil
	}
	if err != nil {
		return err
	}
	if p.bytes += int64(len(content)); p.bytes > p.limits.SentBytes {
		return fault.Terminalf(reasonLimit, "the repository is larger than %d MiB, more than a plugin is sent; use a smaller repository",
			p.limits.SentBytes>>20)
	}
	if p.hidden+len(content) <= maxHidden && bytes.Contains(content, []byte("Secret")) {
		p.hidden += len(content)
		p.sent.secrets = append(p.sent.secrets, content)
	}
	mode := int64(0o644)
	if described, err := e.Info(); err == nil && described.Mode()&0o111 != 0 {
		mode = 0o755
	}
	if err := p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: mode}); err != nil {
		return err
	}
	_, err = p.tar.Write(content)
	return err
}
