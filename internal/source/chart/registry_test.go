package chart

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/source/web"
)

// depot is Debian's docker-registry.
type depot struct {
	t    *testing.T
	host string
	auth bool
}

func newDepot(t *testing.T, private bool) *depot {
	t.Helper()
	program := installed(t, "docker-registry", "docker-registry")
	dir, port := t.TempDir(), freePort(t)
	config := fmt.Sprintf("version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s/data}, delete: {enabled: true}}\nhttp: {addr: 127.0.0.1:%s}\n", dir, port)
	if private {
		config += fmt.Sprintf("auth: {htpasswd: {realm: charts, path: %s}}\n", htpasswd(t, dir))
	}
	if err := os.WriteFile(filepath.Join(dir, "config.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &depot{t: t, host: "127.0.0.1:" + port, auth: private}
	run(t, d.host, program, "serve", filepath.Join(dir, "config.yml"))
	return d
}

// entry is what has to be registered to use the depot.
func (d *depot) entry(prefix string) repository.Repository {
	e := repository.Repository{URL: prefix + d.host, InsecureOCIForceHTTP: true}
	if d.auth {
		e.Username, e.Password = user, repository.NewSecret(password)
	}
	return e
}

type part struct {
	mediaType string
	data      []byte
}

// push makes an artifact of layers and tags it.
func (d *depot) push(name, tag, config string, layers ...part) string {
	d.t.Helper()
	repo, err := remote.NewRepository(d.host + "/" + name)
	if err != nil {
		d.t.Fatal(err)
	}
	repo.PlainHTTP = true
	repo.Client = &auth.Client{Credential: auth.StaticCredential(d.host, auth.Credential{Username: user, Password: password})}
	ctx := d.t.Context()
	upload := func(p part) v1.Descriptor {
		at := content.NewDescriptorFromBytes(p.mediaType, p.data)
		if found, err := repo.Exists(ctx, at); err == nil && found {
			return at
		}
		if err := repo.Push(ctx, at, bytes.NewReader(p.data)); err != nil {
			d.t.Fatal(err)
		}
		return at
	}
	written := v1.Manifest{MediaType: v1.MediaTypeImageManifest, Config: upload(part{config, []byte("{}")})}
	written.SchemaVersion = 2
	for _, layer := range layers {
		written.Layers = append(written.Layers, upload(layer))
	}
	data, err := json.Marshal(written)
	if err != nil {
		d.t.Fatal(err)
	}
	at, err := oras.TagBytes(ctx, repo, v1.MediaTypeImageManifest, data, tag)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(at.Digest)
}

func (d *depot) pushChart(name, version string, more map[string]string) string {
	base := name[strings.LastIndexByte(name, '/')+1:]
	return d.push(name, versionTag(version), "application/vnd.cncf.helm.config.v1+json",
		part{chartLayer, packed(base, version, more)}, part{provenanceLayer, []byte("signed")})
}

func plainTar(files map[string]string) []byte {
	var data bytes.Buffer
	w := tar.NewWriter(&data)
	for name, text := range files {
		_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text)), Mode: 0o644})
		_, _ = w.Write([]byte(text))
	}
	_ = w.Close()
	return data.Bytes()
}

