package controlplane

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
)

// Progress is the output of a build, told in passing: who waits for minutes wants to see that it goes on, and when it fails,
// why.
type Progress struct {
	out               io.Writer
	start, told       time.Time
	fetched, compiled int
	unfinished        []byte
	// words are the last lines that are no progress.
	words []string
}

const (
	// often is how often it is told how far a build is, and kept how much of what it says is kept for an error.
	often = 20 * time.Second
	kept  = 40
)

// NewProgress tells of a build that begins now.
func NewProgress(out io.Writer) *Progress {
	return &Progress{out: out, start: time.Now(), told: time.Now()}
}

// Write takes the output of go build -v, where a line is a module that is fetched, a package that is compiled, or a message.
func (p *Progress) Write(text []byte) (int, error) {
	lines := bytes.Split(append(p.unfinished, text...), []byte("\n"))
	p.unfinished = bytes.Clone(lines[len(lines)-1])
	for _, line := range lines[:len(lines)-1] {
		p.line(strings.TrimSpace(string(line)))
	}
	if now := time.Now(); now.Sub(p.told) >= often {
		p.told = now
		fmt.Fprintf(p.out, "    %s: %d modules fetched, %d packages compiled\n",
			now.Sub(p.start).Round(time.Second), p.fetched, p.compiled)
	}
	return len(text), nil
}

func (p *Progress) line(line string) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		p.fetched++
	case line != "" && !strings.ContainsAny(line, " :"):
		p.compiled++
	default:
		p.words = append(p.words, line)
		p.words = p.words[max(0, len(p.words)-kept):]
	}
}

// Failed gives an error the words of the build.
func (p *Progress) Failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w\n%s%s", err, strings.Join(p.words, "\n"), p.unfinished)
}
