package source

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
)

// batch is one `git cat-file --batch` process, which reads objects of one repository for one caller at a time.
type batch struct {
	in     *os.File
	out    *os.File
	lines  *bufio.Reader
	cancel context.CancelFunc
	ended  chan struct{}
	stderr *bounded // to be read after ended
}

// object is one object of git. Its content is nil if only its size was asked for.
type object struct {
	hash    string
	kind    string
	size    int64
	content []byte
}

func (p program) startBatch(ctx context.Context, dir string) (*batch, error) {
	ctx, cancel := context.WithCancel(ctx)
	command := p.command(ctx, call{dir: dir, args: []string{"cat-file", "--batch"}})
	b := &batch{cancel: cancel, ended: make(chan struct{}), stderr: &bounded{limit: 4 << 10}}
	err := b.start(command)
	if err == nil {
		p.limits.bound(command)
	}
	if err != nil {
		cancel()
		return nil, fault.Transientf("GitFailed", "starting git to read objects: %w", err)
	}
	return b, nil
}

// start connects the process by pipes of our own: those of os/exec are closed as soon as the process ends, with what we
// did not yet read in them.
func (b *batch) start(command *exec.Cmd) error {
	theirIn, ourIn, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirIn.Close() //nolint:errcheck // the child has its own copy
	ourOut, theirOut, err := os.Pipe()
	if err != nil {
		_ = ourIn.Close()
		return err
	}
	defer theirOut.Close() //nolint:errcheck // the child has its own copy
	command.Stdin, command.Stdout, command.Stderr = theirIn, theirOut, b.stderr
	if err := command.Start(); err != nil {
		_, _ = ourIn.Close(), ourOut.Close()
		return err
	}
	b.in, b.out, b.lines = ourIn, ourOut, bufio.NewReaderSize(ourOut, 64<<10)
	go func() {
		defer close(b.ended)
		_ = command.Wait() // how it ended shows in what could be read
	}()
	return nil
}

// stop ends the process; it may be called at any time and more than once.
func (b *batch) stop() {
	b.cancel()
	_, _ = b.in.Close(), b.out.Close()
	<-b.ended
}

// alive says that the process has not ended.
func (b *batch) alive() bool {
	select {
	case <-b.ended:
		return false
	default:
		return true
	}
}

// read asks for an object by its hash. After an error the process is of no more use, save for a missing object and one
// that is too large to be read, which say so with usable set.
func (b *batch) read(name string, limit int64, wantContent bool) (found object, usable bool, err error) {
	if _, err := fmt.Fprintf(b.in, "%s\n", name); err != nil {
		return object{}, false, b.broken(err)
	}
	header, err := b.lines.ReadString('\n')
	if err != nil {
		return object{}, false, b.broken(err)
	}
	fields := strings.Fields(header)
	if len(fields) == 2 {
		return object{}, true, fault.Transientf("ObjectMissing", "git object %s is %s", name, fields[1])
	}
	if len(fields) != 3 {
		return object{}, false, b.broken(fmt.Errorf("unexpected header %q", header))
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return object{}, false, b.broken(err)
	}
	found = object{hash: fields[0], kind: fields[1], size: size}
	if size > limit {
		// Not worth reading to its end: the next reader starts another process.
		if !wantContent {
			return found, false, nil
		}
		return found, false, fault.Terminalf("FileTooLarge", "it is %d bytes long, the limit is %d", size, limit)
	}
	found.content = make([]byte, size+1)
	if _, err := io.ReadFull(b.lines, found.content); err != nil {
		return object{}, false, b.broken(err)
	}
	found.content = found.content[:size:size]
	return found, true, nil
}

// broken says why the process is of no more use.
func (b *batch) broken(err error) error {
	b.stop()
	if said := summary(b.stderr.String()); said != "" {
		return fault.Transientf("GitFailed", "reading objects: git: %s", said)
	}
	return fault.Transientf("GitFailed", "reading objects: git ended: %w", err)
}
