package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

func townOf(t *testing.T, sections map[string]string) *town {
	t.Helper()
	return newTown(t, func(name string) string { return sections[name] })
}

const oneProject = `
metadata: {name: retail}
spec: {sourceRepos: [a]}
`

// TestProjectRace: a change is made on what stands, however often somebody else
// is faster, and never over it.
func TestProjectRace(t *testing.T) {
	w := townOf(t, map[string]string{"given/projects.yaml": oneProject})
	left := 2
	w.projects.raced = func(p *v1alpha1.AppProject) {
		if left > 0 {
			left--
			p.Spec.SourceRepos = append(p.Spec.SourceRepos, "theirs")
			p.ResourceVersion += "0"
		}
	}
	got := (&desk{hub: newMemory(), town: w}).run(t, "proj", "add-source", "retail", "ours")
	wantCode(t, got, 0)
	if repos := strings.Join(w.projects.objects["retail"].Spec.SourceRepos, " "); repos != "a theirs theirs ours" {
		t.Errorf("repositories are %q", repos)
	}
	w.projects.raced = func(p *v1alpha1.AppProject) { p.ResourceVersion += "0" }
	got = (&desk{hub: newMemory(), town: w}).run(t, "proj", "add-source", "retail", "more")
	wantCode(t, got, 20)
	wantText(t, "stderr", got.err, "somebody else changes it at the same time, try again")
}

// TestEditRace: what was typed in an editor is not written over what nobody has
// seen, and is not lost either.
func TestEditRace(t *testing.T) {
	w := townOf(t, map[string]string{"given/projects.yaml": oneProject})
	w.projects.raced = func(p *v1alpha1.AppProject) { p.ResourceVersion += "0" }
	got := (&desk{hub: newMemory(), town: w}).run(t, "proj", "edit", "retail")
	wantCode(t, got, 20)
	wantText(t, "stderr", got.err, "description: by hand", "nothing was written")
}

// TestClusterListIsBounded: clusters that do not answer are asked at once, and
// hold up the list no longer than one of them may.
func TestClusterListIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		b.WriteString("clusters:\n")
		versions := "versions: {\"https://kubernetes.default.svc\": \"1.34\""
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			b.WriteString("- {secret: " + name + ", data: {name: " + name + ", server: \"https://" + name + "\", config: \"{}\"}}\n")
			versions += ", \"https://" + name + "\": never"
		}
		b.WriteString(versions + "}\n")
		w := townOf(t, map[string]string{"given/clusters.yaml": b.String()})
		start := time.Now()
		got := (&desk{hub: newMemory(), town: w, now: time.Now}).run(t, "cluster", "list")
		wantCode(t, got, 0)
		if took := time.Since(start); took > 6*time.Second {
			t.Errorf("the list took %s", took)
		}
		wantText(t, "stdout", got.out, "1.34", "no answer within 5s")
	})
}

// TestClusterAddAsks: a person says yes or no, and no is final.
func TestClusterAddAsks(t *testing.T) {
	const given = "target: {Server: \"https://a\"}\nversions: {\"https://a\": \"1.34\"}\n"
	for answer, code := range map[string]int{"y\n": 0, "Yes\n": 0, "n\n": 20, "": 20} {
		w := townOf(t, map[string]string{"given/clusters.yaml": given})
		got := (&desk{hub: newMemory(), town: w, in: answer, atInput: true}).run(t, "cluster", "add", "prod-admin")
		wantCode(t, got, code)
		wantText(t, "stderr", got.err, `a service account "argocd-manager" that may do everything`)
		if wrote := len(w.lines) > 0; wrote != (code == 0) {
			t.Errorf("answer %q: wrote %q", answer, w.lines)
		}
	}
}

// TestNewTokens: a cluster needs a moment to know a token that it has written;
// one that it never takes is not put to use.
func TestNewTokens(t *testing.T) {
	for shy, code := range map[int]int{3: 0, 1000: 4} {
		synctest.Test(t, func(t *testing.T) {
			w := townOf(t, map[string]string{"given/clusters.yaml": "clusters: [{secret: s, data: {name: prod, server: 'https://a', " +
				"config: '{\"bearerToken\":\"MANAGER-TOKEN\"}'}}]\nversions: {\"https://a\": \"1.34\"}\n"})
			w.clusters.Shy = shy
			got := (&desk{hub: newMemory(), town: w, now: time.Now}).run(t, "cluster", "rotate-auth", "prod")
			wantCode(t, got, code)
			// Of the two tokens the one that is not in use goes.
			forgotten := map[int]string{0: "forget kube-system/argocd-manager-long-lived-token", 4: "forget kube-system/argocd-manager-token-x"}[code]
			if last := w.lines[len(w.lines)-1]; last != forgotten {
				t.Errorf("the last step is %q, want %q", last, forgotten)
			}
			if wrote := strings.Contains(strings.Join(w.lines, "\n"), "secret s: config"); wrote != (code == 0) {
				t.Errorf("steps are %q", w.lines)
			}
		})
	}
}

// TestNoLoginIsTold: whatever is asked about clusters, no secret text comes
// out.
func TestNoLoginIsTold(t *testing.T) {
	config, err := json.Marshal(map[string]any{
		"username": "jane", "password": "hush-1", "bearerToken": "hush-2", "proxyUrl": "http://u:hush-3@p",
		"tlsClientConfig":    map[string]any{"keyData": "aHVzaC00"},
		"execProviderConfig": map[string]any{"command": "c", "args": []string{"hush-5"}, "env": map[string]string{"K": "hush-6"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	given := "clusters: [{secret: s, data: {name: prod, server: 'https://a', config: '" + string(config) + "'}}]\n"
	for _, words := range [][]string{
		{"list"},
		{"list", "-o", "wide"},
		{"list", "-o", "json"},
		{"list", "-o", "yaml"},
		{"get", "prod"},
		{"get", "prod", "-o", "wide"},
		{"get", "prod", "-o", "json"},
		{"set", "prod", "--name", "x"},
		{"rotate-auth", "prod"},
		{"rm", "prod", "--yes"},
	} {
		w := townOf(t, map[string]string{"given/clusters.yaml": given})
		got := (&desk{hub: newMemory(), town: w}).run(t, append([]string{"cluster"}, words...)...)
		if all := got.out + got.err; strings.Contains(all, "hush") || strings.Contains(all, "aHVzaC") {
			t.Errorf("%q tells a login:\n%s", words, all)
		}
	}
}
