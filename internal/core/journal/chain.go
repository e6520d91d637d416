package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Head is the last record that was written for good.
type Head struct {
	Seq  uint64
	Hash string
}

// String is how a head is kept, and how people are told of it.
func (h Head) String() string { return strconv.FormatUint(h.Seq, 10) + ":" + h.Hash }

// ParseHead reads it back.
func ParseHead(text string) (Head, error) {
	number, hash, ok := strings.Cut(strings.TrimSpace(text), ":")
	seq, err := strconv.ParseUint(number, 10, 64)
	if !ok || err != nil || len(hash) != 2*sha256.Size {
		return Head{}, errors.New("a head is the number of a record and its digest, with a colon in between")
	}
	return Head{Seq: seq, Hash: hash}, nil
}

// The seal is the last field of a line and covers all the bytes before it, so that nothing depends on how JSON is written.
const (
	sealBegins = `,"hash":"`
	sealEnds   = `"}`
	sealSize   = len(sealBegins) + 2*sha256.Size + len(sealEnds)
)

// Seal makes the line of a record that follows a head, with its line break.
func Seal(after Head, r Record) (line []byte, head Head, err error) {
	r.Seq, r.Prev, r.Time = after.Seq+1, after.Hash, r.Time.UTC().Truncate(time.Millisecond)
	body, err := json.Marshal(r)
	if err != nil {
		return nil, Head{}, fmt.Errorf("encoding a record: %w", err)
	}
	head = Head{Seq: r.Seq, Hash: digest(body)}
	line = append(bytes.TrimSuffix(body, []byte("}")), sealBegins+head.Hash+sealEnds+"\n"...)
	return line, head, nil
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Read takes a line apart. The record is what it says; an error is that it was not sealed as it stands.
func Read(line []byte) (Record, Head, error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	if len(line) < sealSize {
		return Record{}, Head{}, errors.New("the line is cut off")
	}
	rest, seal := line[:len(line)-sealSize], line[len(line)-sealSize:]
	hash, ok := bytes.CutPrefix(seal, []byte(sealBegins))
	if !ok || !bytes.HasSuffix(hash, []byte(sealEnds)) {
		return Record{}, Head{}, errors.New("the line has no digest at its end: it is cut off, or not from us")
	}
	body := append(bytes.Clone(rest), '}')
	var r Record
	if err := json.Unmarshal(body, &r); err != nil {
		return Record{}, Head{}, fmt.Errorf("the line is no record: %w", err)
	}
	head := Head{Seq: r.Seq, Hash: string(hash[:2*sha256.Size])}
	if digest(body) != head.Hash {
		return r, head, errors.New("the line was changed: it does not fit its digest")
	}
	return r, head, nil
}

// Problem is a place where the chain does not hold.
type Problem struct {
	// Where is the file and the line.
	Where string
	// Seq is the record that the line says it is; zero if it does not say.
	Seq uint64
	Why string
}

// String is for people.
func (p Problem) String() string {
	if p.Seq == 0 {
		return p.Where + ": " + p.Why
	}
	return fmt.Sprintf("%s: record %d: %s", p.Where, p.Seq, p.Why)
}

// Check holds the lines of a log against each other, in their order.
type Check struct {
	// Records is how many lines were sound, First the first of them, and Head the last.
	Records  uint64
	First    uint64
	Head     Head
	From, To time.Time
	Problems []Problem

	dropped uint64
	begun   bool
}

// Line takes the next line. The record is what the line says, sound or not.
func (c *Check) Line(where string, line []byte) (Record, bool) {
	r, head, err := Read(line)
	if err != nil {
		c.Problems = append(c.Problems, Problem{Where: where, Seq: r.Seq, Why: err.Error()})
		// What follows is held against what this line says of itself: one change is one problem, and not one for each line
		// after it.
		if head.Seq != 0 {
			c.Head, c.begun = head, true
		}
		return r, false
	}
	why := c.follows(r)
	if why != "" {
		c.Problems = append(c.Problems, Problem{Where: where, Seq: r.Seq, Why: why})
	}
	if !c.begun {
		c.First, c.From = r.Seq, r.Time
	}
	if r.Kind == Lost {
		c.Problems = append(c.Problems, Problem{Where: where, Seq: r.Seq, Why: r.Why})
	}
	c.dropped = max(c.dropped, r.Through)
	c.begun, c.Head, c.To = true, head, r.Time
	c.Records++
	return r, why == ""
}

// follows says why a record is not the next one.
func (c *Check) follows(r Record) string {
	switch {
	case !c.begun:
		return ""
	case r.Seq > c.Head.Seq+1:
		return fmt.Sprintf("the records %d to %d are missing before it", c.Head.Seq+1, r.Seq-1)
	case r.Seq <= c.Head.Seq:
		return fmt.Sprintf("it is out of its order: record %d stands before it", c.Head.Seq)
	case r.Prev != c.Head.Hash:
		return "the record before it is not the one that it was written after"
	}
	return ""
}

// End holds the log against what is known to have been in it: the head that was kept beside it, or elsewhere.
func (c *Check) End(known ...Head) {
	if c.begun && c.First > 1 && c.dropped != c.First-1 {
		c.Problems = append(c.Problems, Problem{
			Where: "the beginning", Why: fmt.Sprintf("the records 1 to %d are missing, and none of the others says that they were "+
				"dropped", c.First-1),
		})
	}
	for _, h := range known {
		if h.Seq > c.Head.Seq {
			c.Problems = append(c.Problems, Problem{
				Where: "the end", Why: fmt.Sprintf("the log had %d records, and ends with %d", h.Seq, c.Head.Seq),
			})
		}
		if h.Seq == c.Head.Seq && h.Hash != c.Head.Hash {
			c.Problems = append(c.Problems, Problem{Where: "the end", Seq: h.Seq, Why: "the last record is not the one that was written"})
		}
	}
}
