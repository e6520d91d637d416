package source

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/policy"
	core "github.com/towline-cd/towline/internal/core/repository"
)

// signedRepo makes commits that git itself signs, by an SSH key.
type signedRepo struct {
	bareRepo
	key string // a file
}

func (r signedRepo) run(args ...string) string {
	r.t.Helper()
	command := exec.CommandContext(r.t.Context(), "git", append([]string{
		"--git-dir=" + r.dir, "-c", "gpg.format=ssh", "-c", "user.signingkey=" + r.key,
	}, args...)...)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		r.t.Fatalf("git %v: %v: %s", args, err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// on makes a commit with the tree of another, and moves main there.
func (r signedRepo) on(parent, message string, signed bool) string {
	args := []string{"commit-tree", "-p", parent, "-m", message}
	if signed {
		args = append(args, "-S")
	}
	commit := r.run(append(args, parent+"^{tree}")...)
	r.run("update-ref", "refs/heads/main", commit)
	return commit
}

func TestVerify(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("needs ssh-keygen: install the package openssh-client")
	}
	private, public := sshKey(t)
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(private), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file+".pub", []byte(public+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := newGitServer(t)
	repo := signedRepo{bareRepo: server.repo(t, "shop.git"), key: file}
	unsigned := repo.commit("main", map[string]string{"a": "1"})
	signed := repo.on(unsigned, "Signed.", true)
	tip := repo.on(signed, "Signed too.", true)
	repo.run("tag", "-s", "-m", "release", "v1.0.0", tip)
	repo.run("tag", "-a", "-m", "not signed", "v2.0.0", tip)
	repo.run("update-ref", "refs/tags/v3.0.0", repo.run("rev-parse", "v1.0.0")) // the signed tag under another name
	repo.run("tag", "-s", "-m", "of what is not signed", "v4.0.0", unsigned)
	sealed := repo.on(tip, "Seal.\n\nArgocd-gpg-seal: all of it was reviewed", true)
	last := repo.on(sealed, "After the seal.", true)
	broken := repo.on(last, "Not signed.", false)
	after := repo.on(broken, "Signed again.", true)

	store := newStore(t, func(o *Options) {
		o.Book = (&book{}).write(core.Trust{PublicKeys: map[string]string{"ada": public}}, core.Repository{URL: repo.url})
	})
	const head, strict = v1alpha1.SourceIntegrityGPGModeHead, v1alpha1.SourceIntegrityGPGModeStrict
	for _, test := range []struct {
		revision, commit string
		mode             v1alpha1.SourceIntegrityGPGMode
		keys             []string
		why              string // a part of it; "" is that all is well
	}{
		{"", unsigned, v1alpha1.SourceIntegrityGPGModeNone, nil, ""},
		{"", unsigned, head, []string{"ada"}, "not signed"},
		{"", signed, head, []string{"ada"}, ""},
		{"", signed, head, []string{"bob"}, "which the project does not list"},
		{"", signed, head, nil, "which the project does not list"},
		{"main", after, head, []string{"ada"}, ""},
		{"v1.0.0", tip, head, []string{"ada"}, ""},
		{"v2.0.0", tip, head, []string{"ada"}, "not signed"},
		{"v3.0.0", tip, head, []string{"ada"}, `with the name "v1.0.0"`},
		{"v4.0.0", unsigned, head, []string{"ada"}, ""},
		{"^1.0.0", tip, head, []string{"ada"}, ""},
		{"", tip, strict, []string{"ada"}, "commit " + unsigned[:10]},
		{"v1.0.0", tip, strict, []string{"ada"}, "commit " + unsigned[:10]},
		{"v4.0.0", unsigned, strict, []string{"ada"}, "commit " + unsigned[:10]},
		{"", last, strict, []string{"ada"}, ""},
		{"", sealed, strict, []string{"ada"}, ""},
		{"main", after, strict, []string{"ada"}, "commit " + broken[:10]},
	} {
		of := manifest.Origin{RepoURL: repo.url, Revision: test.revision}
		if test.revision != "" {
			if got, _, err := store.Resolve(t.Context(), of, 0); err != nil || got != test.commit {
				t.Fatalf("Resolve(%q) = %s, %v; want %s", test.revision, got, err, test.commit)
			}
		}
		why, err := store.Verify(t.Context(), of, test.commit, policy.Demand{Mode: test.mode, Keys: test.keys})
		if err != nil || (why == "") != (test.why == "") || !strings.Contains(why, test.why) {
			t.Errorf("Verify(%q %s, %s, %v) = %q, %v; want %q", test.revision, test.commit[:10], test.mode, test.keys, why, err, test.why)
		}
	}
}

// The gpg program's own signatures are understood.
func TestGnuPG(t *testing.T) {
	gpg, err := exec.LookPath("gpg")
	if err != nil {
		t.Skip("needs gpg: install the package gnupg")
	}
	home, err := os.MkdirTemp("", "gpg") //nolint:usetesting // its socket needs a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run()
		_ = os.RemoveAll(home)
	})
	run := func(args ...string) string {
		command := exec.CommandContext(t.Context(), gpg, append([]string{"--homedir", home, "--batch", "--quiet"}, args...)...)
		out, err := command.Output()
		if err != nil {
			t.Skipf("gpg %v does not work here: %v", args, err)
		}
		return string(out)
	}
	run("--passphrase", "", "--quick-generate-key", "Ada <ada@example.com>", "default", "sign", "never")
	public := run("--armor", "--export")
	entities, err := openpgp.ReadArmoredKeyRing(strings.NewReader(public))
	if err != nil || len(entities) != 1 {
		t.Fatalf("the key of gpg: %v", err)
	}
	if block, err := armor.Decode(strings.NewReader(public)); err != nil || block.Type != openpgp.PublicKeyType {
		t.Fatal(err)
	}
	server := newGitServer(t)
	repo := signedRepo{bareRepo: server.repo(t, "shop.git"), key: "ada@example.com"}
	t.Setenv("GNUPGHOME", home)
	first := repo.commit("main", map[string]string{"a": "1"})
	signed := repo.run("-c", "gpg.format=openpgp", "commit-tree", "-S", "-p", first, "-m", "Signed.", first+"^{tree}")
	repo.run("update-ref", "refs/heads/main", signed)
	id := entities[0].PrimaryKey.KeyIdString()
	store := newStore(t, func(o *Options) {
		o.Book = (&book{}).write(core.Trust{PublicKeys: map[string]string{id: public}}, core.Repository{URL: repo.url})
	})
	found, err := store.Signature(t.Context(), manifest.Origin{RepoURL: repo.url}, signed)
	if err != nil || !found.By([]string{id}) || found.Signer != "Ada <ada@example.com>" {
		t.Errorf("Signature = %+v, %v", found, err)
	}
}
