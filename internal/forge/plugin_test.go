package forge_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/forge"
)

// service answers every question with the same text.
type service struct {
	*httptest.Server
	status   int
	text     string
	location string
	asked    []string
	slow     bool
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{status: http.StatusOK}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.asked = append(s.asked, strings.Join([]string{
			r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(body),
		}, " "))
		if s.slow {
			<-r.Context().Done()
			return
		}
		if s.location != "" {
			w.Header().Set("Location", s.location)
		}
		w.WriteHeader(s.status)
		_, _ = w.Write([]byte(s.text))
	}))
	t.Cleanup(s.Close)
	return s
}

func pluginStore(address string) store {
	s := newStore()
	s.maps["argocd/images"] = map[string]string{"baseUrl": address, "token": "$plugin.token"}
	s.secrets["argocd/argocd-secret"] = secretOf("plugin.token", token)
	s.secrets["argocd/other"] = secretOf("key", token)
	return s
}

var pluginGen = v1alpha1.PluginGenerator{
	ConfigMapRef: v1alpha1.PluginConfigMapRef{Name: "images"},
	Input: v1alpha1.PluginInput{Parameters: v1alpha1.PluginParameters{
		"branch": apiextv1.JSON{Raw: []byte(`"main"`)}, "list": apiextv1.JSON{Raw: []byte(`[1,{"a":true}]`)},
	}},
}

func TestPlugin(t *testing.T) {
	s := newService(t)
	s.text = `{"output":{"parameters":[{"digest":"sha256:1","generator":"taken","nested":{"n":1.5}},{"digest":"sha256:2"}]}}`
	for _, base := range []string{s.URL, s.URL + "/", s.URL + "/below"} {
		s.asked = nil
		forges := newForges(t, func(o *forge.Options) { o.Store = pluginStore(base) })
		got, err := forges.Plugin(t.Context(), pluginGen, scope)
		if err != nil {
			t.Fatal(err)
		}
		generator := map[string]any{"input": map[string]any{"parameters": map[string]any{
			"branch": "main", "list": []any{float64(1), map[string]any{"a": true}},
		}}}
		want := []map[string]any{
			{"digest": "sha256:1", "nested": map[string]any{"n": 1.5}, "generator": generator}, {"digest": "sha256:2", "generator": generator},
		}
		if diff := cmp.Diff(want, got.Sets); diff != "" {
			t.Errorf("sets (-want +got):\n%s", diff)
		}
		path := strings.TrimSuffix(strings.TrimPrefix(base, s.URL), "/")
		wantAsked := []string{"POST " + path + "/api/v1/getparams.execute Bearer " + token + " application/json " +
			`{"applicationSetName":"previews","input":{"parameters":{"branch":"main","list":[1,{"a":true}]}}}`}
		if diff := cmp.Diff(wantAsked, s.asked); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	}
}

func TestPluginAnswers(t *testing.T) {
	s := newService(t)
	elsewhere := newCapture(t)
	tests := map[string]struct {
		status   int
		text     string
		location string
		reason   string
	}{
		"none":                {200, `{"output":{"parameters":[]}}`, "", ""},
		"none, in Go":         {200, `{"output":{"parameters":null}}`, "", ""},
		"no list":             {200, `{"output":{}}`, "", "AnswerIncomplete"},
		"no output":           {200, `{}`, "", "AnswerIncomplete"},
		"nothing":             {200, ``, "", "AnswerIncomplete"},
		"null":                {200, `null`, "", "AnswerIncomplete"},
		"half":                {200, `{"output":{"parameters":[{"a":1}`, "", "AnswerIncomplete"},
		"no objects":          {200, `{"output":{"parameters":["a"]}}`, "", "AnswerNotUnderstood"},
		"a null among them":   {200, `{"output":{"parameters":[null]}}`, "", "AnswerNotUnderstood"},
		"no list of them":     {200, `{"output":{"parameters":{"a":1}}}`, "", "AnswerNotUnderstood"},
		"fails":               {500, `{}`, "", "ForgeFailed"},
		"denies":              {403, ``, "", "ForgeDenied"},
		"is not there":        {404, `{}`, "", "NotFound"},
		"redirects":           {307, ``, elsewhere.URL, "RedirectRefused"},
		"redirects to itself": {307, ``, "/api/v1/getparams.execute", "RedirectRefused"},
	}
	forges := newForges(t, func(o *forge.Options) { o.Store = pluginStore(s.URL) })
	for name, tc := range tests {
		s.status, s.text, s.location = tc.status, tc.text, tc.location
		got, err := forges.Plugin(t.Context(), pluginGen, scope)
		if fault.ReasonOf(err) != tc.reason || (err == nil) != (tc.reason == "") || err == nil && (got.Sets == nil || len(got.Sets) != 0) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if heard := elsewhere.heard(); len(heard) > 0 {
		t.Errorf("somebody else heard %q", heard)
	}
}

func TestPluginConfiguration(t *testing.T) {
	s := newService(t)
	s.text = `{"output":{"parameters":[]}}`
	tests := map[string]struct {
		data   map[string]string
		reason string
	}{
		"another secret":       {map[string]string{"baseUrl": s.URL, "token": "$other:key"}, ""},
		"no config map":        {nil, "ConfigMapMissing"},
		"no address":           {map[string]string{"token": "$plugin.token"}, "ConfigMapIncomplete"},
		"no URL":               {map[string]string{"baseUrl": "here", "token": "$plugin.token"}, "URLRefused"},
		"no token":             {map[string]string{"baseUrl": s.URL}, "ConfigMapInvalid"},
		"the token itself":     {map[string]string{"baseUrl": s.URL, "token": token}, "ConfigMapInvalid"},
		"no such key":          {map[string]string{"baseUrl": s.URL, "token": "$nothing"}, "SecretIncomplete"},
		"no such secret":       {map[string]string{"baseUrl": s.URL, "token": "$nobody:key"}, "SecretMissing"},
		"a time":               {map[string]string{"baseUrl": s.URL, "token": "$plugin.token", "requestTimeout": "20"}, ""},
		"no number for a time": {map[string]string{"baseUrl": s.URL, "token": "$plugin.token", "requestTimeout": "1m"}, "ConfigMapInvalid"},
		"metadata service":     {map[string]string{"baseUrl": "http://169.254.169.254", "token": "$plugin.token"}, "AddressRefused"},
	}
	for name, tc := range tests {
		in := pluginStore(s.URL)
		delete(in.maps, "argocd/images")
		if tc.data != nil {
			in.maps["argocd/images"] = tc.data
		}
		// Providers that are off are forges; a service is none.
		forges := newForges(t, func(o *forge.Options) { o.Store, o.SCMDisabled = in, true })
		_, err := forges.Plugin(t.Context(), pluginGen, scope)
		if fault.ReasonOf(err) != tc.reason || (err == nil) != (tc.reason == "") || err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.slow = true
	in := pluginStore(s.URL)
	forges := newForges(t, func(o *forge.Options) { o.Store, o.Patience = in, 50*time.Millisecond })
	if _, err := forges.Plugin(t.Context(), pluginGen, scope); fault.ClassOf(err) != fault.Transient || err == nil {
		t.Error(err)
	}
	bad := pluginGen
	bad.Input.Parameters = v1alpha1.PluginParameters{"x": apiextv1.JSON{Raw: json.RawMessage("{")}}
	if _, err := forges.Plugin(t.Context(), bad, scope); fault.ReasonOf(err) != "InputInvalid" {
		t.Error(err)
	}
}
