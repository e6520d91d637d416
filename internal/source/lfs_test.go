package source

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	core "github.com/towline-cd/towline/internal/core/repository"
)

func pointerTo(content string) string {
	sum := sha256.Sum256([]byte(content))
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", hex.EncodeToString(sum[:]), len(content))
}

func TestLargeFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{"big": strings.Repeat("large: content\n", 1000), "spoiled": "what was asked for", "away": "not there", "huge": strings.Repeat("x", 40000)}
	byOID := map[string]string{}
	for name, content := range files {
		sum := sha256.Sum256([]byte(content))
		byOID[hex.EncodeToString(sum[:])] = name
	}
	var stolen []string
	downloads := 0
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		downloads++
		if r.Header.Get("Authorization") != "" {
			stolen = append(stolen, r.Header.Get("Authorization"))
		}
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == "spoiled" || r.Header.Get("X-Ticket") != "yes" {
			_, _ = w.Write([]byte("something else"))
			return
		}
		_, _ = w.Write([]byte(files[name]))
	}))
	t.Cleanup(storage.Close)
	server := newGitServer(t)
	repo := server.repo(t, "shop.git")
	commit := repo.commit("main", map[string]string{
		"big": pointerTo(files["big"]), "spoiled": pointerTo(files["spoiled"]), "away": pointerTo(files["away"]), "huge": pointerTo(files["huge"]),
		"plain": "plain", "nearly": pointerTo("x") + "more\n", "120000 link": pointerTo("x"), "120000 to": "big",
	})
	login := basic("bot", canary)
	server.set(func(s *gitServer) {
		s.login = login
		s.instead = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/shop.git/info/lfs/objects/batch") {
				return false
			}
			if r.Header.Get("Authorization") != login {
				w.WriteHeader(http.StatusUnauthorized)
				return true
			}
			var asked struct{ Objects []struct{ OID string } }
			_ = json.NewDecoder(r.Body).Decode(&asked)
			oid := asked.Objects[0].OID
			answer := map[string]any{"oid": oid, "error": map[string]any{"code": 404, "message": "none"}}
			if name := byOID[oid]; name != "away" {
				answer = map[string]any{"oid": oid, "actions": map[string]any{"download": map[string]any{
					"href": storage.URL + "/" + name, "header": map[string]string{"X-Ticket": "yes"},
				}}}
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"transfer": "basic", "objects": []any{answer}})
			return true
		}
	})
	entry := core.Repository{URL: repo.url, Username: "bot", Password: core.NewSecret(canary), EnableLFS: true}
	store := newStore(t, func(o *Options) { o.Book, o.MaxFile = (&book{}).write(core.Trust{}, entry), 30000 })
	for range 2 {
		snap := tree(t, store, repo.url, commit)
		for name, want := range map[string]string{"big": files["big"], "to": files["big"], "plain": "plain", "nearly": pointerTo("x") + "more\n"} {
			data, err := fs.ReadFile(snap, name)
			if err != nil || string(data) != want {
				t.Errorf("ReadFile(%q) = %.40q, %v", name, data, err)
			}
			if info, err := fs.Stat(snap, name); err != nil || info.Size() != int64(len(want)) {
				t.Errorf("Stat(%q) = %v, %v", name, info, err)
			}
		}
		if target, err := fs.ReadLink(snap, "link"); err != nil || target != pointerTo("x") {
			t.Errorf("ReadLink = %q, %v", target, err)
		}
	}
	if downloads != 1 {
		t.Errorf("%d downloads, want 1", downloads)
	}
	snap := tree(t, store, repo.url, commit)
	_, err := fs.ReadFile(snap, "spoiled")
	wantFault(t, err, fault.Transient, "LFSFailed", "something else")
	_, err = fs.ReadFile(snap, "away")
	wantFault(t, err, fault.Terminal, "LFSNotFound")
	_, err = fs.ReadFile(snap, "huge")
	wantFault(t, err, fault.Terminal, "FileTooLarge")
	if len(stolen) > 0 {
		t.Errorf("the other host was sent %q", stolen)
	}

	entry.EnableLFS = false
	off := newStore(t, func(o *Options) { o.Book = (&book{}).write(core.Trust{}, entry) })
	content, err := off.Tree(t.Context(), manifest.Origin{RepoURL: repo.url}, commit)
	if err != nil {
		t.Fatal(err)
	}
	defer content.(*snapshot).Close()
	if data, err := fs.ReadFile(content, "big"); err != nil || string(data) != pointerTo(files["big"]) {
		t.Errorf("where nobody asks for large files: %.40q, %v", data, err)
	}
}
