package source

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/towline-cd/towline/internal/core/fault"
	core "github.com/towline-cd/towline/internal/core/repository"
)

// session is what one git process signs in with. Everything secret is in a folder of its own that ends with it.
type session struct {
	dir     string      // "" while nothing had to be written
	env     []string    // further variables, none of them secret
	config  [][2]string // further settings, none of them secret
	private [][2]string // settings that may be secret, which go into a file
	hidden  []string    // what must not be seen in git's words
	ends    []func()
}

// end takes everything back. It may be called on nil.
func (s *session) end() {
	if s == nil {
		return
	}
	for _, end := range s.ends {
		end()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // what stays is removed with the parent, or by the next start
	}
}

// vault is the folder that holds the folders of sessions, in memory where the machine offers that.
type vault struct {
	mu     sync.Mutex
	dir    string
	record string // a file that says where the vault is, for the next process
}

// shared memory is no disk; whoever takes the machine away does not take it along.
const memoryFolder = "/dev/shm"

const vaultPrefix = "towline-"

// open makes the vault with the first use.
func (v *vault) open() (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dir != "" {
		return v.dir, nil
	}
	dir, err := os.MkdirTemp(memoryFolder, vaultPrefix)
	if err != nil {
		dir, err = os.MkdirTemp("", vaultPrefix)
	}
	if err != nil {
		return "", fmt.Errorf("making a private folder: %w", err)
	}
	if err := os.WriteFile(v.record, []byte(dir), 0o600); err != nil {
		return "", errors.Join(fmt.Errorf("noting the private folder: %w", err), os.RemoveAll(dir))
	}
	v.dir = dir
	return dir, nil
}

// sweep removes the vault of a process that was killed.
func (v *vault) sweep() error {
	data, err := os.ReadFile(v.record)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if dir := string(data); err == nil && strings.HasPrefix(filepath.Base(dir), vaultPrefix) && filepath.IsAbs(dir) {
		err = os.RemoveAll(dir)
	}
	return errors.Join(err, os.Remove(v.record))
}

func (v *vault) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dir == "" {
		return nil
	}
	return errors.Join(os.RemoveAll(v.dir), os.Remove(v.record))
}

// folder is the session's own; its name cannot be guessed, and is what a helper program proves itself by.
func (s *session) folder(v *vault) (string, error) {
	if s.dir != "" {
		return s.dir, nil
	}
	parent, err := v.open()
	if err != nil {
		return "", err
	}
	token := make([]byte, 16)
	_, _ = rand.Read(token) // it does not fail: it ends the process
	dir := filepath.Join(parent, hex.EncodeToString(token))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fmt.Errorf("making a private folder: %w", err)
	}
	s.dir = dir
	return dir, nil
}

// file writes something secret where only we can read it.
func (s *session) file(v *vault, name, content string) (string, error) {
	dir, err := s.folder(v)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return "", fmt.Errorf("writing a private file: %w", err)
	}
	return path, nil
}

// listen opens a socket in the session's folder and has each connection served until the session ends.
func (s *session) listen(ctx context.Context, v *vault, name string, serve func(net.Conn)) (string, error) {
	dir, err := s.folder(v)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return "", fmt.Errorf("opening a private socket: %w", err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			go func() {
				defer stop()
				defer conn.Close() //nolint:errcheck // nobody listens any more
				serve(conn)
			}()
		}
	}()
	s.ends = append(s.ends, func() { _ = listener.Close() })
	return path, nil
}

// signIn prepares one git process to talk to the repository. The caller ends the session.
func (s *Store) signIn(ctx context.Context, repo *repository) (*session, error) {
	made := &session{}
	entry := repo.entry.Load()
	if entry == nil {
		return made, nil // nobody told us of any entry
	}
	ctx, cancel := context.WithCancel(ctx)
	made.ends = append(made.ends, cancel)
	var err error
	switch repo.at.scheme {
	case "ssh":
		err = s.signInSSH(ctx, repo, *entry, made)
	case "https", "http":
		err = s.signInHTTP(ctx, repo, *entry, made)
	}
	if err == nil {
		err = made.write(&s.vault)
	}
	if err != nil {
		made.end()
		if fault.ReasonOf(err) == "" {
			err = fault.Transientf("SignInFailed", "signing in to %s: %w", repo.at.shown, err)
		}
		return nil, err
	}
	return made, nil
}

