package chart

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/source/web"
)

const sum = "99c76e403d752c84ead610644d4b1c2f2b453a74b921f422b9dcb8a7c8b559cd"

func TestReadIndex(t *testing.T) {
	want := map[string][]release{
		"app": {
			{version: "1.2.0", digest: sum, created: "2024-01-01T00:00:00Z", urls: []string{"https://example.com/app-1.2.0.tgz", "https://mirror/app.tgz"}},
			{version: "1.1.0", urls: []string{"app-1.1.0.tgz"}},
		},
		"other": {{version: "0.1.0", urls: []string{"o.tgz"}}},
	}
	tests := map[string]string{
		"as helm writes it": `apiVersion: v1
entries:
  app:
  - annotations:
      images: |
        - name: version
          version: 9.9.9
    created: "2024-01-01T00:00:00Z"
    dependencies:
    - name: redis
      version: 17.x.x
    description: |-
      version: 8.8.8
    digest: ` + sum + `
    keywords: [version, urls]
    name: app
    urls:
    - https://example.com/app-1.2.0.tgz
    - https://mirror/app.tgz
    version: 1.2.0
  - name: app
    maintainers: null
    urls:
      - app-1.1.0.tgz
    version: 1.1.0
  other:
  - version: 0.1.0
    urls: [o.tgz]
generated: "2024-01-01T00:00:00Z"
`,
		"indented further, with comments": `# made by hand
---
generated: now

entries:
    # the app
    app: # it
        - version: "1.2.0"   # the newest
          digest: "sha256:` + strings.ToUpper(sum) + `"
          created: "2024-01-01T00:00:00Z"

          urls:
            # two
            - https://example.com/app-1.2.0.tgz
            - https://mirror/app.tgz
        -
          version: 1.1.0
          urls:
          - app-1.1.0.tgz
        - null
        - ~
        -
    'other':
        - 'version': 0.1.0
          "urls":
          - >-
            o.tgz
    nothing: []
    none:
    null: null
apiVersion: v1
...
this is not read
`,
		"JSON": `{"apiVersion":"v1","junk":{"entries":1},"entries":{"app":[{"version":"1.2.0","digest":"` + sum + `","created":"2024-01-01T00:00:00Z",
			"urls":["https://example.com/app-1.2.0.tgz","https://mirror/app.tgz"],"maintainers":null},{"version":"1.1.0","urls":["app-1.1.0.tgz"]},null],
			"other":[{"version":"0.1.0","urls":["o.tgz"]}],"none":null,"nothing":[]}}`,
		"in another form of YAML": `apiVersion: v1
entries:
  app: &app
  - {version: 1.2.0, digest: ` + sum + `, created: "2024-01-01T00:00:00Z", urls: ["https://example.com/app-1.2.0.tgz", "https://mirror/app.tgz"]}
  - {version: 1.1.0, urls: [app-1.1.0.tgz]}
  other: [{version: 0.1.0, urls: [o.tgz]}, null]
`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := readIndex(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.charts, cmp.AllowUnexported(release{})); diff != "" {
				t.Error(diff)
			}
			crlf, err := readIndex(strings.NewReader(strings.ReplaceAll(text, "\n", "\r\n")))
			if err != nil || cmp.Diff(got.charts, crlf.charts, cmp.AllowUnexported(release{})) != "" {
				t.Errorf("with other ends of lines it is something else: %v", err)
			}
		})
	}
}

