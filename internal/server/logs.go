package server

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
)

// LogEntry is a line of a log.
type LogEntry struct {
	Content      string    `json:"content"`
	TimeStamp    time.Time `json:"timeStamp,omitzero"`
	TimeStampStr string    `json:"timeStampStr,omitempty"`
	PodName      string    `json:"podName,omitempty"`
	Last         bool      `json:"last"`
}

const (
	// mostPods is how many pods one request reads.
	mostPods = 30
	// mostLine is how long a line may be; what is longer is cut.
	mostLine = 64 << 10
	// usualRecheck is how often it is looked whether a stream may go on.
	usualRecheck = 5 * time.Second
)

// logQuery says what of the logs is wanted.
type logQuery struct {
	options corev1.PodLogOptions
	filter  string
	inverse bool
	folded  bool
	until   time.Time
}

func readLogQuery(req *Request) (logQuery, error) {
	var q logQuery
	o := &q.options
	o.Container, o.Follow, o.Previous, o.Timestamps = req.Text("container"), req.Flag("follow"), req.Flag("previous"), true
	for name, into := range map[string]**int64{"sinceSeconds": &o.SinceSeconds, "tailLines": &o.TailLines} {
		n, err := req.Number(name)
		if err != nil {
			return q, err
		}
		if n > 0 {
			*into = &n
		}
	}
	if text := req.Text("sinceTime"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return q, badRequest("sinceTime is not a time like 2026-01-02T15:04:05Z")
		}
		since := metav1.NewTime(at)
		o.SinceTime, o.SinceSeconds = &since, nil
	}
	if text := req.Text("untilTime"); text != "" && text != "None" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return q, badRequest("untilTime is not a time like 2026-01-02T15:04:05Z")
		}
		q.until = at
	}
	q.filter = req.Text("filter")
	q.filter, q.inverse = strings.CutPrefix(q.filter, "!")
	if q.folded = req.Text("matchCase") != "true"; q.folded {
		q.filter = strings.ToLower(q.filter)
	}
	return q, nil
}

// takes says whether a line is wanted.
func (q logQuery) takes(e LogEntry) bool {
	if !q.until.IsZero() && e.TimeStamp.After(q.until) {
		return false
	}
	if q.filter == "" {
		return true
	}
	text := e.Content
	if q.folded {
		text = strings.ToLower(text)
	}
	return strings.Contains(text, q.filter) != q.inverse
}

// logs reads the logs of the pods that a request is about.
func (s *Server) logs(req *Request) (any, error) {
	if s.Reader == nil {
		return nil, absent("logs")
	}
	q, err := readLogQuery(req)
	if err != nil {
		return nil, err
	}
	below := object.Key{
		Group: req.Text("group"), Kind: req.Text("kind"), Namespace: req.Text("namespace"), Name: req.Text("resourceName"),
	}
	pod := cmp.Or(req.Param("podName"), req.Text("podName"))
	pods, err := s.Reader.PodsOf(req, req.app(), below, pod)
	if err != nil {
		return nil, err
	}
	if len(pods) == 0 {
		return nil, notFound("there are no pods of which a log could be read")
	}
	if len(pods) > mostPods {
		return nil, badRequest(fmt.Sprintf("that is %d pods, and the logs of at most %d are read at once; name one", len(pods), mostPods))
	}
	return &logStream{server: s, app: req.app(), pods: pods, query: q}, nil
}

// logStream tells the lines of several pods.
type logStream struct {
	server *Server
	app    *v1alpha1.Application
	pods   []object.Key
	query  logQuery
}