// write puts the private settings into a file that git reads as the user's own.
func (s *session) write(v *vault) error {
	if len(s.private) == 0 {
		return nil
	}
	var text strings.Builder
	for _, pair := range s.private {
		section, name, _ := strings.Cut(pair[0], ".")
		if strings.ContainsAny(pair[1], "\n\r\x00") {
			return fault.Terminalf("CredentialsInvalid", "%s holds a line break; correct the secret of the repository", name)
		}
		fmt.Fprintf(&text, "[%s]\n\t%s = \"%s\"\n", section, name, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(pair[1]))
	}
	path, err := s.file(v, "config", text.String())
	s.env = append(s.env, "GIT_CONFIG_GLOBAL="+path)
	return err
}

func (s *Store) signInHTTP(ctx context.Context, repo *repository, entry core.Repository, made *session) error {
	// Only a login that git itself asks for is kept to one host by it; what we send unasked would be sent anywhere.
	follow := entry.TLSClientCert == ""
	user, password, err := s.httpLogin(ctx, entry)
	if err != nil {
		return err
	}
	header := ""
	switch {
	case !entry.BearerToken.Empty():
		header = "Bearer " + entry.BearerToken.Reveal()
	case entry.ForceBasicAuth && password != "":
		header = basicHeader(user, password)
	case password != "":
		if err := s.serveLogin(ctx, repo, made, login{user: user, password: password}); err != nil {
			return err
		}
	}
	if header != "" {
		follow = false
		made.private = append(made.private, [2]string{"http.extraHeader", "Authorization: " + header})
		made.hidden = append(made.hidden, header, entry.BearerToken.Reveal())
	}
	made.hidden = append(made.hidden, password)
	if !follow {
		made.config = append(made.config, [2]string{"http.followRedirects", "false"})
	}
	if err := s.certificates(repo, entry, made); err != nil {
		return err
	}
	return proxy(repo, entry, made)
}

// httpLogin is the user and the password, or the token that stands for one.
func (s *Store) httpLogin(ctx context.Context, entry core.Repository) (user, password string, err error) {
	if entry.Username == "" && entry.Password.Empty() && entry.BearerToken.Empty() && !entry.GitHubApp.PrivateKey.Empty() {
		token, err := s.apps.token(ctx, entry, s.trust())
		return tokenUser, token, err
	}
	user = entry.Username
	if user == "" {
		user = tokenUser
	}
	return user, entry.Password.Reveal(), nil
}

func basicHeader(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// tokenUser goes with tokens, which say themselves whose they are.
const tokenUser = "x-access-token"

func (s *Store) trust() core.Trust {
	if s.book == nil {
		return core.Trust{}
	}
	return s.book.Trust()
}

// certificates are whom we believe, and who we are.
func (s *Store) certificates(repo *repository, entry core.Repository, made *session) error {
	if entry.Insecure {
		made.config = append(made.config, [2]string{"http.sslVerify", "false"})
	} else if authority := s.trust().Certificates[repo.at.host]; authority != "" {
		path, err := made.file(&s.vault, "authority.pem", authority)
		if err != nil {
			return err
		}
		// The variable of the installation would win over the setting of the repository.
		made.config = append(made.config, [2]string{"http.sslCAInfo", path})
		made.env = append(made.env, "GIT_SSL_CAINFO="+path)
	}
	if entry.TLSClientCert == "" {
		return nil
	}
	certificate, err := made.file(&s.vault, "client.pem", entry.TLSClientCert)
	if err != nil {
		return err
	}
	key, err := made.file(&s.vault, "client.key", entry.TLSClientKey.Reveal())
	made.config = append(made.config, [2]string{"http.sslCert", certificate}, [2]string{"http.sslKey", key})
	return err
}

var proxyHost = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?$`)

// proxy takes the way that the entry asks for. The URL may hold a login, so it goes where no one else reads.
func proxy(repo *repository, entry core.Repository, made *session) error {
	if entry.Proxy == "" {
		return nil
	}
	parsed, err := url.Parse(entry.Proxy)
	known := err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https" || parsed.Scheme == "socks5" || parsed.Scheme == "socks5h")
	if !known || !proxyHost.MatchString(parsed.Host) {
		return fault.Terminalf("ProxyRefused", "the proxy of %s is not of the form http://host:port, https://host:port or "+
			"socks5://host:port; correct the secret of the repository", repo.at.shown)
	}
	made.private = append(made.private, [2]string{"http.proxy", entry.Proxy})
	if password, ok := parsed.User.Password(); ok {
		made.hidden = append(made.hidden, password)
	}
	made.env = append(made.env, "NO_PROXY="+entry.NoProxy, "no_proxy="+entry.NoProxy)
	return nil
}
