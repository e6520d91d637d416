package stream_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/towline-cd/towline/internal/server/catalog"
	"github.com/towline-cd/towline/internal/server/stream"
)

func TestApplicationsAsTheyChange(t *testing.T) {
	w := newWorld(t, tuning{})
	w.put(t, "web", "shop", "1")
	w.put(t, "api", "shop", "2")
	l := w.listen(t, "/applications")
	expect(t, l.header.Get("Content-Type"), "application/json")
	expect(t, l.message(), "ADDED api shop 2")
	expect(t, l.message(), "ADDED web shop 1")
	w.put(t, "web", "shop", "3")
	expect(t, l.message(), "MODIFIED web shop 3")
	w.put(t, "db", "data", "4")
	expect(t, l.message(), "ADDED db data 4")
	w.remove("api")
	expect(t, l.message(), "DELETED api shop 2")
}

func TestApplicationsAsServerSentEvents(t *testing.T) {
	w := newWorld(t, tuning{})
	w.put(t, "web", "shop", "1")
	l := w.listen(t, "/applications", "Accept", "text/event-stream")
	expect(t, l.header.Get("Content-Type"), "text/event-stream")
	line := l.line()
	if !strings.HasPrefix(line, `data: {"result":{"type":"ADDED"`) {
		t.Errorf("the line is %q", line)
	}
}

func TestFiltersOfArgoCD(t *testing.T) {
	w := newWorld(t, tuning{})
	w.put(t, "web", "shop", "1")
	w.put(t, "db", "data", "2")
	for path, want := range map[string]string{
		"/applications?name=db":                                                    "ADDED db data 2",
		"/applications?projects=data":                                              "ADDED db data 2",
		"/applications?selector=version%3D1":                                       "ADDED web shop 1",
		"/applications?selector=version!%3D1":                                      "ADDED db data 2",
		"/applications?name=db&resourceVersion=9&appNamespace=argocd":              "ADDED db data 2",
		"/applications?name=db&fields=result.type,result.application.metadata":     "ADDED db  2",
		"/applications?name=db&fields=result.application.metadata.name":            " db  ",
		"/applications?name=db&fields=-result.application.metadata.labels":         "ADDED db data ",
		"/applications?name=db&fields=result.type":                                 "ADDED   ",
		"/applications?name=db&fields=-result.application.spec,result.application": "ADDED   ",
	} {
		t.Run(path, func(t *testing.T) { expect(t, w.listen(t, path).message(), want) })
	}
	if l := w.listen(t, "/applications?selector=a%3D%3D%3Db"); l.status != http.StatusBadRequest {
		t.Errorf("a selector that is none is answered with %d", l.status)
	}
}

// With the version of the list that it has read, a client hears of what happened
// since: also of what is gone.
func TestApplicationsSinceAVersion(t *testing.T) {
	w := newWorld(t, tuning{})
	w.put(t, "web", "shop", "1")
	w.put(t, "api", "shop", "2")
	w.put(t, "db", "data", "3")
	w.put(t, "web", "shop", "4")
	w.put(t, "gone", "shop", "5")
	w.remove("gone")
	w.remove("api")
	l := w.listen(t, "/applications?resourceVersion=3")
	expect(t, l.message(), "MODIFIED web shop 4")
	expect(t, l.message(), "DELETED api shop 2")
	w.put(t, "db", "data", "6")
	expect(t, l.message(), "MODIFIED db data 6")
}

func TestApplicationsSinceAVersionThatIsForgotten(t *testing.T) {
	w := newWorld(t, tuning{limits: stream.Limits{Ring: 1}})
	w.put(t, "web", "shop", "1")
	w.put(t, "api", "shop", "2")
	w.put(t, "db", "data", "3")
	l := w.listen(t, "/applications?resourceVersion=1")
	expect(t, l.message(), "ADDED api shop 2")
	expect(t, l.message(), "ADDED db data 3")
}

