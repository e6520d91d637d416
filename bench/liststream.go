package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// listeners is how many streams are open at once.
const listeners = 100

// streams has many clients listen while applications change, and looks at what
// each of them got.
func (l *lists) streams(ctx context.Context, path string) error {
	f := l.fleets[0]
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	name := strings.ReplaceAll(strings.TrimPrefix(path, "stream/"), "/", "_")
	ears := make([]*ear, listeners)
	var listening sync.WaitGroup
	for i := range ears {
		e, err := f.listen(ctx, path)
		if err != nil {
			return err
		}
		ears[i] = e
		listening.Go(e.hear)
	}
	told, err := f.tell(order{Do: "updates"})
	if err != nil {
		return err
	}
	updates := int(told.Counts["updates"])
	l.logf("%s: %d updates to %d clients, %.2fs CPU", path, updates, listeners, told.CPU)
	arrived := settle(ctx, ears, updates)
	cancel()
	listening.Wait()
	l.report.assert(updates >= l.scale.rate*l.scale.seconds*9/10, "only %d updates were made", updates)
	l.reportStreams(name, ears, updates, arrived, told)
	return nil
}

// settle waits until every client has heard of the last update.
func settle(ctx context.Context, ears []*ear, updates int) bool {
	deadline := time.After(10 * time.Second)
	for _, e := range ears {
		for e.last() < updates {
			select {
			case <-ctx.Done():
				return false
			case <-deadline:
				return false
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	return true
}

// ear is one client.
type ear struct {
	body   io.ReadCloser
	reader *bufio.Reader

	mu sync.Mutex
	// heard are the numbers of the updates, delays how long each took, in
	// milliseconds.
	heard  []int
	delays sample
	err    error
}

func (f *fleet) listen(ctx context.Context, path string) (*ear, error) {
	// Changes from here on: nobody wants to read the fleet first.
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.base+routeAll+"/"+path+"?resourceVersion=1000000000", nil)
	if err != nil {
		return nil, err
	}
	answer, err := f.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("listening to %s: %w", path, err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("listening to %s: %s", path, answer.Status), answer.Body.Close())
	}
	return &ear{body: answer.Body, reader: bufio.NewReaderSize(answer.Body, 64<<10)}, nil
}

var sentMark = []byte(`"` + sentLabel + `":"`)

// hear reads until the stream ends. It looks for the mark alone: the clients
// share the machine with the server, and reading JSON is not what is measured.
func (e *ear) hear() {
	defer e.body.Close()
	for {
		line, err := e.reader.ReadSlice('\n')
		now := time.Now()
		if err != nil {
			e.mu.Lock()
			e.err = err
			e.mu.Unlock()
			return
		}
		_, rest, found := bytes.Cut(line, sentMark)
		if !found {
			continue
		}
		mark, _, _ := bytes.Cut(rest, []byte(`"`))
		sent, number, _ := strings.Cut(string(mark), "-")
		nanos, err := unlettered(sent)
		n, err2 := unlettered(number)
		if err != nil || err2 != nil {
			continue
		}
		e.mu.Lock()
		e.heard = append(e.heard, int(n))
		e.delays = append(e.delays, float64(now.UnixNano()-nanos)/float64(time.Millisecond))
		e.mu.Unlock()
	}
}

func (e *ear) last() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.heard) == 0 {
		return 0
	}
	return e.heard[len(e.heard)-1]
}

// reportStreams compares what each client knows in the end with the truth.
func (l *lists) reportStreams(name string, ears []*ear, updates int, arrived bool, told reading) {
	truth := map[int]int{}
	for n := 1; n <= updates; n++ {
		truth[changed(n, l.fleets[0].apps)] = n
	}
	var delays sample
	wrong, missed := 0, 0
	for _, e := range ears {
		known := map[int]int{}
		for _, n := range e.heard {
			known[changed(n, l.fleets[0].apps)] = n
		}
		for app, n := range truth {
			if known[app] != n {
				wrong++
			}
		}
		missed += updates - len(e.heard)
		delays = append(delays, e.delays...)
	}
	r := l.report
	r.assert(arrived || wrong > 0, "the clients did not come to the end")
	r.row(name+" delay", fmt.Sprintf("%d × %d", listeners, updates),
		delays.median(), delays.quantile(0.99), delays.quantile(1), "", "", "", "")
	r.atMost(name+"_wrong_states", float64(wrong), 0)
	r.atMost(name+"_updates_not_heard", float64(missed), 0)
	r.note(name+"_p99_ms", delays.quantile(0.99))
	r.note(name+"_cpu_us_per_message", told.CPU*1e6/float64(max(updates*listeners, 1)))
}
