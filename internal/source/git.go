package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
)

// program runs git with arguments that we write and an environment that owes nothing to the one we were started in.
type program struct {
	path    string
	home    string // an empty folder, in which git also runs when it needs no repository
	env     []string
	timeout time.Duration
	limits  limits
	slots   chan struct{} // one per process that may run at the same time
}

// limits are those of one git process: the bytes of one file that it writes, and of its memory.
type limits struct{ file, memory int64 }

// sshCommand is for those who were told of no entries: whoever the machine believes is believed, and nobody signs in.
const sshCommand = sshBase + " -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes -o IdentityAgent=none"

// settings are given to every git process. What is fetched is checked, written safely and never tidied behind our back;
// a ref alone need not outlive a power failure, since it says what its name says and whatever else it says is no ref; the
// three checks that are waived are of dates and modes, which old repositories got wrong and nobody reads.
var settings = [][2]string{
	{"core.hooksPath", "/dev/null"},
	{"core.fsync", "committed,-reference"},
	{"core.fsyncMethod", "batch"},
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	{"credential.helper", ""},
	{"fetch.fsckObjects", "true"},
	{"fetch.fsck.badTimezone", "ignore"},
	{"fetch.fsck.missingSpaceBeforeDate", "ignore"},
	{"fetch.fsck.zeroPaddedFilemode", "ignore"},
	{"http.followRedirects", "initial"},
	{"http.lowSpeedLimit", "1000"},
	{"http.lowSpeedTime", "20"},
	{"i18n.logOutputEncoding", "UTF-8"},
	{"log.showSignature", "false"},
	{"protocol.version", "2"},
}

func newProgram(o Options, home string) (program, error) {
	path, err := exec.LookPath(o.Git)
	if err != nil {
		return program{}, fmt.Errorf("finding the git program %q: %w", o.Git, err)
	}
	protocols := "https:http:ssh"
	if o.AllowFile {
		protocols += ":file"
	}
	return program{
		path: path, home: home, timeout: o.Timeout, limits: limits{file: o.MaxFetch, memory: o.MaxMemory},
		slots: make(chan struct{}, o.Parallel),
		env: append([]string{
			"PATH=" + filepath.Dir(path) + ":/usr/local/bin:/usr/bin:/bin",
			"HOME=" + home, "XDG_CONFIG_HOME=" + home, "LC_ALL=C",
			"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
			"GIT_CEILING_DIRECTORIES=" + filepath.Dir(home),
			"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "SSH_ASKPASS=/bin/false",
			"GIT_PROTOCOL_FROM_USER=0", "GIT_ALLOW_PROTOCOL=" + protocols,
			// Where the system does not bound memory, git itself refuses what is too much at once.
			"GIT_ALLOC_LIMIT=" + strconv.FormatInt(o.MaxMemory>>10, 10) + "k",
			"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_SSH_COMMAND=" + sshCommand,
		}, o.Env...),
	}, nil
}

// environment is complete. Nothing in it is secret: what is, is in a file of the session that the environment names.
func (p program) environment(dir string, with *session) []string {
	env := slices.Clone(p.env)
	if dir != "" {
		env = append(env, "GIT_DIR="+dir)
	}
	config := settings
	if with != nil {
		env = append(env, with.env...)
		config = slices.Concat(settings, with.config)
	}
	for i, pair := range config {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+pair[0], "GIT_CONFIG_VALUE_"+n+"="+pair[1])
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(config)))
}

// call is one run of git.
type call struct {
	doing string   // what it is for, for messages: a gerund and its object
	dir   string   // the bare repository, or "" for none
	with  *session // what it signs in with; nil where it talks to nobody
	args  []string
	stdin []byte
	limit int // bytes of output
}

// run returns what git wrote, or a fault that says what the failure asks for.
func (p program) run(ctx context.Context, c call) ([]byte, error) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, fault.Transientf("Cancelled", "%s: %w", c.doing, context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	command := p.command(ctx, c)
	stdout, stderr := &bounded{limit: c.limit, stop: cancel}, &bounded{limit: 16 << 10}
	command.Stdout, command.Stderr = stdout, stderr
	if c.stdin != nil {
		command.Stdin = bytes.NewReader(c.stdin)
	}
	err := command.Start()
	if err == nil {
		p.limits.bound(command)
		err = command.Wait()
	}
	if ctx.Err() != nil {
		endGroup(command)
	}
	if stdout.over {
		return nil, fault.Terminalf("OutputTooLarge", "%s: git answered with more than %d bytes", c.doing, c.limit)
	}
	if err == nil {
		return stdout.Bytes(), nil
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, fault.Transientf("Timeout", "%s: no end after %v", c.doing, p.timeout)
	}
	if ctx.Err() != nil {
		return nil, fault.Transientf("Cancelled", "%s: %w", c.doing, context.Cause(ctx))
	}
	return nil, classify(c.doing, c.with.hide(stderr.String()), err)
}

