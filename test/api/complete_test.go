package api_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWordsForTheShell: the names of applications, projects and clusters are offered to the shell, by a server and by the
// cluster, and by way of kubectl; where nobody answers nothing is, soon and without a word.
func TestWordsForTheShell(t *testing.T) {
	s := newStage(t)
	s.furnish()
	s.start()
	p := s.newPlayer("towline")
	p.signed()
	core := " --core -n " + s.control
	if out, code := p.sh(`towline login $SERVER --username admin --password "$PASSWORD" --insecure`); code != 0 {
		t.Fatalf("signing in: %s", out)
	}
	for line, want := range map[string][]string{
		`towline __complete app get ''`:                 {"charted", "leaky", "shop", "vault", "fleet-one"},
		`towline __complete app get sh`:                 {"shop"},
		`towline __complete app wait shop ''`:           {"charted", "leaky", "vault", "fleet-one"},
		`towline __complete app list --project ''`:      {"default", "web"},
		`towline __complete app list --project web,d`:   {"web,default"},
		`towline __complete proj get ''`:                {"default", "web"},
		`towline __complete cluster get ''`:             {"away", "in-cluster"},
		`towline __complete appset get ''`:              {"fleet"},
		`argocd __complete app get sh`:                  {"shop"},
		`kubectl towline __complete app get sh`:         {"shop"},
		`kubectl __complete towline app get sh`:         {"shop"},
		`towline __complete app` + core + ` get sh`:     {"shop"},
		`towline __complete app` + core + ` get ''`:     {"charted", "leaky", "shop", "vault", "fleet-one"},
		`towline __complete proj` + core + ` get ''`:    {"default", "web"},
		`towline __complete cluster` + core + ` get ''`: {"away", "in-cluster"},
	} {
		t.Run(line, func(t *testing.T) {
			here := *p
			stage := *p.stage
			stage.T, here.stage = t, &stage
			out, code := here.sh(line + " 2>/dev/null")
			got := map[string]bool{}
			for l := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
				word, _, _ := strings.Cut(l, "\t")
				if !strings.HasPrefix(word, ":") && word != "" {
					got[word] = true
				}
			}
			for _, w := range want {
				if !got[w] {
					t.Errorf("%q is not offered", w)
				}
				delete(got, w)
			}
			if code != 0 || len(got) > 0 {
				t.Errorf("it ends with %d, and offers too:\n%s", code, out)
			}
		})
	}
	t.Run("nobody answers", func(t *testing.T) {
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		stage := *s
		stage.T = t
		q := stage.newPlayer("towline")
		config := "apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts: [{name: x, context: {cluster: x, user: x}}]\n" +
			"clusters: [{name: x, cluster: {server: \"https://" + silent.Addr().String() + "\"}}]\nusers: [{name: x, user: {}}]\n"
		file := filepath.Join(q.dir, "kubeconfig")
		stage.must(os.WriteFile(file, []byte(config), 0o600))
		for _, line := range []string{
			`towline __complete app get --server ` + silent.Addr().String() + ` ''`,
			`towline __complete app get --kubeconfig ` + file + ` ''`,
			`towline __complete proj get --kubeconfig ` + file + ` ''`,
			`towline __complete cluster get --kubeconfig ` + file + ` ''`,
			`towline __complete app get --kubeconfig /nowhere ''`,
		} {
			from := time.Now()
			out, code := q.sh(line)
			out = strings.ReplaceAll(out, "Completion ended with directive: ShellCompDirectiveNoFileComp", "")
			if code != 0 || strings.TrimSpace(out) != ":4" {
				t.Errorf("%s ends with %d and says:\n%s", line, code, out)
			}
			t.Logf("%s: %s", line, time.Since(from).Round(time.Millisecond))
		}
	})
}
