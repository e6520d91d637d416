// Package ledger keeps the journal in files: it appends records, chained across files and restarts, and reads them back
// for those who check them or ask. It must not decide what is worth a record, and it never changes or takes back a line.
//
// A record is handed to the operating system before Append returns, so a process that is killed loses none. It is on the
// disk within a second, or when the log is closed: a machine that loses its power may lose the last second. The head is
// written after that, so it never speaks of more than is on the disk.
package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/towline-cd/towline/internal/core/journal"
)

// Options say how a log is kept.
type Options struct {
	// Size is from how many bytes on a file is followed by another; zero is never.
	Size int64
	// Keep is how many files there may be; the oldest go first. Zero is any number.
	Keep int
	// Process names this process in the log.
	Process string
	Now     func() time.Time
}

const (
	filePrefix = "audit-"
	fileSuffix = ".jsonl"
	headName   = "audit.head"
	// flushEvery is how long a record may wait until it is on the disk.
	flushEvery = time.Second
)

// Ledger is an open log. It is safe for use by many goroutines.
type Ledger struct {
	options Options
	dir     string

	mu   sync.Mutex
	file io.Writer
	disk *os.File
	size int64
	head journal.Head
	// kept is the head file, and durable the head that is in it.
	kept    *os.File
	durable journal.Head
	lost    int64
	closed  bool

	stop chan struct{}
	done chan struct{}
}

// Open goes on with the log in a folder, or begins one.
func Open(dir string, o Options) (*Ledger, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the audit log: %w", err)
	}
	l := &Ledger{options: o, dir: dir, stop: make(chan struct{}), done: make(chan struct{})}
	var err error
	if l.kept, err = os.OpenFile(filepath.Join(dir, headName), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	if err := lock(l.kept); err != nil {
		return nil, errors.Join(fmt.Errorf("the audit log in %s is in use by another process; give each its own folder: %w", dir, err),
			l.kept.Close())
	}
	found, err := l.resume()
	if err == nil {
		err = l.begin(found)
	}
	if err != nil {
		return nil, errors.Join(err, l.kept.Close())
	}
	go l.flushing()
	return l, nil
}

// To writes the log to somebody else, who keeps it. Each process begins a chain of its own.
func To(w io.Writer, o Options) *Ledger {
	l := &Ledger{options: o, file: w}
	l.options.Size, l.options.Keep = 0, 0
	l.Append(journal.Record{Kind: journal.Opened, Process: o.Process})
	return l
}

// found is what a process finds of the one before it.
type found struct {
	// why says what is missing.
	why string
}

// resume finds the end of the log. What was torn by a crash is cut off, and told of.
func (l *Ledger) resume() (found, error) {
	var f found
	names, err := Files(l.dir)
	if err != nil {
		return f, err
	}
	text, err := io.ReadAll(l.kept)
	if err != nil {
		return f, fmt.Errorf("reading the head of the audit log: %w", err)
	}
	if len(names) > 0 {
		last := names[len(names)-1]
		torn, err := l.tail(last)
		if err != nil {
			return f, err
		}
		if torn > 0 {
			f.why = fmt.Sprintf("the last %d bytes of %s were no whole line and were cut off", torn, filepath.Base(last))
		}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return f, nil
	}
	kept, err := journal.ParseHead(string(text))
	switch {
	case err != nil:
		f.why = "the file " + headName + " cannot be read"
	case kept.Seq > l.head.Seq:
		f.why = fmt.Sprintf("the log had %d records, and ends with %d", kept.Seq, l.head.Seq)
		if len(names) == 0 {
			// The numbers go on, so that nobody takes the new log for the old one.
			l.head = kept
		}
	case kept.Seq == l.head.Seq && kept.Hash != l.head.Hash:
		f.why = fmt.Sprintf("record %d is not the one that was written", kept.Seq)
	}
	return f, nil
}

// tail reads the last sound line of a file, and says how many bytes after it were cut off.
func (l *Ledger) tail(path string) (torn int64, err error) {
	var sound int64
	err = eachLine(path, func(_ int, line []byte) {
		if r, head, err := journal.Read(line); bytes.HasSuffix(line, []byte("\n")) && (err == nil || r.Seq > 0) {
			l.head = head
			sound += int64(len(line))
			return
		}
		if bytes.HasSuffix(line, []byte("\n")) {
			// Not ours, and not the end: it stays for those who check.
			sound += int64(len(line))
		}
	})
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("reading the audit log: %w", err)
	}
	if torn = info.Size() - sound; torn > 0 {
		if err := os.Truncate(path, sound); err != nil {
			return 0, fmt.Errorf("cutting off a torn line of the audit log: %w", err)
		}
	}
	if l.disk, err = appending(path); err != nil {
		return 0, err
	}
	l.file, l.size = l.disk, sound
	return torn, nil
}

func appending(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	return f, nil
}