// Nobody hears of what they may not see; what moves out of sight is gone, and
// what moves into it is new.
func TestPermissionsOfAStream(t *testing.T) {
	for name, eye := range map[string]catalog.Eye{
		"projects":   {Projects: map[string]bool{"shop": true}},
		"a question": {May: func(project, _, _ string) bool { return project == "shop" }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tuning{})
			w.look(eye)
			w.put(t, "web", "shop", "1")
			w.put(t, "hidden", "data", "2")
			l, e := w.listen(t, "/applications"), w.listen(t, "/events")
			expect(t, l.message(), "ADDED web shop 1")
			w.put(t, "hidden", "data", "3")
			w.put(t, "web", "data", "4")
			expect(t, l.message(), "DELETED web shop 1")
			expect(t, e.event(), "application epoch-4 DELETED web 1")
			w.put(t, "web", "data", "5")
			w.remove("hidden")
			w.put(t, "web", "shop", "6")
			expect(t, l.message(), "ADDED web shop 6")
			expect(t, e.event(), "application epoch-7 ADDED web 6")
		})
	}
}

// A stream ends when the right to listen ends, whether anything happens or not.
func TestAStreamEndsWithItsToken(t *testing.T) {
	for _, path := range []string{"/applications", "/events", "/applications/web/resource-tree"} {
		t.Run(path, func(t *testing.T) {
			w := newWorld(t, tuning{})
			w.put(t, "web", "shop", "1")
			l := w.listen(t, path)
			if path != "/events" {
				l.line()
			}
			w.revoked.Store(true)
			expect(t, l.line(), "")
			// The handler returns a moment after the client sees the end.
			for end := time.Now().Add(5 * time.Second); w.hub.Open() > 0; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%d streams are open", w.hub.Open())
				}
			}
		})
	}
}

func TestAChangeOfThePolicy(t *testing.T) {
	w := newWorld(t, tuning{})
	policy := func(key string, projects ...string) {
		w.look(catalog.Eye{Key: key, May: func(project, _, _ string) bool { return slices.Contains(projects, project) }})
		w.hub.Recheck()
	}
	policy("1", "shop", "data")
	w.put(t, "cache", "data", "1")
	w.put(t, "web", "shop", "2")
	l, e := w.listen(t, "/applications"), w.listen(t, "/events")
	expect(t, l.message(), "ADDED cache data 1")
	expect(t, l.message(), "ADDED web shop 2")
	policy("2", "data")
	expect(t, e.event(), "reset epoch-2")
	expect(t, l.message(), "DELETED web  ")
	w.put(t, "web", "shop", "3")
	w.put(t, "db", "data", "4")
	expect(t, l.message(), "ADDED db data 4")
	expect(t, e.event(), "application epoch-4 ADDED db 4")
	policy("3", "shop", "data")
	expect(t, e.event(), "reset epoch-4")
	expect(t, l.message(), "ADDED web shop 3")
	// Another policy that says the same changes nothing for anybody.
	policy("4", "shop", "data")
	w.put(t, "web", "shop", "5")
	expect(t, l.message(), "MODIFIED web shop 5")
	expect(t, e.event(), "application epoch-5 MODIFIED web 5")
}

// Whoever may see nothing any more is not kept: not by a stream of all, nor by
// one that is about a part of it.
func TestAStreamEndsWithItsRights(t *testing.T) {
	for _, path := range []string{"/applications", "/applications?projects=shop", "/applications?name=web", "/events", "/applications/web/resource-tree"} {
		t.Run(path, func(t *testing.T) {
			w := newWorld(t, tuning{})
			w.look(catalog.Eye{Key: "1", May: func(project, _, _ string) bool { return project == "shop" }})
			w.put(t, "web", "shop", "1")
			w.put(t, "db", "data", "2")
			l := w.listen(t, path)
			if path != "/events" {
				l.line()
			}
			w.look(catalog.Eye{Key: "2", May: func(project, _, _ string) bool { return project == "data" && strings.Contains(path, "?") }})
			w.hub.Recheck()
			for text := l.line(); text != ""; text = l.line() {
				if strings.Contains(text, "db") {
					t.Errorf("it tells %q", text)
				}
			}
		})
	}
}

