package source

import (
	"bufio"
	"context"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// AskpassName is the name that our own program is called by when git asks it for a login. It is a link in the folder of
// a session, next to the socket where the answer is.
const AskpassName = "git-askpass"

const askpassSocket = "login"

// askpassPatience bounds a talk of one line each way.
const askpassPatience = 10 * time.Second

// login is what git is told when it asks.
type login struct{ user, password string }

// serveLogin lets the git process of the session ask for the login, for this scheme, host and port only: a server that
// sends git elsewhere does not take the login along.
func (s *Store) serveLogin(ctx context.Context, repo *repository, made *session, with login) error {
	dir, err := made.folder(&s.vault)
	if err != nil {
		return err
	}
	at, err := url.Parse(repo.at.url)
	if err != nil {
		return fmt.Errorf("reading the URL again: %w", os.ErrInvalid)
	}
	token := filepath.Base(dir)
	_, err = made.listen(ctx, &s.vault, askpassSocket, func(conn net.Conn) {
		_ = conn.SetDeadline(time.Now().Add(askpassPatience))
		lines := bufio.NewReader(io.LimitReader(conn, 8<<10))
		said, err := lines.ReadString('\n')
		if err != nil || subtle.ConstantTimeCompare([]byte(strings.TrimSpace(said)), []byte(token)) != 1 {
			return
		}
		prompt, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if answer, ok := with.answer(prompt, at); ok {
			_, _ = io.WriteString(conn, "+"+answer+"\n")
		}
	})
	if err != nil {
		return err
	}
	helper := filepath.Join(dir, AskpassName)
	if err := os.Symlink(s.self, helper); err != nil {
		return fmt.Errorf("naming the helper program: %w", err)
	}
	made.env = append(made.env, "GIT_ASKPASS="+helper)
	return nil
}

// answer is for a prompt like "Password for 'https://bot@example.com': ".
func (l login) answer(prompt string, at *url.URL) (string, bool) {
	_, rest, opened := strings.Cut(prompt, "'")
	end := strings.LastIndexByte(rest, '\'')
	if !opened || end < 0 {
		return "", false
	}
	asked, err := url.Parse(rest[:end])
	if err != nil || asked.Scheme != at.Scheme || !strings.EqualFold(asked.Host, at.Host) {
		return "", false
	}
	switch {
	case strings.HasPrefix(prompt, "Username"):
		return l.user, true
	case strings.HasPrefix(prompt, "Password"):
		return l.password, true
	}
	return "", false
}

// Askpass is the program that git runs to ask for a login: args are those of the process. It asks the process that
// started git, which alone knows it, and returns the code to exit with.
func Askpass(ctx context.Context, args []string, out io.Writer) int {
	if len(args) != 2 || strings.ContainsAny(args[1], "\r\n") {
		return 2
	}
	dir := filepath.Dir(args[0])
	dialer := net.Dialer{Timeout: askpassPatience}
	conn, err := dialer.DialContext(ctx, "unix", filepath.Join(dir, askpassSocket))
	if err != nil {
		return 1
	}
	defer conn.Close() //nolint:errcheck // the process ends with it
	_ = conn.SetDeadline(time.Now().Add(askpassPatience))
	if _, err := io.WriteString(conn, filepath.Base(dir)+"\n"+args[1]+"\n"); err != nil {
		return 1
	}
	answer, err := bufio.NewReader(io.LimitReader(conn, 1<<20)).ReadString('\n')
	if err != nil || !strings.HasPrefix(answer, "+") {
		return 1
	}
	if _, err := io.WriteString(out, answer[1:]); err != nil {
		return 1
	}
	return 0
}