// Stream tells the lines: in the order of their times where they end, and as they come where they are followed.
func (l *logStream) Stream(req *Request, tell func(any) error) error {
	ctx, cancel := context.WithCancelCause(req.Context)
	defer cancel(nil)
	lines := make(chan LogEntry, 256)
	var reading sync.WaitGroup
	problems := make([]error, len(l.pods))
	for i, pod := range l.pods {
		reading.Go(func() { problems[i] = l.read(ctx, pod, lines) })
	}
	go func() {
		reading.Wait()
		close(lines)
	}()
	// Whoever reads must be read to the end.
	defer func() {
		cancel(nil)
		for range lines {
		}
	}()
	stop := req.watchRight(ctx, cancel)
	defer stop()
	if err := l.pass(ctx, lines, tell); err != nil {
		return err
	}
	if i := slices.IndexFunc(problems, func(err error) bool { return err != nil }); i >= 0 && len(l.pods) == 1 {
		return problems[i]
	}
	return tell(LogEntry{Last: true, TimeStamp: l.server.Now().UTC(), TimeStampStr: l.server.Now().UTC().Format(time.RFC3339Nano)})
}

func (l *logStream) pass(ctx context.Context, lines <-chan LogEntry, tell func(any) error) error {
	var kept []LogEntry
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e, open := <-lines:
			switch {
			case open && l.query.options.Follow:
				if err := tell(e); err != nil {
					return err
				}
				continue
			case open:
				if kept = append(kept, e); len(kept) <= mostLines {
					continue
				}
				return badRequest("that is too much; ask for fewer lines with tailLines or sinceSeconds")
			}
			return inOrder(kept, tell)
		}
	}
}

// inOrder tells lines by their times.
func inOrder(lines []LogEntry, tell func(any) error) error {
	slices.SortStableFunc(lines, func(a, b LogEntry) int { return a.TimeStamp.Compare(b.TimeStamp) })
	for _, e := range lines {
		if err := tell(e); err != nil {
			return err
		}
	}
	return nil
}

// mostLines bounds what is held to be put in order.
const mostLines = 100_000

// read passes on the lines of one pod.
func (l *logStream) read(ctx context.Context, pod object.Key, into chan<- LogEntry) error {
	options := l.query.options
	stream, err := l.server.Reader.Logs(ctx, l.app, pod, &options)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	defer context.AfterFunc(ctx, func() { _ = stream.Close() })()
	r := bufio.NewReaderSize(stream, mostLine)
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 {
			if e := entryOf(pod.Name, string(line)); l.query.takes(e) {
				select {
				case into <- e:
				case <-ctx.Done():
					return nil
				}
			}
		}
		switch {
		case err == nil || err == bufio.ErrBufferFull: //nolint:errorlint // bufio returns it as it is
		case err == io.EOF || ctx.Err() != nil:
			return nil
		default:
			return err
		}
	}
}

// entryOf takes the time off a line.
func entryOf(pod, line string) LogEntry {
	line = strings.TrimRight(line, "\r\n")
	stamp, rest, ok := strings.Cut(line, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return LogEntry{Content: strings.ToValidUTF8(line, "\ufffd"), PodName: pod}
	}
	if !ok {
		rest = ""
	}
	return LogEntry{Content: strings.ToValidUTF8(rest, "\ufffd"), TimeStamp: at, TimeStampStr: stamp, PodName: pod}
}

// watchRight ends a stream when its caller may not read it any more.
func (r *Request) watchRight(ctx context.Context, end context.CancelCauseFunc) (stop func()) {
	timer := time.NewTicker(r.server.recheck)
	done := make(chan struct{})
	go func() {
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-done:
				return
			case <-timer.C:
				if err := r.still(); err != nil {
					end(err)
					return
				}
			}
		}
	}()
	return func() { close(done) }
}

// still asks again who the caller is and what they may do.
func (r *Request) still() error {
	s := r.server
	// The request itself is in other hands meanwhile.
	again := *r
	if s.Verifier.Check(r.Context, r.Caller) != nil || !r.Caller.Expires.IsZero() && s.Now().After(r.Caller.Expires) {
		return errNoSession
	}
	return s.authorise(&again)
}