// hide takes what the session signs in with out of a text: a server may repeat it.
func (s *session) hide(text string) string {
	if s == nil {
		return text
	}
	for _, secret := range s.hidden {
		if len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret, "******")
		}
	}
	return text
}

func (p program) command(ctx context.Context, c call) *exec.Cmd {
	command := exec.CommandContext(ctx, p.path, c.args...)
	command.Dir, command.Env = p.home, p.environment(c.dir, c.with)
	endWithChildren(command)
	return command
}

// bounded keeps the first limit bytes, and ends the writer if it can when there are more.
type bounded struct {
	// Not embedded: who copies into it would use the buffer's own way to read, which knows no limit.
	kept  bytes.Buffer
	limit int
	over  bool
	stop  func()
}

// Write never fails, so that git is not told by a broken pipe.
func (b *bounded) Write(data []byte) (int, error) {
	if room := b.limit - b.kept.Len(); len(data) > room {
		b.kept.Write(data[:max(room, 0)])
		if b.over = true; b.stop != nil {
			b.stop()
		}
		return len(data), nil
	}
	return b.kept.Write(data)
}

// Bytes is what was kept.
func (b *bounded) Bytes() []byte { return b.kept.Bytes() }

// String is what was kept, as text.
func (b *bounded) String() string { return b.kept.String() }

// complaints are what git says when a person has to act, in the order in which they are looked for.
var complaints = []struct{ says, reason, advice string }{
	{"no space left on device", "", ""},
	{"died of signal 25", "RepositoryTooLarge", "it is larger than the limit of one fetch"},
	{"file too large", "RepositoryTooLarge", "it is larger than the limit of one fetch"},
	{"out of memory", "RepositoryTooLarge", "it takes more memory than git is given"},
	{"attempting to allocate", "RepositoryTooLarge", "it takes more memory than git is given"},
	{"returned error: 30", "RepositoryMoved", "the server says that it is elsewhere, and a login is not taken along; write the new URL"},
	{"does not allow request for unadvertised object", "ObjectNotAdvertised", "the server only gives out branches and tags"},
	{"not our ref", "CommitNotFound", "the repository has no such commit; was it removed by a forced push?"},
	{"couldn't find remote ref", "RevisionNotFound", "the repository has no such branch or tag any more"},
	{"returned error: 401", "AuthenticationFailed", "check the credentials of the repository"},
	{"returned error: 403", "AuthenticationFailed", "check the rights of the credentials of the repository"},
	{"authentication failed", "AuthenticationFailed", "check the credentials of the repository"},
	{"could not read username", "AuthenticationFailed", "the repository does not exist or needs credentials"},
	{"could not read password", "AuthenticationFailed", "the repository needs credentials"},
	{"permission denied (", "AuthenticationFailed", "check the credentials of the repository"},
	{"access denied", "AuthenticationFailed", "check the credentials of the repository"},
	{"host key verification failed", "HostKeyUnknown", "add the host's key to the known hosts"},
	{"certificate problem", "CertificateInvalid", "add the certificate authority of the host"},
	{"certificate verification failed", "CertificateInvalid", "add the certificate authority of the host"},
	{"returned error: 404", "RepositoryNotFound", "check the URL"},
	{"repository not found", "RepositoryNotFound", "check the URL and the credentials"},
	{"' not found", "RepositoryNotFound", "check the URL"},
	{"does not appear to be a git repository", "RepositoryNotFound", "check the URL"},
	{"could not be found", "RepositoryNotFound", "check the URL and the credentials"},
	{"' not allowed", "TransportRefused", "use https, http or ssh"},
	{"mismatched algorithms", "ObjectFormat", "repositories of SHA-256 objects are not supported"},
	{"fsck error", "ObjectRefused", "the repository holds a malformed object"},
	{"dumb http transport", "RepositoryNotFound", "the server does not speak git's smart protocol at this URL"},
}

// classify turns what git said into a fault. What it does not know is taken for the network, and tried again.
func classify(doing, stderr string, err error) error {
	said := strings.ToLower(stderr)
	for _, complaint := range complaints {
		if !strings.Contains(said, complaint.says) {
			continue
		}
		if complaint.reason == "" {
			break
		}
		return fault.Terminalf(complaint.reason, "%s: %s (git: %s)", doing, complaint.advice, summary(stderr))
	}
	if text := summary(stderr); text != "" {
		return fault.Transientf("GitFailed", "%s: git: %s", doing, text)
	}
	return fault.Transientf("GitFailed", "%s: git: %w", doing, err)
}

// summary is the part of git's words that fits into a message.
func summary(stderr string) string {
	var kept []string
	for line := range bytes.Lines([]byte(stderr)) {
		text := strings.TrimSpace(string(line))
		if text == "" || strings.HasPrefix(text, "hint:") {
			continue
		}
		kept = append(kept, text)
	}
	text := redact(strings.Join(kept, "; "))
	if len(text) > 500 {
		text = strings.ToValidUTF8(text[:500], "") + "…"
	}
	return text
}