func TestChartsInARegistry(t *testing.T) {
	for _, private := range []bool{false, true} {
		t.Run(fmt.Sprintf("private=%v", private), func(t *testing.T) {
			d := newDepot(t, private)
			d.pushChart("charts/app", "1.0.0", nil)
			d.pushChart("charts/app", "1.1.0+build.7", map[string]string{"values.yaml": "a: 1\n"})
			d.pushChart("charts/app", "2.0.0-rc.1", nil)
			// Argo CD writes such repositories without a scheme, and charts name them with one.
			for _, form := range []struct{ registered, asked string }{{"", d.host + "/charts"}, {"oci://", "oci://" + d.host + "/charts"}, {"", "oci://" + d.host + "/charts/"}} {
				b := &book{}
				entry := d.entry(form.registered)
				entry.Type, entry.EnableOCI = repository.Helm, true
				b.add(entry)
				s := newStore(t, b, nil)
				of := manifest.Origin{RepoURL: form.asked, Chart: "app", ByContent: true}
				for want, got := range map[string]string{
					"": "1.1.0+build.7", "1.0.0": "1.0.0", "1.1.0+build.7": "1.1.0+build.7", "1.*": "1.1.0+build.7", "~1.0": "1.0.0", "1.0": "1.0.0", ">0.0.0-0": "2.0.0-rc.1",
				} {
					of.Revision = want
					if revision := resolve(t, s, of, time.Minute); revision != got {
						t.Errorf("Resolve(%q) = %q, want %q", want, revision, got)
					}
				}
				if got := readTree(t, s, of, "1.1.0+build.7", "values.yaml"); got != "a: 1\n" {
					t.Errorf("values.yaml = %q", got)
				}
				for want, reason := range map[string]string{"^4": "VersionNotFound", "9.9.9": "VersionNotFound"} {
					of.Revision = want
					_, _, err := s.Resolve(t.Context(), of, 0)
					wantFault(t, err, fault.Terminal, reason, "1.1.0+build.7")
				}
				of.Chart = "none"
				_, _, err := s.Resolve(t.Context(), of, 0)
				wantFault(t, err, fault.Terminal, "NotFound", "charts/none")
			}
		})
	}
}

// A tag that moves is noticed by whoever asks, and what it stood for then is what Tree gives.
func TestMovedTag(t *testing.T) {
	d := newDepot(t, false)
	d.pushChart("app", "1.0.0", map[string]string{"values.yaml": "a: 1\n"})
	b := &book{}
	b.add(d.entry("oci://"))
	s := newStore(t, b, nil)
	of := manifest.Origin{RepoURL: "oci://" + d.host, Chart: "app", Revision: "1.0.0"}
	resolve(t, s, of, time.Minute)
	d.pushChart("app", "1.0.0", map[string]string{"values.yaml": "a: 2\n"})
	if got := readTree(t, s, of, "1.0.0", "values.yaml"); got != "a: 1\n" {
		t.Errorf("Tree gives what Resolve did not see: %q", got)
	}
	resolve(t, s, of, time.Nanosecond)
	if asked, _, _ := s.Stats(); asked != 1 {
		t.Errorf("a version that is here was asked about: %d", asked)
	}
	resolve(t, s, of, 0)
	if got := readTree(t, s, of, "1.0.0", "values.yaml"); got != "a: 2\n" {
		t.Errorf("the move is not noticed: %q", got)
	}
}

func TestArtifacts(t *testing.T) {
	d := newDepot(t, true)
	files := map[string]string{"deploy/a.yaml": "kind: A\n"}
	const config = "application/vnd.example.config"
	first := d.push("team/app", "v1.0.0", config, part{v1.MediaTypeImageLayer, plainTar(files)})
	second := d.push("team/app", "v1.1.0", config, part{v1.MediaTypeImageLayerGzip, packed("deploy", "1", nil)})
	latest := d.push("team/other", "latest", config, part{v1.MediaTypeImageLayer, plainTar(files)})
	chart := d.pushChart("team/chart", "1.0.0", nil)
	custom := d.push("team/custom", "1", config, part{"application/vnd.example.content.tar", plainTar(files)})
	d.push("team/layers", "two", config, part{v1.MediaTypeImageLayer, plainTar(files)}, part{v1.MediaTypeImageLayer, plainTar(nil)})
	d.push("team/layers", "unknown", config, part{"application/vnd.example.thing", []byte("x")})
	d.push("team/layers", "bomb", config, part{v1.MediaTypeImageLayerGzip, packed("x", "1", map[string]string{"a": strings.Repeat("a", 12<<20)})})
	b := &book{}
	b.add(d.entry("oci://"))
	s := newStore(t, b, func(o *Options) { o.LayerTypes = []string{"application/vnd.example.content.tar"} })
	tests := []struct{ name, revision, digest, file string }{
		{"app", "v1.0.0", first, "deploy/a.yaml"},
		{"app", "v1.1.0", second, "deploy/Chart.yaml"},
		{"app", "1.*", second, "deploy/Chart.yaml"},
		{"app", "", second, "deploy/Chart.yaml"},
		{"app", first, first, "deploy/a.yaml"},
		{"other", "", latest, "deploy/a.yaml"},
		{"other", "latest", latest, "deploy/a.yaml"},
		{"chart", "1.0.0", chart, "Chart.yaml"},
		{"custom", "1", custom, "deploy/a.yaml"},
	}
	for _, tc := range tests {
		of := manifest.Origin{RepoURL: "oci://" + d.host + "/team/" + tc.name, Revision: tc.revision}
		got := resolve(t, s, of, 0)
		if got != tc.digest {
			t.Errorf("Resolve(%s, %q) = %s, want %s", tc.name, tc.revision, got, tc.digest)
		}
		_ = readTree(t, s, of, got, tc.file)
	}
	for tag, reason := range map[string]string{"two": "ArtifactRefused", "unknown": "ArtifactRefused", "bomb": "ArchiveRefused"} {
		of := manifest.Origin{RepoURL: "oci://" + d.host + "/team/layers", Revision: tag}
		_, err := s.Tree(t.Context(), of, resolve(t, s, of, 0))
		wantFault(t, err, fault.Terminal, reason)
	}
	// Content is not given to who merely knows its digest.
	of := manifest.Origin{RepoURL: "oci://" + d.host + "/team/app", Project: "other"}
	b.mu.Lock()
	b.entries[0].Project = "shop"
	b.entries = append(b.entries, repository.Repository{URL: "oci://" + d.host, InsecureOCIForceHTTP: true, Project: "other"})
	b.mu.Unlock()
	_, err := s.Tree(t.Context(), of, first)
	wantFault(t, err, fault.Terminal, "RepositoryDenied")
}

