package cli

import (
	"fmt"
	"slices"
)

// edit is a line of a comparison: kept (" "), removed, added, or a mark for
// lines that are not shown.
type edit struct{ sign, line string }

const (
	// contextLines are shown around a change.
	contextLines = 2
	// maxGrid bounds the work of comparing; past it the whole is replaced.
	maxGrid = 4_000_000
)

// lineDiff is the shortest way from one text to another, with a little of what
// stays the same around it.
func lineDiff(before, after []string) []edit {
	return fold(script(before, after))
}

func script(a, b []string) []edit {
	var head, tail []edit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, edit{" ", a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append([]edit{{" ", a[len(a)-1]}}, tail...)
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return append(append(head, middle(a, b)...), tail...)
}

// middle walks the table of longest common subsequences.
func middle(a, b []string) []edit {
	var out []edit
	common := lengths(a, b)
	i, j := 0, 0
	for i < len(a) && j < len(b) && common != nil {
		switch {
		case a[i] == b[j]:
			out = append(out, edit{" ", a[i]})
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			out = append(out, edit{"-", a[i]})
			i++
		default:
			out = append(out, edit{"+", b[j]})
			j++
		}
	}
	for ; i < len(a); i++ {
		out = append(out, edit{"-", a[i]})
	}
	for ; j < len(b); j++ {
		out = append(out, edit{"+", b[j]})
	}
	return out
}

// lengths has at [i][j] how many lines a[i:] and b[j:] have in common; nil if
// that is too much to find out.
func lengths(a, b []string) [][]int {
	if len(a)*len(b) > maxGrid {
		return nil
	}
	out := make([][]int, len(a)+1)
	for i := range out {
		out[i] = make([]int, len(b)+1)
	}
	for i, before := range slices.Backward(a) {
		for j, after := range slices.Backward(b) {
			if before == after {
				out[i][j] = out[i+1][j+1] + 1
				continue
			}
			out[i][j] = max(out[i+1][j], out[i][j+1])
		}
	}
	return out
}

// fold hides long runs of lines that stay.
func fold(in []edit) []edit {
	near := make([]bool, len(in))
	for i, e := range in {
		if e.sign == " " {
			continue
		}
		for k := max(i-contextLines, 0); k <= min(i+contextLines, len(in)-1); k++ {
			near[k] = true
		}
	}
	var out []edit
	hidden := 0
	for i, e := range in {
		if !near[i] {
			hidden++
			continue
		}
		out = append(skip(out, hidden), e)
		hidden = 0
	}
	return skip(out, hidden)
}

func skip(out []edit, hidden int) []edit {
	if hidden == 0 {
		return out
	}
	return append(out, edit{"…", fmt.Sprintf("%d unchanged lines", hidden)})
}
