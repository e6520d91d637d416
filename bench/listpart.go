package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/server/catalog"
	"github.com/towline-cd/towline/internal/server/listing"
	feed "github.com/towline-cd/towline/internal/server/stream"
)

// The routes of the child: everything, what twenty projects have, what a
// question allows, and the bare handler.
const (
	routeAll   = "/all"
	routeFew   = "/few"
	routeAsked = "/asked"
	routeBare  = "/bare"
)

// pageSize is how many rows the measured pages have.
const pageSize = 100

// listsPart serves lists and streams of applications that it makes up, and
// changes them as it is told.
type listsPart struct {
	setup setup
	apps  *listWorld
	cat   *catalog.Catalog
	hub   *feed.Hub
	stop  context.CancelFunc
	churn sync.WaitGroup
}

func newListsPart(s setup) (part, error) {
	return &listsPart{setup: s, apps: newListWorld(s.Apps)}, nil
}

func (p *listsPart) do(ctx context.Context, o order) (map[string]int64, error) {
	switch o.Do {
	case "serve":
		return p.serve(ctx)
	case "churn":
		ctx, p.stop = context.WithCancel(ctx)
		p.churn.Go(func() { _, _ = p.update(ctx, 24*time.Hour) })
		return nil, nil
	case "calm":
		p.stop()
		p.churn.Wait()
		return nil, nil
	case "updates":
		n, err := p.update(ctx, time.Duration(p.setup.Seconds)*time.Second)
		return map[string]int64{"updates": n}, err
	}
	return nil, fmt.Errorf("it cannot %s", o.Do)
}

// serve fills the catalog and listens.
func (p *listsPart) serve(ctx context.Context) (map[string]int64, error) {
	p.hub = feed.NewHub("bench", feed.Limits{PerCaller: 1000})
	p.cat = catalog.New(catalog.Options{Changed: p.hub.Changed})
	for _, app := range p.apps.all() {
		if err := p.cat.Upsert(app); err != nil {
			return nil, err
		}
	}
	handler, err := p.routes()
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return nil, errors.New("listening: no TCP address")
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	return map[string]int64{"port": int64(address.Port)}, nil
}

func (p *listsPart) routes() (http.Handler, error) {
	encode := func(app *v1alpha1.Application) ([]byte, error) { return json.Marshal(app) }
	mux := http.NewServeMux()
	for route, eye := range p.eyes() {
		lists := listing.New(listing.Options{
			Catalog: p.cat, Applications: p.apps, Namespace: listNamespace, Encode: encode, Cursor: p.hub.ID,
			Eye: func(*http.Request) catalog.Eye { return eye },
		})
		mux.HandleFunc("GET "+route+"/applications", lists.Applications)
		streams := feed.New(feed.Options{
			Hub: p.hub, Catalog: p.cat, Applications: p.apps, Namespace: listNamespace, Encode: encode,
			Who: func(*http.Request) feed.Caller {
				return feed.Caller{Name: "bench", Eye: func() catalog.Eye { return eye }, Still: func() bool { return true }}
			},
		})
		mux.HandleFunc("GET "+route+"/stream/applications", streams.WatchApplications)
		mux.HandleFunc("GET "+route+"/stream/events", streams.Events)
	}
	ready, err := p.ready()
	if err != nil {
		return nil, err
	}
	mux.HandleFunc("GET "+routeBare, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(ready)
	})
	return compressed(mux), nil
}

// eyes are the permissions that are measured.
func (p *listsPart) eyes() map[string]catalog.Eye {
	few := map[string]bool{}
	for i := range 20 {
		few[projectOf(i*perProject)] = true
	}
	return map[string]catalog.Eye{
		routeAll: {All: true},
		routeFew: {Projects: few},
		routeAsked: {Key: "asked", Projects: few, May: func(_, _, name string) bool {
			return strings.HasSuffix(name, "7")
		}},
	}
}

// ready is what the bare handler encodes: the rows of the first page.
func (p *listsPart) ready() (any, error) {
	page, err := p.cat.Find(catalog.Query{Eye: catalog.Eye{All: true}, Limit: pageSize})
	if err != nil {
		return nil, err
	}
	list := bareList{Items: make([]bareRow, len(page.Rows))}
	list.Metadata.ResourceVersion, list.Metadata.Continue = fmt.Sprint(page.Version), page.Continue
	for i, row := range page.Rows {
		if err := json.Unmarshal(row.JSON, &list.Items[i]); err != nil {
			return nil, fmt.Errorf("reading a row: %w", err)
		}
	}
	return list, nil
}

// update changes one application after the other, evenly; what is late is made
// up for.
func (p *listsPart) update(ctx context.Context, length time.Duration) (int64, error) {
	between, start := time.Second/time.Duration(p.setup.Rate), time.Now()
	for n := int64(0); ; n++ {
		due := time.Duration(n) * between
		if due >= length {
			return n, nil
		}
		select {
		case <-ctx.Done():
			return n, nil
		case <-time.After(time.Until(start.Add(due))):
		}
		if err := p.cat.Upsert(p.apps.change(int(n)+1, time.Now())); err != nil {
			return n, err
		}
	}
}

// compressed is what a server does for clients that take gzip. Streams stay as
// they are.
func compressed(next http.Handler) http.Handler {
	writers := sync.Pool{New: func() any {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		return w
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" || strings.Contains(r.URL.Path, "/stream/") {
			next.ServeHTTP(w, r)
			return
		}
		zip, ok := writers.Get().(*gzip.Writer)
		if !ok {
			http.Error(w, "no writer", http.StatusInternalServerError)
			return
		}
		defer writers.Put(zip)
		zip.Reset(w)
		w.Header().Set("Content-Encoding", "gzip")
		next.ServeHTTP(&zipped{ResponseWriter: w, zip: zip}, r)
		_ = zip.Close()
	})
}

// zipped is an answer that is compressed.
type zipped struct {
	http.ResponseWriter
	zip *gzip.Writer
}

// WriteHeader leaves out the length, which is another now.
func (z *zipped) WriteHeader(status int) {
	z.Header().Del("Content-Length")
	z.ResponseWriter.WriteHeader(status)
}

func (z *zipped) Write(data []byte) (int, error) {
	z.Header().Del("Content-Length")
	return z.zip.Write(data)
}
