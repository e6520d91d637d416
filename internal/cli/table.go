package cli

import (
	"io"
	"strings"
	"unicode/utf8"
)

// cell is a word in a table. An empty one is shown as nothing.
type cell struct {
	text   string
	colour colour
}

func word(s string) cell { return cell{text: clean(s)} }

// table aligns columns as people know it from kubectl: the header in capitals,
// three spaces in between, nothing after the last column.
type table struct {
	head    []string
	rows    [][]cell
	palette palette
	// widths from an earlier part of the same table, so that rows which come
	// later line up.
	widths []int
}

const gap = "   "

func (t *table) row(cells ...cell) { t.rows = append(t.rows, cells) }

func (t *table) write(w io.Writer, headers bool) error {
	rows := t.rows
	if headers {
		head := make([]cell, len(t.head))
		for i, h := range t.head {
			head[i] = cell{text: h, colour: bold}
		}
		rows = append([][]cell{head}, rows...)
	}
	t.measure(rows)
	var b strings.Builder
	for _, r := range rows {
		t.line(&b, r)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *table) measure(rows [][]cell) {
	if t.widths == nil {
		t.widths = make([]int, len(t.head))
	}
	for _, r := range rows {
		for i, c := range r {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(c.text))
		}
	}
}

func (t *table) line(b *strings.Builder, r []cell) {
	last := len(r) - 1
	for last >= 0 && r[last].text == "" {
		last--
	}
	for i, c := range r[:last+1] {
		b.WriteString(t.palette.paint(c.colour, c.text))
		if i < last {
			b.WriteString(strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(c.text)))
			b.WriteString(gap)
		}
	}
	b.WriteByte('\n')
}
