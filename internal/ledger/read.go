package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/internal/core/journal"
)

// Read shows every record of a log, in their order, and says whether the chain holds. The path is a folder, or one file,
// which may come from anywhere: "-" is standard input. Heads are what somebody knows to have been in the log.
func Read(path string, stdin io.Reader, see func(journal.Record), heads ...journal.Head) (*journal.Check, error) {
	check := &journal.Check{}
	take := func(name string) func(int, []byte) {
		return func(n int, line []byte) {
			if r, _ := check.Line(name+":"+strconv.Itoa(n), line); r.Seq > 0 {
				see(r)
			}
		}
	}
	if path == "-" {
		err := lines(stdin, take("standard input"))
		check.End(heads...)
		return check, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	files := []string{path}
	if info.IsDir() {
		if files, err = Files(path); err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("there is no audit log in %s; --audit-log of `towline run` says where it is kept", path)
		}
		kept, err := headOf(path, check)
		if err != nil {
			return nil, err
		}
		heads = append(heads, kept...)
	}
	for _, file := range files {
		if err := eachLine(file, take(filepath.Base(file))); err != nil {
			return nil, err
		}
	}
	check.End(heads...)
	return check, nil
}

// headOf is the head that is kept beside a log.
func headOf(dir string, check *journal.Check) ([]journal.Head, error) {
	text, err := os.ReadFile(filepath.Join(dir, headName))
	if errors.Is(err, fs.ErrNotExist) {
		check.Problems = append(check.Problems, journal.Problem{Where: headName, Why: "it is missing, so nobody can tell how long the " +
			"log was"})
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the head of the audit log: %w", err)
	}
	head, err := journal.ParseHead(string(text))
	if err != nil {
		check.Problems = append(check.Problems, journal.Problem{Where: headName, Why: err.Error()})
		return nil, nil
	}
	return []journal.Head{head}, nil
}

// firstOf is the first record of a file, by its name.
func firstOf(path string) (uint64, error) {
	number := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), filePrefix), fileSuffix)
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%s is no name of a file of the audit log", filepath.Base(path))
	}
	return n, nil
}

func eachLine(path string, take func(n int, line []byte)) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	defer func() { _ = f.Close() }()
	return lines(f, take)
}

// lines shows every line with its end, if it has one.
func lines(r io.Reader, take func(n int, line []byte)) error {
	reader := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			take(n, line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the audit log: %w", err)
		}
	}
}
