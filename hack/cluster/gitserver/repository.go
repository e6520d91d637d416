package gitserver

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The author of all commits, and the second of the first one; each later commit of a branch is a second younger.
// The same files and messages therefore always make the same commit ids.
const (
	author = "Towline Test <test@towline.invalid>"
	epoch  = 1767225600
)

// Create makes a bare repository with a first commit of the files on branch main. A name may hold slashes.
func (s *Server) Create(repo string, files map[string]string) error {
	dir := s.dir(repo)
	if _, err := os.Stat(dir); err == nil {
		return fmt.Errorf("creating repository %q: it exists", repo)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("creating repository %q: %w", repo, err)
	}
	if _, err := s.git(dir, nil, "init", "--quiet", "--bare", "--initial-branch=main", "--template="); err != nil {
		return fmt.Errorf("creating repository %q: %w", repo, err)
	}
	if err := configure(dir); err != nil {
		return fmt.Errorf("creating repository %q: %w", repo, err)
	}
	changes := make(map[string]*string, len(files))
	for path, content := range files {
		changes[path] = &content
	}
	_, err := s.Commit(repo, "main", "first", changes)
	return err
}

// configure appends settings to a new repository's config, in one write where git would be run once for each.
func configure(dir string) error {
	config, err := os.OpenFile(filepath.Join(dir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer config.Close()
	_, err = config.WriteString(`[http]
	receivepack = true
[uploadpack]
	allowAnySHA1InWant = true
	allowReachableSHA1InWant = true
	allowFilter = true
[receive]
	autogc = false
[gc]
	auto = 0
[protocol]
	version = 2
`)
	return err
}

// Commit changes files of a branch and returns the id of the new commit; nil deletes a file or a folder, and no
// changes make an empty commit. A branch that does not exist starts at main.
func (s *Server) Commit(repo, branch, message string, changes map[string]*string) (sha string, err error) {
	s.commits.Lock()
	defer s.commits.Unlock()
	dir := s.dir(repo)
	parent, number := s.tip(dir, "refs/heads/"+branch)
	if parent == "" {
		parent, number = s.tip(dir, "refs/heads/main")
	}
	stream, err := commitStream(commit{branch: branch, message: message, parent: parent, number: number, changes: changes})
	if err != nil {
		return "", fmt.Errorf("committing to %q: %w", repo, err)
	}
	if _, err := s.git(dir, stream, "fast-import", "--quiet", "--force"); err != nil {
		return "", fmt.Errorf("committing to %q: %w", repo, err)
	}
	return s.Revision(repo, "refs/heads/"+branch)
}

// Revision returns the id of the commit that a ref or an expression names.
func (s *Server) Revision(repo, name string) (string, error) {
	sha, err := s.git(s.dir(repo), nil, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("looking for %q in %q: %w", name, repo, err)
	}
	return sha, nil
}

// SetRef points a full ref (refs/heads/…, refs/tags/…) at a revision, whatever it was before; an empty revision
// deletes it. It makes tags, and what a force push does.
func (s *Server) SetRef(repo, ref, revision string) error {
	args := []string{"update-ref", "-d", ref}
	if revision != "" {
		args = []string{"update-ref", ref, revision}
	}
	if _, err := s.git(s.dir(repo), nil, args...); err != nil {
		return fmt.Errorf("setting %q of %q: %w", ref, repo, err)
	}
	return nil
}

func (s *Server) dir(repo string) string {
	return filepath.Join(s.root, filepath.FromSlash(repo)+".git")
}

// tip returns a ref's commit and how many commits led to it; empty if there is no such ref.
func (s *Server) tip(dir, ref string) (sha string, number int) {
	sha, err := s.git(dir, nil, "rev-parse", "--verify", "--quiet", ref)
	if err != nil {
		return "", 0
	}
	text, err := s.git(dir, nil, "rev-list", "--count", sha)
	if err != nil {
		return sha, 0
	}
	number, _ = strconv.Atoi(text)
	return sha, number
}

type commit struct {
	branch, message, parent string
	number                  int
	changes                 map[string]*string
}

// commitStream writes the commit in the language of git fast-import.
func commitStream(c commit) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "commit refs/heads/%s\ncommitter %s %d +0000\n", c.branch, author, epoch+c.number)
	fmt.Fprintf(&out, "data %d\n%s\n", len(c.message), c.message)
	if c.parent != "" {
		fmt.Fprintf(&out, "from %s\n", c.parent)
	}
	paths := make([]string, 0, len(c.changes))
	for path := range c.changes {
		if path == "" || strings.ContainsAny(path, "\n\"\\") {
			return nil, fmt.Errorf("naming a file %q: quotes, backslashes and line ends are not supported", path)
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		content := c.changes[path]
		if content == nil {
			fmt.Fprintf(&out, "D %s\n", path)
			continue
		}
		fmt.Fprintf(&out, "M 100644 inline %s\ndata %d\n%s\n", path, len(*content), *content)
	}
	return out.Bytes(), nil
}

// environment keeps the user's and the system's git settings out.
func (s *Server) environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + s.home,
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_TERMINAL_PROMPT=0",
		"LC_ALL=C",
	}
}

func (s *Server) git(dir string, stdin []byte, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = s.environment()
	cmd.Stdin = bytes.NewReader(stdin)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("running git %s: %w: %s", args[0], err, bytes.TrimSpace(problem.Bytes()))
	}
	return strings.TrimSpace(out.String()), nil
}
