package main

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// canvas is a drawing that grows line by line.
type canvas struct {
	strings.Builder
	width, height int
}

// The colours are such as both a light and a dark page can bear, on a ground of
// their own.
const (
	inkGround = "#ffffff"
	inkText   = "#24292f"
	inkFaint  = "#d0d7de"
	inkGood   = "#2da44e"
	inkBad    = "#cf222e"
)

// inks are those of the programs.
var inks = map[string]string{bareName: "#8c959f", engineName: "#0969da", peerName: "#bf8700"}

func (c *canvas) text(x, y int, anchor, words string) {
	fmt.Fprintf(c, `<text x="%d" y="%d" text-anchor="%s" fill="%s">%s</text>`+"\n", x, y, anchor, inkText, html.EscapeString(words))
}

func (c *canvas) bar(x, y, width, height int, ink string) {
	fmt.Fprintf(c, `<rect x="%d" y="%d" width="%d" height="%d" rx="2" fill="%s"/>`+"\n", x, y, max(width, 1), height, ink)
}

func (c *canvas) line(x1, y1, x2, y2 int, ink string) {
	fmt.Fprintf(c, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s"/>`+"\n", x1, y1, x2, y2, ink)
}

// svg is the whole drawing.
func (c *canvas) svg(title string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" `+
		`font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="%[3]s">`+"\n"+
		`<rect width="%[1]d" height="%[2]d" rx="6" fill="%[4]s"/>`+"\n%[5]s</svg>\n",
		c.width, c.height, html.EscapeString(title), inkGround, c.String())
}

// share is a figure as a share of what it may be; more than 1 is missed.
type share struct {
	label, value string
	of           float64
}

// shares are those of all goals that are not about nothing at all.
func shares(all []chapter) []share {
	var out []share
	for _, c := range all {
		if c.Report == nil {
			continue
		}
		for _, g := range c.Report.Goals {
			s := share{label: c.Name + " · " + strings.ReplaceAll(g.Name, "_", " "), value: digits(g.Value) + ", " + g.bound()}
			switch {
			case g.Least > 0 && g.Value > 0:
				s.of = g.Least / g.Value
			case g.Most > 0:
				s.of = g.Value / g.Most
			default:
				continue
			}
			out = append(out, s)
		}
	}
	return out
}

// overviewChart shows every figure as a share of what it may be.
func overviewChart(all []chapter) string {
	const left, scale, step, most = 320, 240, 20, 2.0
	of := shares(all)
	c := &canvas{width: 960, height: 50 + step*len(of)}
	c.text(left+scale, 20, "middle", "allowed")
	for i, s := range of {
		y := 32 + i*step
		ink := inkGood
		if s.of > 1 {
			ink = inkBad
		}
		width := int(min(s.of, most) * scale)
		c.text(left-8, y+12, "end", s.label)
		c.bar(left, y+2, width, step-6, ink)
		c.text(left+max(width, scale)+8, y+12, "start", s.value)
	}
	c.line(left+scale, 26, left+scale, 36+step*len(of), inkText)
	return c.svg("Each figure as a share of what it may be")
}

// programChart shows what each program took: medians as bars, from the lowest
// to the highest as a line.
func programChart(ch chapter) string {
	const left, scale, step, gap = 190, 460, 18, 14
	var names []string
	runs := contest{}
	for _, s := range ch.Report.Runs {
		if !slices.Contains(names, s.Program) {
			names = append(names, s.Program)
		}
		runs[s.Program] = append(runs[s.Program], s)
	}
	figures := []struct {
		name string
		of   func(spent) float64
	}{{"wall, s", wallOf}, {"its CPU, s", cpuOfRun}, {"server's CPU, s", serverOf}}
	c := &canvas{width: 900}
	y := 12
	for _, f := range figures {
		most := 0.0
		for _, n := range names {
			most = max(most, runs.of(n, f.of).quantile(1))
		}
		if most == 0 {
			continue
		}
		for _, n := range names {
			s := runs.of(n, f.of)
			at := func(v float64) int { return left + int(v/most*scale) }
			ink, known := inks[n]
			if !known {
				ink = inks[engineName]
			}
			c.text(left-8, y+13, "end", n+" · "+f.name)
			c.bar(left, y+2, at(s.median())-left, step-4, ink)
			c.line(at(slices.Min(s)), y+step/2, at(slices.Max(s)), y+step/2, inkText)
			c.text(at(slices.Max(s))+8, y+13, "start", s.spread())
			y += step
		}
		y += gap / 2
		c.line(left, y, c.width-20, y, inkFaint)
		y += gap / 2
	}
	c.height = y + 4
	return c.svg("What each program took in " + ch.Name)
}