func TestEventsGoOnWhereTheyEnded(t *testing.T) {
	w := newWorld(t, tuning{limits: stream.Limits{Ring: 3}})
	w.put(t, "web", "shop", "1")
	first := w.listen(t, "/events")
	w.put(t, "web", "shop", "2")
	expect(t, first.event(), "application epoch-2 MODIFIED web 2")
	first.body.Close()
	w.put(t, "api", "shop", "3")
	w.put(t, "web", "shop", "4")
	w.put(t, "web", "shop", "5")
	again := w.listen(t, "/events", "Last-Event-ID", "epoch-2")
	expect(t, again.event(), "application epoch-3 ADDED api 3")
	expect(t, again.event(), "application epoch-5 MODIFIED web 5")
	w.remove("api")
	expect(t, again.event(), "application epoch-6 DELETED api 3")

	expect(t, w.listen(t, "/events?since=epoch-5").event(), "application epoch-6 DELETED api 3")
	for _, old := range []string{"epoch-1", "another-6", "nonsense"} {
		l := w.listen(t, "/events", "Last-Event-ID", old)
		expect(t, l.event(), "reset epoch-6")
	}
}

// A row that shows the same is not worth an event, while watchers of whole
// applications hear of it.
func TestEventsAreAboutWhatIsShown(t *testing.T) {
	w := newWorld(t, tuning{})
	w.put(t, "web", "shop", "1")
	l, e := w.listen(t, "/applications"), w.listen(t, "/events")
	expect(t, l.message(), "ADDED web shop 1")
	w.put(t, "web", "shop", "1")
	w.put(t, "web", "shop", "2")
	expect(t, l.message(), "MODIFIED web shop 1")
	expect(t, l.message(), "MODIFIED web shop 2")
	expect(t, e.event(), "application epoch-3 MODIFIED web 2")
	open := w.listen(t, "/events?tree=web")
	expect(t, open.event(), `tree web {"nodes":[]}`)
	w.put(t, "web", "shop", "2")
	expect(t, open.event(), "application epoch-4 MODIFIED web 2")
}

func TestTreesAndTopics(t *testing.T) {
	w := newWorld(t, tuning{})
	w.put(t, "web", "shop", "1")
	l := w.listen(t, "/applications/web/resource-tree")
	expect(t, l.line(), `{"result":{"nodes":[]}}`)
	e := w.listen(t, "/events?tree=web&topic=projects")
	expect(t, e.event(), "topic projects")
	expect(t, e.event(), `tree web {"nodes":[]}`)
	key := catalog.Key{Namespace: "argocd", Name: "web"}
	w.hub.Touch(key)
	w.hub.Touch(catalog.Key{Namespace: "argocd", Name: "other"})
	w.mu.Lock()
	w.tree = `{"nodes":[1]}`
	w.mu.Unlock()
	w.hub.Touch(key)
	expect(t, l.line(), `{"result":{"nodes":[1]}}`)
	expect(t, e.event(), `tree web {"nodes":[1]}`)
	w.hub.Notify("clusters")
	w.hub.Notify("projects")
	expect(t, e.event(), "topic projects")
	w.remove("web")
	expect(t, l.line(), "")

	if l := w.listen(t, "/events?topic=secrets"); l.status != http.StatusForbidden {
		t.Errorf("a topic that may not be heard is answered with %d", l.status)
	}
}

