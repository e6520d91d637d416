package controlplane

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Save writes the cluster's objects, and those of its extra clusters, to a file that Options.Restore takes. etcd
// stops for about a second meanwhile, so requests of that second fail. The service account keys are saved too, so
// that tokens stay valid; the authority is not, so every restored cluster has credentials of its own.
//
// etcd is killed, not asked to end: asked, it waits eight seconds for the API servers' open watches. Nothing that
// was answered is lost by that, as etcd writes its log before it answers, and what a process has written survives
// the process, with fsync or without.
func (p *Plane) Save(ctx context.Context, file string) error {
	if p.base != nil {
		return fmt.Errorf("saving %q: it shares the etcd of %q, save that one", p.name, p.base.name)
	}
	if err := p.Halt(ctx, Etcd, syscall.SIGKILL); err != nil {
		return fmt.Errorf("saving %q: %w", p.name, err)
	}
	saved := p.archive(file)
	// Whatever became of the archive, the cluster goes on.
	resumed := p.resumeEtcd(ctx)
	if err := errors.Join(saved, resumed); err != nil {
		return fmt.Errorf("saving %q: %w", p.name, err)
	}
	return nil
}

func (p *Plane) resumeEtcd(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 30*time.Second, errors.New("not ready after 30s"))
	defer cancel()
	if err := p.Resume(ctx, Etcd); err != nil {
		return err
	}
	return p.await(ctx, p.apiServerReady)
}

func (p *Plane) archive(file string) error {
	out, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return fmt.Errorf("making the archive: %w", err)
	}
	defer os.Remove(out.Name())
	defer out.Close()
	zip, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
	if err != nil {
		return fmt.Errorf("compressing the archive: %w", err)
	}
	archive := tar.NewWriter(zip)
	err = filepath.WalkDir(p.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(p.dir, path)
		if err != nil || !entry.Type().IsRegular() || !belongsInSnapshot(name) {
			return err
		}
		return addFile(archive, path, filepath.ToSlash(name))
	})
	if err := errors.Join(err, archive.Close(), zip.Close(), out.Close()); err != nil {
		return fmt.Errorf("writing the archive: %w", err)
	}
	if err := os.Rename(out.Name(), file); err != nil {
		return fmt.Errorf("writing the archive: %w", err)
	}
	return nil
}

// belongsInSnapshot keeps etcd's data and every service account key, also those of extra clusters.
func belongsInSnapshot(name string) bool {
	base := filepath.Base(name)
	return strings.HasPrefix(name, "etcd"+string(filepath.Separator)) || base == "sa.key" || base == "sa.pub"
}

func addFile(archive *tar.Writer, path, name string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime()}); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}

func (p *Plane) restore(file string) error {
	if _, err := os.Stat(p.etcdData()); err == nil {
		return fmt.Errorf("restoring %q into cluster %q: it has data already; choose another name or remove it first", file, p.name)
	}
	in, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("restoring: %w", err)
	}
	defer in.Close()
	zip, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("restoring %q (is it a file that save wrote?): %w", file, err)
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return fmt.Errorf("restoring: %w", err)
	}
	defer root.Close()
	archive := tar.NewReader(zip)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("restoring %q: %w", file, err)
		}
		if err := extract(root, header.Name, archive); err != nil {
			return fmt.Errorf("restoring %q: %w", file, err)
		}
	}
}

func extract(root *os.Root, name string, content io.Reader) error {
	name = filepath.FromSlash(name)
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := io.Copy(file, content); err != nil {
		return err
	}
	return file.Close()
}