// What is read line by line is what a parser of YAML reads, however odd the values are.
func TestLinesReadWhatYAMLSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"version: 1\n- x", "a\n\n  b: c\n- d\n", "|", "null", "- ", "urls:\n- x", " leading", "1.10", "\tx: y", "#", "a # b", "key: [", "'", `"`, "{}", "&a", "*a",
			"1.2.3", "v1.2.3-rc.1", "1.2.3+b", "0x1.2.3", "1e10", sum, "12345678901234567890", "12e34", "https://example.com/a-1.0.tgz", "a.tgz", "a:",
			"2024-01-01T00:00:00Z", "2024-01-01", "true", "on", "no", ".inf", "1_000", "0b1", "12:30:45", "sha256:" + sum, "a..b", "x: y",
		}), rapid.StringMatching(`[a-z0-9.:/+-]{0,12}`))
		entry := rapid.Custom(func(t *rapid.T) map[string]any {
			return map[string]any{
				"version": text.Draw(t, "version"), "digest": text.Draw(t, "digest"), "created": text.Draw(t, "created"),
				"urls": rapid.SliceOfN(text, 0, 3).Draw(t, "urls"), "description": text.Draw(t, "description"),
				"annotations": rapid.MapOfN(text, text, 0, 3).Draw(t, "annotations"), "keywords": rapid.SliceOfN(text, 0, 3).Draw(t, "keywords"),
				text.Draw(t, "key"): text.Draw(t, "value"),
			}
		})
		index := map[string]any{
			"apiVersion": "v1", "entries": rapid.MapOfN(text, rapid.SliceOfN(entry, 0, 3), 0, 3).Draw(t, "entries"), "generated": text.Draw(t, "generated"),
		}
		written, err := yaml.Marshal(index)
		if err != nil {
			t.Skip(err)
		}
		whole, wholeErr := readWhole(written)
		got, err := readIndex(strings.NewReader(string(written)))
		if (err == nil) != (wholeErr == nil) {
			t.Fatalf("%v, and YAML says %v, of\n%s", err, wholeErr, written)
		}
		if err == nil {
			if diff := cmp.Diff(whole.charts, got.charts, cmp.AllowUnexported(release{})); diff != "" {
				t.Fatalf("%s\nof\n%s", diff, written)
			}
		}
		if encoded, err := json.Marshal(index); err == nil {
			fromJSON, err := readIndex(strings.NewReader(string(encoded)))
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := index["entries"].(map[string][]map[string]any); ok && wholeErr == nil && len(fromJSON.charts) != len(whole.charts) {
				t.Fatalf("JSON has %d charts, YAML %d", len(fromJSON.charts), len(whole.charts))
			}
		}
	})
}

func TestIndexRefused(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"empty":             {"", "empty"},
		"blank":             {" \n\n", "empty"},
		"a page":            {"<!DOCTYPE html>\n<html>\n<body>Sign in</body>\n</html>\n", "cannot be read"},
		"something else":    {"a: b\n", "not the index of a Helm repository"},
		"entries of text":   {"entries: hello\n", "cannot be read"},
		"entries of a list": {"entries:\n- a\n", "cannot be read"},
		"a chart of text":   {"entries:\n  app: hello\n", "cannot be read"},
		"JSON of a list":    {`{"entries":[]}`, "where { is expected"},
		"JSON cut off":      {`{"entries":{"app":[{"version":"1`, "unexpected EOF"},
		"broken JSON":       {`{"entries":{"app":[{]}`, "cannot be read"},
		"a number for text": {`{"entries":{"app":[{"version":{}}]}}`, "cannot be read"},
		"tabs":              {"entries:\n\tapp:\n", "cannot be read"},
		"cut in a key":      {"apiVersion: v1\nentries:\n  app:\n  - vers", "cannot be read"},
		"alias bomb": {"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n" +
			"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nentries: {x: *g}\n", "cannot be read"},
		"a long line":     {"apiVersion: v1\nentries:\n  app:\n  - description: " + strings.Repeat("x", 5<<20), "cannot be read"},
		"a large release": {"apiVersion: v1\nentries:\n  app:\n  - urls:\n" + strings.Repeat("    - "+strings.Repeat("x", 1000)+"\n", 5000), "longer than"},
		"a large one in JSON": {
			`{"entries":{"app":[{"version":"1","description":"` + strings.Repeat("x", 6<<20) + `"}]}}`,
			"longer than",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := readIndex(strings.NewReader(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("readIndex = %v, want %q", err, tc.want)
			}
			if name != "JSON cut off" && fault.ClassOf(err) != fault.Terminal {
				t.Errorf("class = %v of %v", fault.ClassOf(err), err)
			}
		})
	}
}

