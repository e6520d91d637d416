package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/towline-cd/towline/internal/core/repository"
)

const user, password = "ada", "correct horse battery staple"

// passwordHash is bcrypt of the password, which the registry wants to have.
const passwordHash = "$2y$04$KT.8nCBw5.ojw/GmsWLCKOW..eT.n/iNKVihpXrb7MRUz9w0mB.em"

// book is entries by URL, or by how URLs begin.
type book struct {
	mu      sync.Mutex
	entries []repository.Repository
	trust   repository.Trust
}

func (b *book) For(url, project string) repository.Repository {
	b.mu.Lock()
	defer b.mu.Unlock()
	var best repository.Repository
	for _, e := range b.entries {
		if (e.Project == "" || e.Project == project) && repository.Covers(e.URL, url) && len(e.URL) > len(best.URL) {
			best = e
		}
	}
	return best
}

func (b *book) Trust() repository.Trust { return b.trust }

func (b *book) Named(name, project string) (repository.Repository, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		if e.Name == name && (e.Project == "" || e.Project == project) {
			return e, true
		}
	}
	return repository.Repository{}, false
}

func (b *book) add(e repository.Repository) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries = append(b.entries, e)
}

func (b *book) login(url string) {
	b.add(repository.Repository{URL: url, Username: user, Password: repository.NewSecret(password)})
}

func newStore(t *testing.T, b *book, change func(*Options)) *Store {
	t.Helper()
	options := Options{Dir: t.TempDir(), Book: b, Timeout: 30 * time.Second}
	if change != nil {
		change(&options)
	}
	store, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// packed is a chart as `helm package` makes it.
func packed(name, version string, more map[string]string) []byte {
	files := map[string]string{
		"Chart.yaml":          fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n", name, version),
		"templates/what.yaml": "kind: ConfigMap\n",
	}
	maps.Copy(files, more)
	var data bytes.Buffer
	zipped := gzip.NewWriter(&data)
	w := tar.NewWriter(zipped)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name + "/" + file, Size: int64(len(files[file])), Mode: 0o644})
		_, _ = w.Write([]byte(files[file]))
	}
	_, _ = w.Close(), zipped.Close()
	return data.Bytes()
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// released is a version in an index.
type released struct {
	name, version, url, digest string
}

func indexText(all ...released) string {
	var text strings.Builder
	text.WriteString("apiVersion: v1\nentries:\n")
	byName := map[string][]released{}
	for _, r := range all {
		byName[r.name] = append(byName[r.name], r)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		fmt.Fprintf(&text, "  %s:\n", name)
		for _, r := range byName[name] {
			fmt.Fprintf(&text, "  - name: %s\n    urls:\n    - %s\n    version: %s\n", name, r.url, r.version)
			if r.digest != "" {
				fmt.Fprintf(&text, "    digest: %s\n", r.digest)
			}
		}
	}
	return text.String()
}

// freePort is a port that nobody has right now.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

// run starts a server that ends with the test, and waits until it answers.
func run(t *testing.T, address, program string, args ...string) {
	t.Helper()
	var said bytes.Buffer
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	command := exec.CommandContext(ctx, program, args...)
	command.Stdout, command.Stderr = &said, &said
	if err := command.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = command.Wait(); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	for deadline := time.Now().Add(30 * time.Second); ; {
		connection, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = connection.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s ended: %s", program, said.String())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not answer", program)
		}
	}
}

func installed(t *testing.T, program, debian string) string {
	t.Helper()
	for _, folder := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin") {
		if path := filepath.Join(folder, program); exec.Command(path, "-v").Run() == nil || exec.Command(path, "--version").Run() == nil {
			return path
		}
	}
	t.Skipf("%s is not installed: this needs the package %s", program, debian)
	return ""
}

func htpasswd(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "htpasswd")
	if err := os.WriteFile(path, []byte(user+":"+passwordHash+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// site is nginx with a folder of files; what is in its folder private/ needs a login.
type site struct {
	t        *testing.T
	dir, url string
}

func newSite(t *testing.T) *site {
	t.Helper()
	nginx := installed(t, "nginx", "nginx-light")
	base := t.TempDir()
	// nginx gives its workers to another user, who has to get at the files.
	for folder := base; folder != os.TempDir() && folder != "/"; folder = filepath.Dir(folder) {
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := &site{t: t, dir: filepath.Join(base, "files")}
	if err := os.MkdirAll(filepath.Join(s.dir, "private"), 0o755); err != nil {
		t.Fatal(err)
	}
	// Debian's nginx has no bcrypt of its own for this file, so the password is in the plain form that it knows.
	if err := os.WriteFile(filepath.Join(base, "users"), []byte(user+":{PLAIN}"+password+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	config := fmt.Sprintf(`
daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/error.log;
events {}
http {
	access_log %[1]s/access.log;
	client_body_temp_path %[1]s/1; proxy_temp_path %[1]s/2; fastcgi_temp_path %[1]s/3; uwsgi_temp_path %[1]s/4; scgi_temp_path %[1]s/5;
	gzip on; gzip_types *; gzip_min_length 100;
	server {
		listen 127.0.0.1:%[2]s;
		root %[3]s;
		location /private/ { auth_basic "charts"; auth_basic_user_file %[1]s/users; }
		location /busy/ { add_header Retry-After 17 always; return 503; }
		include %[1]s/more.conf*;
	}
}`, base, port, s.dir)
	if err := os.WriteFile(filepath.Join(base, "nginx.conf"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "127.0.0.1:"+port, nginx, "-p", base, "-c", filepath.Join(base, "nginx.conf"))
	s.url = "http://127.0.0.1:" + port
	return s
}

// write writes a file as a deployment does: in one step, and with a time that tells.
func (s *site) write(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		s.t.Fatal(err)
	}
}

// log is the requests that the site got, once there are so many: it writes them down after it has answered.
func (s *site) log(requests int) string {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(s.dir), "access.log"))
		if err != nil {
			s.t.Fatal(err)
		}
		if bytes.Count(data, []byte("\n")) >= requests || time.Now().After(deadline) {
			return string(data)
		}
	}
}

// capture is a server that remembers what it was told.
type capture struct {
	*httptest.Server
	mu    sync.Mutex
	heard []string
}

func newCapture(t *testing.T, handle http.HandlerFunc) *capture {
	t.Helper()
	c := &capture{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.heard = append(c.heard, r.Method+" "+r.URL.Path+" login="+r.Header.Get("Authorization")+r.URL.User.String())
		c.mu.Unlock()
		handle(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *capture) said() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.heard)
}

func pemOf(certificate []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
}

// certificateFor makes a certificate for localhost, gives it to the server, and returns it.
func certificateFor(t *testing.T, server *httptest.Server) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	server.TLS.Certificates = []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}
	return pemOf(raw)
}
