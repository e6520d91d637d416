package notice_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/notice"
	"github.com/towline-cd/towline/test/story"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// TestStories plays configurations and applications. The parts are: config, the data of the config map; own, that of the
// application's namespace; secret; project, the annotations of the project; and app, or several of them as app/1, app/2, which
// are looked at one after the other: what one look writes, the next one finds, unless it says otherwise by annotations of its
// own. "sent" has the services that answer; the messages of all others stay on their way.
func TestStories(t *testing.T) {
	story.Play(t, "testdata/*.txtar", func(t *testing.T, part map[string][]byte) string {
		var out strings.Builder
		configs := configsOf(t, part)
		for _, c := range configs {
			for _, p := range c.Problems {
				fmt.Fprintf(&out, "problem %s\n", p)
			}
		}
		record := notice.Record{Told: notice.Told{}, Claims: notice.Claims{}}
		for i, name := range looks(part) {
			now := noon.Add(time.Duration(i) * time.Minute)
			if len(looks(part)) > 1 {
				fmt.Fprintf(&out, "> %s\n", name)
			}
			record = tell(t, &out, configs, look(t, part, name, record, now))
		}
		return out.String()
	})
}

func read[T any](t *testing.T, text []byte) (out T) {
	t.Helper()
	if err := yaml.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func configsOf(t *testing.T, part map[string][]byte) []*notice.Config {
	t.Helper()
	source := notice.Source{Namespace: "argocd", Data: read[map[string]string](t, part["config"]), Secrets: map[string][]byte{}}
	for key, value := range read[map[string]string](t, part["secret"]) {
		source.Secrets[key] = []byte(value)
	}
	out := []*notice.Config{notice.Parse(source)}
	if text, ok := part["own"]; ok {
		out = append(out, notice.Parse(notice.Source{Namespace: "team", Own: true, Data: read[map[string]string](t, text), HideSecrets: true}))
	}
	return out
}

// looks are the names of the applications, in their order.
func looks(part map[string][]byte) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(part)), func(name string) bool { return name != "app" && !strings.HasPrefix(name, "app/") })
}

func look(t *testing.T, part map[string][]byte, name string, record notice.Record, now time.Time) notice.Look {
	t.Helper()
	app := read[*v1alpha1.Application](t, part[name])
	object := read[map[string]any](t, part[name])
	if app.Annotations[v1alpha1.AnnotationNotified] != "" || app.Annotations[v1alpha1.AnnotationNotifying] != "" {
		record = notice.RecordOf(app.Annotations)
	}
	held := read[[]string](t, part["held"])
	return notice.Look{
		App: app, Object: object, Project: read[map[string]string](t, part["project"]), Record: record,
		Holds: func(key string) bool { return slices.Contains(held, key) },
		World: notice.World{Now: now, Commit: func(sha string) (notice.Commit, error) {
			if sha == "" {
				return notice.Commit{}, errors.New("no such commit")
			}
			return notice.Commit{Message: "say hello", Author: "Ada", Date: noon.Add(-time.Hour)}, nil
		}},
	}
}

// tell says what is decided, and what stands written when all messages are sent.
func tell(t *testing.T, out *strings.Builder, configs []*notice.Config, l notice.Look) notice.Record {
	t.Helper()
	d := notice.Decide(configs, l)
	for _, p := range d.Problems {
		fmt.Fprintf(out, "problem %s\n", p)
	}
	for _, m := range d.Unsure {
		fmt.Fprintf(out, "unsure %s\n", m.Key)
	}
	if len(d.Messages) == 0 {
		fmt.Fprintln(out, "nothing to send")
	}
	record := d.Record
	for _, m := range d.Messages {
		again := ""
		if m.Again {
			again = " once more"
		}
		fmt.Fprintf(out, "send%s %s as %s\n", again, m.Key, m.ID[:8])
		content, err := m.Config.Render(m.Templates, m.To, l.Object, l.World)
		if err != nil {
			fmt.Fprintf(out, "  cannot: %v\n", err)
			record = record.GaveUp(m.Key, l.World.Now)
			continue
		}
		text, err := yaml.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			fmt.Fprint(out, "  ", line)
		}
		record = record.Sent(m.Key, l.World.Now)
	}
	if d.Clocked {
		fmt.Fprintln(out, "look again in a while")
	}
	for key, text := range record.Annotations() {
		if text == nil {
			continue
		}
		if !json.Valid([]byte(*text)) {
			t.Errorf("%s is no JSON: %s", key, *text)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(record.Told)) {
		fmt.Fprintf(out, "told %s at %d\n", key, record.Told[key])
	}
	for _, key := range slices.Sorted(maps.Keys(record.Claims)) {
		fmt.Fprintf(out, "%s %s\n", record.Claims[key].Phase, key)
	}
	return record
}