func TestRegistryLogins(t *testing.T) {
	d := newDepot(t, true)
	d.pushChart("app", "1.0.0", nil)
	of := manifest.Origin{RepoURL: "oci://" + d.host, Chart: "app", Revision: "1.0.0"}
	none, wrong := d.entry("oci://"), d.entry("oci://")
	none.Username, none.Password = "", repository.Secret{}
	wrong.Password = repository.NewSecret("wrong")
	for want, entry := range map[string]repository.Repository{"no login is registered": none, "is not accepted": wrong} {
		b := &book{}
		b.add(entry)
		_, _, err := newStore(t, b, nil).Resolve(t.Context(), of, 0)
		wantFault(t, err, fault.Terminal, "RepositoryDenied", want)
	}
	_, _, err := newStore(t, &book{}, nil).Resolve(t.Context(), of, 0)
	wantFault(t, err, fault.Terminal, "NotEncrypted", "insecureOCIForceHttp")
	_, _, err = newStore(t, &book{}, nil).Resolve(t.Context(), manifest.Origin{RepoURL: "oci://169.254.169.254", Chart: "app"}, 0)
	wantFault(t, err, fault.Terminal, "AddressRefused")
}

// tokened is a registry that wants a token of a service, in front of a real one.
func tokened(t *testing.T, d *depot, realm func() string) *capture {
	t.Helper()
	return newCapture(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			if name, secret, _ := r.BasicAuth(); name != user || secret != password {
				http.Error(w, "who are you?", http.StatusUnauthorized)
				return
			}
			_, _ = fmt.Fprintf(w, `{"token":"for %s","expires_in":300}`, strings.ReplaceAll(r.URL.Query().Get("scope"), `"`, ""))
			return
		}
		if r.Header.Get("Authorization") != "Bearer for repository:app:pull" {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+realm()+`",service="registry, with a comma",scope="repository:app:pull"`)
			http.Error(w, "{}", http.StatusUnauthorized)
			return
		}
		forward(w, r, d)
	})
}

func forward(w http.ResponseWriter, r *http.Request, d *depot) {
	onward, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+d.host+r.URL.RequestURI(), http.NoBody)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	onward.Header = r.Header.Clone()
	onward.Header.Del("Authorization")
	answer, err := http.DefaultTransport.RoundTrip(onward)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	var body bytes.Buffer
	_, _ = body.ReadFrom(answer.Body)
	_, _ = w.Write(body.Bytes())
}

