package cli

import (
	"fmt"
	"io"
	"strings"
)

// block is a list of labels with their values, for people.
type block struct {
	strings.Builder

	palette palette
	width   int
}

// field writes one line; what has no value is a dash.
func (b *block) field(label, value string) {
	if label != "" {
		label += ":"
	}
	value = orNothing(value)
	fmt.Fprintf(b, "%s%s%s\n", b.palette.paint(bold, label), strings.Repeat(" ", max(b.width-len(label), 1)), value)
}

// fields writes a line for each value, below each other.
func (b *block) fields(label string, values []string) {
	if len(values) == 0 {
		b.field(label, "")
	}
	for _, v := range values {
		b.field(label, clean(v))
		label = ""
	}
}

func (b *block) write(w io.Writer) error {
	_, err := io.WriteString(w, b.String())
	return err
}

// commaed is a list in a table.
func commaed(list []string) string { return orNothing(strings.Join(list, ",")) }

// orEmpty keeps a list a list where it is encoded.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
