package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// growth is how many times as many applications the large fleet has.
const growth = 5

// runList measures pages of applications, of a fleet and of one that is five
// times as large, against a handler that encodes a page of ready structs; and
// then how changes reach those who listen. Both fleets change all the while.
func runList(ctx context.Context, b *bench) (err error) {
	l := &lists{bench: b}
	for _, n := range []int{b.scale.apps, growth * b.scale.apps} {
		f, err := b.fleet(ctx, n)
		if f != nil {
			defer func() { err = errors.Join(err, f.dismiss()) }()
		}
		if err != nil {
			return err
		}
		l.fleets = append(l.fleets, f)
		b.logf("%d applications: %.1fs to take in, %.1f MiB", n, f.filled.Wall, f.heap())
	}
	if err := l.pages(ctx); err != nil {
		return err
	}
	l.reportPages()
	for _, path := range []string{"stream/applications", "stream/events"} {
		if err := l.streams(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// fleet is a child that serves the lists of so many applications.
type fleet struct {
	*worker
	apps           int
	base           string
	empty, filled  reading
	rest           reading
	client         *http.Client
	timings, sizes map[string]sample
}

func (f *fleet) heap() float64 { return f.rest.Memory.Heap - f.empty.Memory.Heap }

func (b *bench) fleet(ctx context.Context, apps int) (*fleet, error) {
	w, err := b.hire(ctx, "lists", setup{Apps: apps, Rate: b.scale.rate, Seconds: b.scale.seconds})
	if err != nil {
		return nil, err
	}
	f := &fleet{worker: w, apps: apps, timings: map[string]sample{}, sizes: map[string]sample{}}
	// What is read is what was sent: the transport must not unpack it.
	f.client = &http.Client{Transport: &http.Transport{DisableCompression: true}}
	if f.empty, err = w.tell(order{Do: "rest"}); err != nil {
		return f, err
	}
	if f.filled, err = w.tell(order{Do: "serve"}); err != nil {
		return f, err
	}
	f.base = fmt.Sprintf("http://127.0.0.1:%d", f.filled.Counts["port"])
	f.rest, err = w.tell(order{Do: "rest"})
	return f, err
}

// lists is one run.
type lists struct {
	*bench
	fleets []*fleet
}

// allFacets are the counts that a page of the UI shows.
const allFacets = "&facets=project,health,sync,cluster,namespace,label"

// asks are the requests that are measured, by what they are; each time another.
// They are about what both fleets have, apps being the number of the smaller one,
// so that the answers are equally long.
var asks = []struct {
	name string
	path func(i, apps int) string
}{
	{"bare", func(int, int) string { return routeBare }},
	{"page", func(int, int) string { return routeAll + "/applications?limit=100" + allFacets }},
	{"filter", func(i, apps int) string {
		return routeAll + "/applications?limit=100" + allFacets + "&" + []string{
			"health=Degraded", "project=" + projectOf(i*37%apps), "cluster=" + url.QueryEscape(fmt.Sprintf("https://10.0.%d.1:6443", i%50)),
			"selector=" + url.QueryEscape("env=prod,team!="+projectOf(i%apps)), "sync=OutOfSync&autosync=true", "health=Healthy",
		}[i%6]
	}},
	{"search", func(i, apps int) string {
		// No word twice in a row: a number, a part of a name, of a project, of a label.
		return routeAll + "/applications?limit=100" + allFacets + "&search=" + url.QueryEscape([]string{
			fmt.Sprintf("%05d", i*131%apps), fmt.Sprintf("%s-%s", listNames[i%10], []string{"eu", "us", "asia"}[i%3]),
			projectOf(i * 17 % apps), listNames[i%10] + " prod", fmt.Sprintf("deploy-%d", i%5), fmt.Sprintf("-%03d", i%min(100, apps/100)),
		}[i%6])
	}},
	{"sort", func(i, _ int) string {
		return routeAll + "/applications?limit=100" + allFacets + "&sort=" +
			[]string{"-lastSync", "-health", "created", "-sync", "-name", "lastSync", "-created"}[i%7]
	}},
	{"few", func(i, apps int) string {
		return routeFew + "/applications?limit=100" + allFacets + []string{
			"", "&health=Degraded", "&search=" + listNames[i%10], "&sort=-lastSync", "&project=" + projectOf(i*100%apps),
		}[i%5]
	}},
	{"asked", func(i, _ int) string {
		return routeAsked + "/applications?limit=100" + allFacets + []string{
			"", "&health=Degraded", "&search=" + listNames[i%10], "&sort=-health",
		}[i%4]
	}},
}

// The two ways to send an answer.
const (
	plain = ""
	zip   = "gzip"
)

// pages asks for everything in turn, so that what others do on the machine falls
// on all alike.
func (l *lists) pages(ctx context.Context) error {
	for _, f := range l.fleets {
		if _, err := f.tell(order{Do: "churn"}); err != nil {
			return err
		}
	}
	warm := max(l.scale.times/10, 10)
	for i := range l.scale.times + warm {
		for _, f := range l.fleets {
			if err := f.round(ctx, i, l.scale.apps, i >= warm); err != nil {
				return err
			}
		}
	}
	for _, f := range l.fleets {
		if _, err := f.tell(order{Do: "calm"}); err != nil {
			return err
		}
		if err := l.verify(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// round asks for each thing once, plain and compressed.
func (f *fleet) round(ctx context.Context, i, apps int, counts bool) error {
	for _, ask := range asks {
		for _, encoding := range []string{plain, zip} {
			took, size, err := f.get(ctx, ask.path(i, apps), encoding)
			if err != nil {
				return err
			}
			if counts {
				f.timings[ask.name+encoding] = append(f.timings[ask.name+encoding], took)
				f.sizes[ask.name+encoding] = append(f.sizes[ask.name+encoding], size)
			}
		}
	}
	return nil
}

// get asks once: milliseconds and KiB.
func (f *fleet) get(ctx context.Context, path, encoding string) (took, size float64, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.base+path, nil)
	if err != nil {
		return 0, 0, err
	}
	if encoding != plain {
		r.Header.Set("Accept-Encoding", encoding)
	}
	start := time.Now()
	answer, err := f.client.Do(r)
	if err != nil {
		return 0, 0, fmt.Errorf("asking for %s: %w", path, err)
	}
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	took = float64(time.Since(start)) / float64(time.Millisecond)
	if err != nil || answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Encoding") != encoding {
		return 0, 0, fmt.Errorf("asking for %s: %s, %q (%w)", path, answer.Status, answer.Header.Get("Content-Encoding"), err)
	}
	return took, float64(n) / 1024, nil
}

// verify looks at one answer of each kind: figures of wrong answers are worth
// nothing.
func (l *lists) verify(ctx context.Context, f *fleet) error {
	var first struct {
		Items  []json.RawMessage `json:"items"`
		Total  int               `json:"total"`
		Facets []json.RawMessage `json:"facets"`
	}
	for path, want := range map[string]int{
		routeAll + "/applications?limit=100" + allFacets:                  f.apps,
		routeFew + "/applications?limit=100" + allFacets:                  min(20*perProject, f.apps),
		routeAll + "/applications?limit=100&search=00007" + allFacets:     1,
		routeAll + "/applications?limit=100&project=team-001" + allFacets: perProject,
	} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.base+path, nil)
		if err != nil {
			return err
		}
		answer, err := f.client.Do(r)
		if err != nil {
			return fmt.Errorf("asking for %s: %w", path, err)
		}
		err = json.NewDecoder(answer.Body).Decode(&first)
		_ = answer.Body.Close()
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		l.report.assert(first.Total == want && len(first.Items) == min(want, pageSize) && len(first.Facets) == 6,
			"%s has %d of %d applications and %d counts, want %d", path, len(first.Items), first.Total, len(first.Facets), want)
	}
	return nil
}

func (l *lists) reportPages() {
	r := l.report
	r.columns("what", "applications", "p50 ms", "p99 ms", "worst ms", "KiB", "gzip p50 ms", "gzip p99 ms", "gzip KiB")
	for _, ask := range asks {
		for _, f := range l.fleets {
			t, z := f.timings[ask.name], f.timings[ask.name+zip]
			r.row(ask.name, f.apps, t.median(), t.quantile(0.99), t.quantile(1), f.sizes[ask.name].median(),
				z.median(), z.quantile(0.99), f.sizes[ask.name+zip].quantile(1))
		}
	}
	small, large := l.fleets[0], l.fleets[1]
	for _, ask := range asks[1:] {
		r.atMost(ask.name+"_vs_bare", large.timings[ask.name].median()/large.timings["bare"].median(), 3)
		r.atMost(ask.name+"_growth", large.timings[ask.name].median()/small.timings[ask.name].median(), 1.3)
	}
	for _, ask := range asks[1:] {
		r.note(ask.name+"_p99_ms", large.timings[ask.name].quantile(0.99))
		r.note(ask.name+"_gzip_p99_ms", large.timings[ask.name+zip].quantile(0.99))
		r.note(ask.name+"_gzip_growth", large.timings[ask.name+zip].median()/small.timings[ask.name+zip].median())
	}
	r.atMost("page_gzip_kib", large.sizes["page"+zip].quantile(1), 30)
	r.note("bare_p50_ms", large.timings["bare"].median())
	r.note("bare_p99_ms", large.timings["bare"].quantile(0.99))
	r.note("heap_kib_per_app", large.heap()*1024/float64(large.apps))
	r.note("fill_us_per_app", large.filled.Wall*1e6/float64(large.apps))
	r.note("apps", float64(large.apps))
}