func TestTokens(t *testing.T) {
	d := newDepot(t, false)
	d.pushChart("app", "1.0.0", nil)
	var front *capture
	front = tokened(t, d, func() string { return front.URL + "/token" })
	host := strings.TrimPrefix(front.URL, "http://")
	b := &book{}
	b.add(repository.Repository{URL: "oci://" + host, InsecureOCIForceHTTP: true, Username: user, Password: repository.NewSecret(password)})
	s := newStore(t, b, nil)
	of := manifest.Origin{RepoURL: "oci://" + host, Chart: "app", Revision: "1.*"}
	_ = readTree(t, s, of, resolve(t, s, of, 0), "Chart.yaml")
	tokens := 0
	for _, line := range front.said() {
		if strings.Contains(line, "/token") {
			tokens++
		}
	}
	if tokens != 1 {
		t.Errorf("there were %d logins: %v", tokens, front.said())
	}
}

// A registry may not have the password sent to where it likes.
func TestForeignRealm(t *testing.T) {
	d := newDepot(t, false)
	d.pushChart("app", "1.0.0", nil)
	thief := newCapture(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"token":"x"}`)) })
	port := thief.URL[strings.LastIndexByte(thief.URL, ':'):]
	realms := map[string]struct{ realm, reason string }{
		"another host that is not encrypted": {"http://localhost" + port + "/token", "RealmRefused"},
		"the metadata service":               {"https://169.254.169.254/token", "AddressRefused"},
		"no URL":                             {"file:///etc/passwd", "RealmRefused"},
	}
	for name, tc := range realms {
		t.Run(name, func(t *testing.T) {
			front := tokened(t, d, func() string { return tc.realm })
			host := strings.TrimPrefix(front.URL, "http://")
			b := &book{}
			b.add(repository.Repository{URL: "oci://" + host, InsecureOCIForceHTTP: true, Username: user, Password: repository.NewSecret(password)})
			_, _, err := newStore(t, b, nil).Resolve(t.Context(), manifest.Origin{RepoURL: "oci://" + host, Chart: "app", Revision: "1.0.0"}, 0)
			wantFault(t, err, fault.Terminal, tc.reason)
		})
	}
	if said := thief.said(); len(said) > 0 {
		t.Errorf("it was told %v", said)
	}
}

// The service may be another host, encrypted, and no nearer to us than the registry is.
func TestRealmOfItsOwn(t *testing.T) {
	d := newDepot(t, false)
	d.pushChart("app", "1.0.0", nil)
	var heard []string
	service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard = append(heard, r.Header.Get("Authorization"))
		_, _ = w.Write([]byte(`{"access_token":"for repository:app:pull"}`))
	}))
	defer service.Close()
	realm := strings.Replace(service.URL, "127.0.0.1", "localhost", 1) + "/token"
	front := tokened(t, d, func() string { return realm })
	host := strings.TrimPrefix(front.URL, "http://")
	b := &book{trust: repository.Trust{Certificates: map[string]string{"localhost": certificateFor(t, service)}}}
	b.add(repository.Repository{URL: "oci://" + host, InsecureOCIForceHTTP: true, Username: user, Password: repository.NewSecret(password)})
	s := newStore(t, b, nil)
	of := manifest.Origin{RepoURL: "oci://" + host, Chart: "app", Revision: "1.0.0"}
	_ = readTree(t, s, of, resolve(t, s, of, 0), "Chart.yaml")
	if len(heard) != 1 || !strings.HasPrefix(heard[0], "Basic ") {
		t.Errorf("the service heard %q", heard)
	}
	p, err := s.place(of)
	if err != nil {
		t.Fatal(err)
	}
	far := &caller{store: s, place: p, login: &session{}}
	for _, registry := range []web.Reach{web.Public, web.Private} {
		_, err = far.token(t.Context(), registry, map[string]string{"realm": realm})
		wantFault(t, err, fault.Terminal, "AddressRefused")
	}
	encrypted := *p.party.URL
	encrypted.Scheme = "https"
	far.place.party.URL = &encrypted
	_, err = far.token(t.Context(), web.Local, map[string]string{"realm": front.URL + "/token"})
	wantFault(t, err, fault.Terminal, "RealmRefused", "not encrypted")
	if len(heard) != 1 {
		t.Errorf("the service heard %q", heard)
	}
}

// A registry that redirects, as many do for what they keep elsewhere, does not send the login along.
func TestRegistryRedirects(t *testing.T) {
	d := newDepot(t, false)
	d.pushChart("app", "1.0.0", nil)
	storage := newCapture(t, func(w http.ResponseWriter, r *http.Request) { forward(w, r, d) })
	front := newCapture(t, func(w http.ResponseWriter, r *http.Request) {
		if _, _, ok := r.BasicAuth(); !ok {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			http.Error(w, "{}", http.StatusUnauthorized)
			return
		}
		if strings.Contains(r.URL.Path, "/blobs/") {
			http.Redirect(w, r, storage.URL+r.URL.Path, http.StatusTemporaryRedirect)
			return
		}
		forward(w, r, d)
	})
	host := strings.TrimPrefix(front.URL, "http://")
	b := &book{}
	b.add(repository.Repository{URL: "oci://" + host, InsecureOCIForceHTTP: true, Username: user, Password: repository.NewSecret(password)})
	of := manifest.Origin{RepoURL: "oci://" + host, Chart: "app", Revision: "1.0.0"}
	strict := newStore(t, b, nil)
	_, err := strict.Tree(t.Context(), of, resolve(t, strict, of, 0))
	wantFault(t, err, fault.Terminal, "AddressRefused", "register")
	b.add(repository.Repository{URL: storage.URL})
	_ = readTree(t, strict, of, resolve(t, strict, of, 0), "Chart.yaml")
	for _, line := range storage.said() {
		if !strings.HasSuffix(line, "login=") {
			t.Errorf("the storage was told %s", line)
		}
	}
}

// An index may point into a registry.
func TestIndexIntoARegistry(t *testing.T) {
	d := newDepot(t, false)
	d.pushChart("charts/app", "1.0.0", nil)
	home := newCapture(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(indexText(released{"app", "1.0.0", "oci://" + d.host + "/charts/app:1.0.0", ""})))
	})
	b := &book{}
	b.login(home.URL)
	of := manifest.Origin{RepoURL: home.URL, Chart: "app"}
	s := newStore(t, b, nil)
	_, err := s.Tree(t.Context(), of, resolve(t, s, of, 0))
	wantFault(t, err, fault.Terminal, "AddressRefused")
	b.add(d.entry("oci://"))
	_ = readTree(t, s, of, "1.0.0", "Chart.yaml")
}

// What the registry gives has to be what it promised.
func TestRegistryLies(t *testing.T) {
	d := newDepot(t, false)
	d.pushChart("app", "1.0.0", nil)
	front := newCapture(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/blobs/") {
			data := packed("app", "1.0.0", nil)
			data[len(data)-1]++
			_, _ = w.Write(data)
			return
		}
		forward(w, r, d)
	})
	host := strings.TrimPrefix(front.URL, "http://")
	b := &book{}
	b.add(repository.Repository{URL: "oci://" + host, InsecureOCIForceHTTP: true})
	s := newStore(t, b, nil)
	of := manifest.Origin{RepoURL: "oci://" + host, Chart: "app", Revision: "1.0.0"}
	_, err := s.Tree(t.Context(), of, resolve(t, s, of, 0))
	wantFault(t, err, fault.Terminal, "DigestMismatch")
}

func TestPlaces(t *testing.T) {
	s := newStore(t, &book{}, nil)
	for _, of := range []manifest.Origin{
		{RepoURL: "oci://host/../x", Chart: "app"},
		{RepoURL: "oci://user:secret@host/x", Chart: "app"},
		{RepoURL: "oci://host/x:tag"},
		{RepoURL: "oci://"},
		{RepoURL: "oci://host/x?y=z", Chart: "app"},
		{RepoURL: "", Chart: "app"},
		{RepoURL: "https://host/charts"},
		{RepoURL: "https://user:secret@ho st/", Chart: "app"},
	} {
		_, _, err := s.Resolve(context.WithoutCancel(t.Context()), of, 0)
		if fault.ClassOf(err) != fault.Terminal || err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("Resolve(%+v) = %v", of, err)
		}
	}
	if !s.Takes(manifest.Origin{RepoURL: "oci://host/x"}) || !s.Takes(manifest.Origin{Chart: "app"}) || s.Takes(manifest.Origin{RepoURL: "https://host/x.git"}) {
		t.Error("what is not git is not ours")
	}
}