// What is not there and what may not be seen are the same.
func TestATreeThatMayNotBeSeen(t *testing.T) {
	w := newWorld(t, tuning{})
	w.put(t, "hidden", "data", "1")
	w.look(catalog.Eye{Projects: map[string]bool{"shop": true}})
	var answers []string
	for _, name := range []string{"hidden", "absent"} {
		l := w.listen(t, "/applications/"+name+"/resource-tree")
		text, err := io.ReadAll(l.reader)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, fmt.Sprint(l.status, l.header.Get("Content-Type"), string(text)))
	}
	if answers[0] != answers[1] || !strings.HasPrefix(answers[0], "403") {
		t.Errorf("the answers are %q", answers)
	}
}

func TestBoundsOfStreams(t *testing.T) {
	w := newWorld(t, tuning{limits: stream.Limits{Clients: 3, PerCaller: 2}})
	w.listen(t, "/events", "Caller", "bob")
	w.listen(t, "/events", "Caller", "bob")
	if l := w.listen(t, "/events", "Caller", "bob"); l.status != http.StatusTooManyRequests {
		t.Errorf("the third stream of a caller is answered with %d", l.status)
	}
	eve := w.listen(t, "/events", "Caller", "eve")
	if l := w.listen(t, "/events", "Caller", "kim"); l.status != http.StatusTooManyRequests {
		t.Errorf("the fourth stream of all is answered with %d", l.status)
	}
	w.hub.Close()
	expect(t, eve.line(), "")
	if l := w.listen(t, "/events"); l.status != http.StatusServiceUnavailable {
		t.Errorf("a stream after the end is answered with %d", l.status)
	}
}

func TestAnIdleStreamSaysThatItLives(t *testing.T) {
	w := newWorld(t, tuning{idle: 10 * time.Millisecond})
	for path, want := range map[string]string{"/events": ":\n\n:\n\n", "/applications": "\n\n"} {
		l := w.listen(t, path)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(l.reader, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, []byte(want)) {
			t.Errorf("%s said %q", path, got)
		}
	}
}

func TestAReset(t *testing.T) {
	w := newWorld(t, tuning{})
	w.put(t, "web", "shop", "1")
	l, e := w.listen(t, "/applications"), w.listen(t, "/events")
	expect(t, l.message(), "ADDED web shop 1")
	w.catalog.Reset()
	expect(t, e.event(), "reset epoch-2")
	expect(t, l.message(), "error")
	expect(t, l.message(), "end")
}

// Many listen while many change things: each ends with the truth.
func TestManyListeners(t *testing.T) {
	w := newWorld(t, tuning{limits: stream.Limits{Whole: 4, Keys: 2000}})
	const clients, writers, changes, apps = 8, 4, 150, 20
	var listening, writing sync.WaitGroup
	for i := range clients {
		path := []string{"/applications", "/events"}[i%2]
		l := w.listen(t, path)
		listening.Go(func() {
			known := map[string]string{}
			for len(known) < apps || known["last-0"] == "" || known["last-1"] == "" || known["last-2"] == "" || known["last-3"] == "" {
				var fields []string
				if path == "/events" {
					fields = strings.Fields(l.event())[2:]
					known[fields[1]] = fields[2]
					continue
				}
				fields = strings.Fields(l.message())
				known[fields[1]] = fields[3]
			}
			for name, version := range known {
				w.mu.Lock()
				want := w.apps[name].ResourceVersion
				w.mu.Unlock()
				if version != want {
					t.Errorf("%s is at %s for %s, and at %s in truth", name, version, path, want)
				}
			}
		})
	}
	for writer := range writers {
		writing.Go(func() {
			for i := range changes {
				w.put(t, fmt.Sprintf("app-%d", writer+writers*(i%(apps/writers))), "shop", fmt.Sprint(writer*1000+i+1))
			}
		})
	}
	writing.Wait()
	for writer := range writers {
		w.put(t, fmt.Sprintf("last-%d", writer), "shop", fmt.Sprint(9000+writer))
	}
	listening.Wait()
}
