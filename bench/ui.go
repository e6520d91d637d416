package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/towline-cd/towline/web"
)

// The goals of the pages.
const (
	mostScript    = 350   // KB of JavaScript for the first page, compressed
	mostTask      = 50.0  // ms that the main thread may be busy in one go after a page has loaded
	mostFrame     = 8.0   // ms of script and layout in a frame while a picture is moved
	mostNodes     = 5_000 // of a page, however much there is to show
	mostKeystroke = 50.0  // ms from a key to what it paints
	wishedPaint   = 1_000 // ms until something meaningful is painted; printed, and decides nothing
)

// uiFigures is what the browser's script found, from chromium's own trace.
type uiFigures struct {
	ScriptKB   float64 `json:"scriptKB"`
	FirstPaint float64 `json:"firstPaint"`
	// MeaningfulPaint is when the first application of the list was painted.
	MeaningfulPaint float64 `json:"meaningfulPaint"`
	// Views are what was looked at, by name.
	Views []uiView `json:"views"`
}

// uiView is one thing that was looked at.
type uiView struct {
	Name string `json:"name"`
	// LongTasks are tasks of more than mostTask after the page had loaded, and LongestTask the longest of all then.
	LongTasks   int     `json:"longTasks"`
	LongestTask float64 `json:"longestTask"`
	LoadTask    float64 `json:"loadTask"`
	// Frame is script and layout of a frame while moving: the 95th of a hundred, and the worst.
	Frames     int     `json:"frames"`
	Frame95    float64 `json:"frame95"`
	FrameWorst float64 `json:"frameWorst"`
	// Keystroke is from a key to the paint after it: median and worst.
	Keys           int     `json:"keys"`
	Keystroke      float64 `json:"keystroke"`
	KeystrokeWorst float64 `json:"keystrokeWorst"`
	Nodes          int     `json:"nodes"`
}

// runUI opens the real pages in chromium over a fleet that is made up, scrolls,
// types and pans, and reads what chromium itself traced.
func runUI(ctx context.Context, b *bench) error {
	if _, err := fs.Stat(web.Files(), "assets"); err != nil {
		return errors.New("the pages are not built into this program: make ui, and then again")
	}
	small, large := b.scale.objects/14, b.scale.objects
	base, change, err := newUIWorld(b.scale.apps, small, large).serve(ctx)
	if err != nil {
		return err
	}
	stop := b.changing(ctx, change)
	defer stop()
	b.logf("%d applications, graphs of %d and %d objects, at %s", b.scale.apps, small, large, base)
	out := filepath.Join(b.out, "ui-browser.json")
	cmd := exec.CommandContext(ctx, "npm", "run", "--silent", "bench")
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(b.root, "web"), b.progress, b.progress
	cmd.Env = append(os.Environ(), "BENCH_URL="+base, "BENCH_OUT="+out, "BENCH_GRAPHS="+graphName(small)+","+graphName(large))
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("measuring in the browser: %w", err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	var found uiFigures
	if err := json.Unmarshal(text, &found); err != nil {
		return fmt.Errorf("reading what the browser found: %w", err)
	}
	b.reportUI(found)
	return nil
}

// changing has applications change all the while, as in a fleet.
func (b *bench) changing(ctx context.Context, change func(int) error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second / time.Duration(max(b.scale.rate, 1)))
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = change(n)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func (b *bench) reportUI(f uiFigures) {
	r := b.report
	r.columns("view", "DOM nodes", "long tasks", "longest ms", "while loading ms",
		"frames", "frame p95 ms", "frame worst ms", "key ms", "key worst ms")
	for _, v := range f.Views {
		r.row(v.Name, v.Nodes, v.LongTasks, v.LongestTask, v.LoadTask, v.Frames, v.Frame95, v.FrameWorst, v.Keystroke, v.KeystrokeWorst)
		r.assert(v.Nodes > 0, "%s showed nothing", v.Name)
		r.atMost(v.Name+".dom_nodes", float64(v.Nodes), mostNodes)
		r.atMost(v.Name+".longest_task_ms", v.LongestTask, mostTask)
		if v.Frames > 0 {
			r.atMost(v.Name+".frame_p95_ms", v.Frame95, mostFrame)
		}
		if v.Keys > 0 {
			r.atMost(v.Name+".keystroke_ms", v.Keystroke, mostKeystroke)
		}
	}
	r.assert(len(f.Views) > 0, "the browser looked at nothing")
	r.atMost("script_kb", f.ScriptKB, mostScript)
	r.note("first_paint_ms", f.FirstPaint)
	r.note("first_meaningful_paint_ms", f.MeaningfulPaint)
	r.note("first_meaningful_paint_wish_ms", wishedPaint)
}
