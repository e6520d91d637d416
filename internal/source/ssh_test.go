package source

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	core "github.com/towline-cd/towline/internal/core/repository"
)

// sshServer is a real sshd on a port of its own, with a configuration of its own.
type sshServer struct {
	port  string
	user  string
	known string // its line of known hosts
}

// sshKey is a private key as OpenSSH writes it, and its public half as a line of authorized_keys.
func sshKey(t *testing.T) (private, public string) {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "test")
	if err != nil {
		t.Fatal(err)
	}
	line, err := ssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block)), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(line)))
}

func startSSH(t *testing.T, authorized string) sshServer {
	t.Helper()
	program, err := exec.LookPath("sshd")
	if err != nil {
		if program = "/usr/sbin/sshd"; !exists(program) {
			t.Skip("needs sshd: install the package openssh-server")
		}
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if me.Uid == "0" {
		_ = os.MkdirAll("/run/sshd", 0o755) // sshd insists on it when it is root
	}
	dir := t.TempDir()
	hostKey, hostPublic := sshKey(t)
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	config := write("sshd_config", fmt.Sprintf("ListenAddress 127.0.0.1:%s\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nUsePAM no\n"+
		"StrictModes no\nPermitRootLogin prohibit-password\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nLogLevel ERROR\n",
		port, write("host_key", hostKey), write("authorized_keys", authorized+"\n")))
	command := exec.Command(program, "-D", "-e", "-f", config)
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	for deadline := time.Now().Add(20 * time.Second); ; {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("sshd does not answer: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return sshServer{port: port, user: me.Username, known: "[127.0.0.1]:" + port + " " + hostPublic}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestSSH(t *testing.T) {
	t.Parallel()
	private, public := sshKey(t)
	other, otherPublic := sshKey(t)
	server := startSSH(t, public)
	files := newGitServer(t) // for its folder
	repo := files.repo(t, "shop.git")
	commit := repo.commit("main", map[string]string{"a": "1"})
	at := fmt.Sprintf("ssh://%s@127.0.0.1:%s%s", server.user, server.port, repo.dir)
	wrongHost := "[127.0.0.1]:" + server.port + " " + otherPublic

	for name, test := range map[string]struct {
		known  string
		entry  core.Repository
		reason string
	}{
		"the right keys":         {server.known, core.Repository{SSHPrivateKey: core.NewSecret(private)}, ""},
		"without the last line":  {server.known, core.Repository{SSHPrivateKey: core.NewSecret(strings.TrimSpace(private))}, ""},
		"another key":            {server.known, core.Repository{SSHPrivateKey: core.NewSecret(other)}, "AuthenticationFailed"},
		"no key":                 {server.known, core.Repository{}, "AuthenticationFailed"},
		"another host":           {wrongHost, core.Repository{SSHPrivateKey: core.NewSecret(private)}, "HostKeyUnknown"},
		"an unknown host":        {"", core.Repository{SSHPrivateKey: core.NewSecret(private)}, "HostKeyUnknown"},
		"it does not mind":       {"", core.Repository{SSHPrivateKey: core.NewSecret(private), Insecure: true}, ""},
		"it does not mind, old":  {wrongHost, core.Repository{SSHPrivateKey: core.NewSecret(private), InsecureIgnoreHostKey: true}, ""},
		"not a key":              {server.known, core.Repository{SSHPrivateKey: core.NewSecret(canary)}, "CredentialsInvalid"},
		"a proxy, not supported": {server.known, core.Repository{SSHPrivateKey: core.NewSecret(private), Proxy: "socks5://h:1"}, "ProxyUnsupported"},
		"a revoked host": {
			server.known + "\n@revoked * " + strings.SplitN(server.known, " ", 2)[1],
			core.Repository{SSHPrivateKey: core.NewSecret(private)},
			"HostKeyUnknown",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entry := test.entry
			entry.URL = at
			store, record := spied(t, (&book{}).write(core.Trust{KnownHosts: test.known}, entry))
			got, _, err := store.Resolve(t.Context(), manifest.Origin{RepoURL: at, Revision: "main"}, 0)
			if fault.ReasonOf(err) != test.reason || (err == nil) != (got == commit) {
				t.Fatalf("Resolve = %s, %v; want %q", got, err, test.reason)
			}
			if strings.Contains(fmt.Sprint(err), canary) {
				t.Errorf("the message %q has the key", err)
			}
			if err == nil {
				if data, err := fs.ReadFile(tree(t, store, at, commit), "a"); err != nil || string(data) != "1" {
					t.Errorf("ReadFile = %q, %v", data, err)
				}
				wantNothingLeft(t, store, record(), strings.Split(private, "\n")[1], "PRIVATE KEY")
			}
		})
	}
}
