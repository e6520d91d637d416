package api_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The repository that the quick reference names, and what it is called at our server.
const (
	quickURL  = "https://github.com/myorg/myapp"
	quickRepo = "myapp"
)

// TestQuickReference plays a quick reference of commands about applications as it stands there, by both names, and then
// the other commands that write: over the API, and straight on the cluster.
func TestQuickReference(t *testing.T) {
	s := newStage(t)
	s.must(s.git.Create(quickRepo, map[string]string{"README.md": "for a start\n"}))
	s.forge()
	s.start()
	for _, name := range []string{"argocd", "towline"} {
		t.Run(name, func(t *testing.T) {
			here := *s
			here.T = t
			p := here.newPlayer(name)
			ran := p.play("testdata/script/quick.txtar")
			for _, core := range []string{"", "--core -n " + s.control} {
				p.vars["CORE"] = core
				ran += p.play("testdata/script/writes.txtar")
			}
			if ran < 60 {
				t.Errorf("only %d commands were run", ran)
			}
		})
	}
}

// forge has the repository of the quick reference be found at our own server: the proxy that its entry names leads there.
func (s *stage) forge() {
	s.Helper()
	host := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/myorg/myapp"), ".git")
		r.URL.Path, r.URL.RawPath = "/"+quickRepo+".git"+rest, ""
		s.git.ServeHTTP(w, r)
	}))
	host.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	host.StartTLS()
	s.Cleanup(host.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != "github.com:443" {
			http.Error(w, "only to github.com", http.StatusForbidden)
			return
		}
		tunnel(w, host.Listener.Addr().String())
	}))
	s.Cleanup(proxy.Close)
	s.apply(fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: repo-myapp, namespace: %s, labels: {argocd.argoproj.io/secret-type: repository}}
stringData: {type: git, url: %q, proxy: %q, insecure: "true"}
`, s.control, quickURL, proxy.URL))
}

// tunnel joins whoever asks with an address.
func tunnel(w http.ResponseWriter, address string) {
	there, err := net.Dial("tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	here, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = there.Close()
		return
	}
	fmt.Fprint(here, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		_, _ = io.Copy(there, here)
		_ = there.Close()
	}()
	_, _ = io.Copy(here, there)
	_ = here.Close()
}
