package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// errGoalMissed says that the run is good and the figures are not.
var errGoalMissed = errors.New("a goal was missed")

// report gathers what a scenario found.
type report struct {
	Scenario string `json:"scenario"`
	// Size says how large it was, and Reduced that this was not all.
	Size    string     `json:"size,omitempty"`
	Reduced bool       `json:"reduced,omitempty"`
	Pass    bool       `json:"pass"`
	Time    time.Time  `json:"time"`
	Machine machine    `json:"machine"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
	Goals   []goal     `json:"goals"`
	// Runs are what each program took, where programs were compared.
	Runs     []spent   `json:"runs,omitempty"`
	Facts    []fact    `json:"facts"`
	Readings []reading `json:"readings"`

	broken []string
}

// machine is what a figure depends on and does not say.
type machine struct {
	CPUs int `json:"cpus"`
	// LoadBefore and LoadAfter are load averages of a minute.
	LoadBefore string `json:"loadBefore"`
	LoadAfter  string `json:"loadAfter"`
}

// goal is a figure and what it must not exceed or, where there is a Least, not
// fall below.
type goal struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Most  float64 `json:"most"`
	Least float64 `json:"least,omitempty"`
}

func (g goal) missed() bool {
	if g.Least > 0 {
		return g.Value < g.Least
	}
	return g.Value > g.Most
}

// bound is the goal in words.
func (g goal) bound() string {
	if g.Least > 0 {
		return "at least " + digits(g.Least)
	}
	return "at most " + digits(g.Most)
}

// fact is a figure that decides nothing.
type fact struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

func newReport(scenario string) *report {
	return &report{Scenario: scenario, Time: time.Now().UTC(), Machine: machine{CPUs: runtime.NumCPU(), LoadBefore: loadAverage()}}
}

// assert notes that something about the run itself does not hold.
func (r *report) assert(holds bool, format string, args ...any) {
	if !holds {
		r.broken = append(r.broken, fmt.Sprintf(format, args...))
	}
}

// atMost adds a figure that decides.
func (r *report) atMost(name string, value, most float64) {
	r.Goals = append(r.Goals, goal{Name: name, Value: value, Most: most})
}

// atLeast adds a figure that decides by being large.
func (r *report) atLeast(name string, value, least float64) {
	r.Goals = append(r.Goals, goal{Name: name, Value: value, Least: least})
}

// note adds a figure for the last line that decides nothing.
func (r *report) note(name string, value float64) {
	r.Facts = append(r.Facts, fact{Name: name, Value: value})
}

func (r *report) columns(names ...string) { r.Columns = names }

// row adds a line to the table. Numbers are written with three digits.
func (r *report) row(cells ...any) {
	line := make([]string, len(cells))
	for i, c := range cells {
		line[i] = fmt.Sprint(c)
		if f, ok := c.(float64); ok {
			line[i] = digits(f)
		}
	}
	r.Rows = append(r.Rows, line)
}

// keep adds raw readings to the file.
func (r *report) keep(readings ...reading) { r.Readings = append(r.Readings, readings...) }

// finish prints the report and writes it to a file, or refuses to.
func (r *report) finish(w io.Writer, folder string) error {
	if len(r.broken) > 0 {
		return fmt.Errorf("refusing to report %s, the run is not what it should be:\n  %s", r.Scenario, strings.Join(r.broken, "\n  "))
	}
	r.Machine.LoadAfter = loadAverage()
	r.Pass = !slices.ContainsFunc(r.Goals, goal.missed)
	r.print(w)
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, r.Scenario+".json"), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if !r.Pass {
		return errGoalMissed
	}
	return nil
}

func (r *report) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(r.Columns, "\t"))
	for _, row := range r.Rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	fmt.Fprintln(t)
	fmt.Fprintln(t, "goal\tmeasured\twanted\t")
	for _, g := range r.Goals {
		verdict := ""
		if g.missed() {
			verdict = "missed"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", g.Name, digits(g.Value), g.bound(), verdict)
	}
	_ = t.Flush()
	fmt.Fprintf(w, "\nload average before %s, after %s, on %d CPUs\n", r.Machine.LoadBefore, r.Machine.LoadAfter, r.Machine.CPUs)
	line := []string{r.Scenario, "pass=" + map[bool]string{true: "yes", false: "no"}[r.Pass]}
	for _, g := range r.Goals {
		line = append(line, g.Name+"="+digits(g.Value))
	}
	for _, f := range r.Facts {
		line = append(line, f.Name+"="+digits(f.Value))
	}
	fmt.Fprintln(w, strings.Join(line, " "))
}

// digits writes a number as short as three digits allow, whole numbers whole.
func digits(f float64) string {
	switch {
	case f == float64(int64(f)):
		return strconv.FormatInt(int64(f), 10)
	case f >= 100 || f <= -100:
		return strconv.FormatFloat(f, 'f', 0, 64)
	case f >= 10 || f <= -10:
		return strconv.FormatFloat(f, 'f', 1, 64)
	case f >= 1 || f <= -1:
		return strconv.FormatFloat(f, 'f', 2, 64)
	}
	return strconv.FormatFloat(f, 'f', 3, 64)
}

// sample is the same figure from several repeats.
type sample []float64

func (s sample) median() float64 { return s.quantile(0.5) }

// quantile is the smallest value that at least a share q of all do not exceed.
func (s sample) quantile(q float64) float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	i := int(q*float64(len(sorted)) + 0.999999)
	return sorted[min(max(i-1, 0), len(sorted)-1)]
}

// spread is the median with the lowest and the highest value.
func (s sample) spread() string {
	if len(s) == 0 {
		return "–"
	}
	return fmt.Sprintf("%s (%s–%s)", digits(s.median()), digits(slices.Min(s)), digits(slices.Max(s)))
}

// sampleOf takes one figure of each reading.
func sampleOf(readings []reading, of func(reading) float64) sample {
	out := make(sample, len(readings))
	for i, r := range readings {
		out[i] = of(r)
	}
	return out
}
