package api_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// TestCommandsAboutClusters plays what guides for Argo CD have people type about clusters, as it stands there: by the
// contexts and the addresses that they name, through a server and straight on the hub.
func TestCommandsAboutClusters(t *testing.T) {
	s := newStage(t)
	target, err := s.plane.Extra(t.Context(), "target", controlplane.ExtraOptions{Controllers: true})
	s.must(err)
	t.Cleanup(func() { _ = target.Stop() })
	s.start()
	contexts := s.contexts(target, map[string]string{
		"my-cluster-context": "https://cluster-api-server.com", "staging-context": "https://staging.example.com",
		"prod-context": "https://prod.example.com", "prod-cluster-context": "https://prod-cluster-api-server.com",
	})
	for _, name := range []string{"argocd", "towline"} {
		for how, core := range map[string]string{"server": "", "core": "--core -n " + s.control} {
			t.Run(name+"-"+how, func(t *testing.T) {
				here := *s
				here.T = t
				p := here.newPlayer(name)
				p.vars["CORE"], p.vars["KUBECONFIG"] = core, contexts
				p.signed()
				if ran := p.play("testdata/script/clusters.txtar"); ran < 15 {
					t.Errorf("only %d commands were run", ran)
				}
			})
		}
	}
}

// TestCommandsThatDeclare plays the commands about repositories, trust and projects, through a server and straight on the
// hub.
func TestCommandsThatDeclare(t *testing.T) {
	s := newStage(t)
	s.start()
	for how, core := range map[string]string{"server": "", "core": "--core -n " + s.control} {
		t.Run(how, func(t *testing.T) {
			here := *s
			here.T = t
			p := here.newPlayer("towline")
			p.vars["CORE"] = core
			key, id := here.signingKey()
			p.vars["KEY"], p.vars["KEYID"] = key, id
			p.signed()
			ran := p.play("testdata/script/declare.txtar")
			more := map[string]string{"server": "roles.txtar", "core": "admin.txtar"}[how]
			if ran += p.play(filepath.Join("testdata", "script", more)); ran < 50 {
				t.Errorf("only %d commands were run", ran)
			}
		})
	}
}

// contexts is a kubeconfig of the hub, with contexts by which a cluster is reached under addresses that guides name: a proxy
// leads from each of them to the cluster.
func (s *stage) contexts(target *controlplane.Plane, addresses map[string]string) string {
	s.Helper()
	all, err := clientcmd.LoadFromFile(s.plane.Kubeconfig())
	s.must(err)
	theirs, err := clientcmd.LoadFromFile(target.Kubeconfig())
	s.must(err)
	their := theirs.Contexts[theirs.CurrentContext]
	proxy := s.leadsTo(strings.TrimPrefix(target.Server(), "https://"))
	for name, address := range addresses {
		cluster := theirs.Clusters[their.Cluster].DeepCopy()
		cluster.Server, cluster.TLSServerName, cluster.ProxyURL = address, "localhost", proxy
		all.Clusters[name], all.AuthInfos[name] = cluster, theirs.AuthInfos[their.AuthInfo]
		all.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	file := filepath.Join(s.TempDir(), "contexts")
	s.must(clientcmd.WriteToFile(*all, file))
	return file
}

// leadsTo is a proxy that leads to one place, wherever somebody wants to go.
func (s *stage) leadsTo(place string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only tunnels", http.StatusMethodNotAllowed)
			return
		}
		there, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", place)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			_ = there.Close()
			return
		}
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(there, here)
			_ = there.Close()
		}()
		_, _ = io.Copy(here, there)
		_ = here.Close()
	}))
	s.Cleanup(server.Close)
	return server.URL
}