// begin writes that this process goes on.
func (l *Ledger) begin(f found) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		if err := l.next(); err != nil {
			return err
		}
	}
	if f.why != "" {
		slog.Error("the audit log is not as it was left", "folder", l.dir, "why", f.why)
		if err := l.append(journal.Record{Kind: journal.Lost, Why: f.why}); err != nil {
			return err
		}
	}
	if err := l.append(journal.Record{Kind: journal.Opened, Process: l.options.Process}); err != nil {
		return err
	}
	return l.flush()
}

// next begins a file, which is named after its first record.
func (l *Ledger) next() error {
	path := filepath.Join(l.dir, fmt.Sprintf("%s%020d%s", filePrefix, l.head.Seq+1, fileSuffix))
	f, err := appending(path)
	if err != nil {
		return err
	}
	if l.disk != nil {
		_ = l.disk.Close() // it was flushed
	}
	l.file, l.disk, l.size = f, f, 0
	return syncFolder(l.dir)
}

// Append writes a record. The work that it tells of goes on whatever becomes of it: what could not be written is counted,
// and said in the process log.
func (l *Ledger) Append(r journal.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		l.lost++
		return
	}
	err := l.append(r)
	if err == nil && l.options.Size > 0 && l.size >= l.options.Size {
		err = l.rotate()
	}
	if err != nil {
		l.lost++
		slog.Error("the audit log could not be written", "folder", l.dir, "kind", r.Kind, "app", r.App, "error", err)
	}
}

func (l *Ledger) append(r journal.Record) error {
	if r.Time.IsZero() {
		r.Time = l.options.Now()
	}
	line, head, err := journal.Seal(l.head, r)
	if err != nil {
		return err
	}
	n, err := l.file.Write(line)
	if err != nil {
		if n > 0 && l.disk != nil {
			// Half a line must not stand before the next one.
			err = errors.Join(err, l.disk.Truncate(l.size))
		}
		return fmt.Errorf("writing to the audit log: %w", err)
	}
	l.head, l.size = head, l.size+int64(n)
	return nil
}

// rotate begins another file, and drops the oldest where there are too many.
func (l *Ledger) rotate() error {
	if err := l.flush(); err != nil {
		return err
	}
	if err := l.next(); err != nil {
		return err
	}
	slog.Info("audit log goes on in another file", "file", filepath.Base(l.disk.Name()), "head", l.head.String())
	names, err := Files(l.dir)
	if err != nil || l.options.Keep <= 0 || len(names) <= l.options.Keep {
		return err
	}
	gone := names[:len(names)-l.options.Keep]
	first, err := firstOf(names[len(gone)])
	if err != nil {
		return err
	}
	// First it is written what goes, for those who miss it.
	if err := l.append(journal.Record{
		Kind: journal.Dropped, Through: first - 1, Why: fmt.Sprintf("there are more than %d files", l.options.Keep),
	}); err != nil {
		return err
	}
	if err := l.flush(); err != nil {
		return err
	}
	for _, name := range gone {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// flushing brings to the disk what is new, until the log is closed.
func (l *Ledger) flushing() {
	defer close(l.done)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
			l.mu.Lock()
			if err := l.flush(); err != nil {
				slog.Error("the audit log could not be brought to the disk", "folder", l.dir, "error", err)
			}
			l.mu.Unlock()
		}
	}
}

// flush brings the log to the disk, and then its head.
func (l *Ledger) flush() error {
	if l.disk == nil || l.durable == l.head {
		return nil
	}
	if err := l.disk.Sync(); err != nil {
		return fmt.Errorf("flushing the audit log: %w", err)
	}
	text := []byte(l.head.String() + "\n")
	if _, err := l.kept.WriteAt(text, 0); err != nil {
		return fmt.Errorf("writing the head of the audit log: %w", err)
	}
	if err := l.kept.Truncate(int64(len(text))); err != nil {
		return fmt.Errorf("writing the head of the audit log: %w", err)
	}
	l.durable = l.head
	return nil
}

// Head is the last record that was written.
func (l *Ledger) Head() journal.Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// Lost is how many records could not be written.
func (l *Ledger) Lost() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Close brings everything to the disk. Nothing can be written afterwards.
func (l *Ledger) Close() error {
	if l.stop != nil {
		close(l.stop)
		<-l.done
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.disk == nil {
		return nil
	}
	return errors.Join(l.flush(), l.disk.Close(), l.kept.Close())
}

// Files are the files of a log, the oldest first.
func Files(dir string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(dir, filePrefix+"*"+fileSuffix))
	if err != nil {
		return nil, fmt.Errorf("listing the audit log: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("opening the folder of the audit log: %w", err)
	}
	defer func() { _ = d.Close() }()
	// Not every file system can, and none loses a file that is being written to for it.
	if err := d.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, errors.ErrUnsupported) {
		slog.Debug("the folder of the audit log cannot be flushed", "folder", dir, "error", err)
	}
	return nil
}