// repeated is a text that goes on for a number of bytes.
type repeated struct {
	text []byte
	left int
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	r.left -= n
	return n, nil
}

// An index of any size is refused, or read, in memory that follows from what is kept of it.
func TestLargeIndexTakesLittleMemory(t *testing.T) {
	forms := map[string]struct{ head, body string }{
		"null entries":       {"apiVersion: v1\nentries:\n  app:\n", "  - null\n"},
		"null entries, JSON": {`{"entries":{"app":[null`, `,null`},
		"descriptions": {"apiVersion: v1\nentries:\n  app:\n", "  - description: |\n" + strings.Repeat("      words and words and words\n", 4000) +
			"    version: 1.0.0\n"},
		"releases":        {"apiVersion: v1\nentries:\n  app:\n", "  - version: 1.0.0\n    urls:\n    - a.tgz\n"},
		"no known form":   {"apiVersion: v1\nentries:\n  app:\n", "  - {version: 1.0.0}\n"},
		"one deep object": {`{"junk":`, `{"a":`},
	}
	const size = 16 << 20
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			text := io.MultiReader(strings.NewReader(form.head), &repeated{text: []byte(form.body), left: size * 2})
			got, err := readIndex(web.Limit(text, size))
			if err == nil {
				t.Fatal("it is too large and was taken")
			}
			if !errors.Is(err, web.ErrTooLarge) && fault.ClassOf(err) != fault.Terminal {
				t.Errorf("err = %v", err)
			}
			var memory runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&memory)
			if memory.HeapSys > 384<<20 {
				t.Errorf("the heap grew to %d MiB", memory.HeapSys>>20)
			}
			runtime.KeepAlive(got)
		})
	}
}

func TestMessages(t *testing.T) {
	p := place{kind: helmRepository, chart: "app", shown: "https://charts.example.com"}
	i := &index{charts: map[string][]release{"app": {{version: "1.0.0"}, {version: "1.2.0"}, {version: "2.0.0-rc.1"}}, "app-extras": {{version: "1.0.0"}}}}
	tests := map[string]struct {
		chart, want string
		message     string
	}{
		"no such version": {"app", "1.1.0", `the chart app of https://charts.example.com has no version "1.1.0"; near ones are 1.2.0, 1.0.0, 2.0.0-rc.1`},
		"no such range":   {"app", "^3", `has no version "^3"; near ones are 2.0.0-rc.1, 1.2.0, 1.0.0`},
		"no such chart":   {"ap", "1.0.0", `https://charts.example.com has no chart "ap" among its 2; it has app, app-extras; correct chart or repoURL`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			q := p
			q.chart = tc.chart
			if _, ok := i.pick(tc.chart, tc.want); ok {
				t.Fatal("it was found")
			}
			err := i.lacks(q, tc.want)
			if !strings.Contains(err.Error(), tc.message) || fault.ClassOf(err) != fault.Terminal {
				t.Errorf("lacks = %v", err)
			}
		})
	}
	if err := noVersion(p, []string{"1.0.0-rc.1"}, ""); !strings.Contains(err.Error(), "has no release, only 1.0.0-rc.1") {
		t.Error(err)
	}
}

func BenchmarkReadIndex(b *testing.B) {
	var text strings.Builder
	text.WriteString("apiVersion: v1\nentries:\n")
	for c := range 200 {
		fmt.Fprintf(&text, "  chart-%d:\n", c)
		for v := range 100 {
			fmt.Fprintf(&text, "  - apiVersion: v2\n    appVersion: 1.0.%d\n    created: \"2024-01-01T00:00:00Z\"\n    description: |\n%s    digest: %s\n    name: chart-%d\n    urls:\n    - https://example.com/chart-%d-1.0.%d.tgz\n    version: 1.0.%d\n",
				v, strings.Repeat("      Some words on what this is for and how to use it.\n", 10), sum, c, c, v, v)
		}
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readIndex(strings.NewReader(text.String())); err != nil {
			b.Fatal(err)
		}
	}
}
