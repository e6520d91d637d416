package source

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// maxRefs bounds what a remote may say about its refs: about half a million of them.
const maxRefs = 64 << 20

// answer is what a remote said about its refs.
type answer struct {
	seen  time.Time         // when it was asked, so that it can only be newer than we say
	named map[string]string // HEAD, branches and tags → commit
	tags  map[string]string // annotated tags → the tag itself
	rest  []byte            // the lines of all other refs, which are many and hardly ever asked for
}

// remote remembers the last answer and lets callers share a question.
type remote struct {
	mu     sync.Mutex
	last   *answer
	asking *question // sent
	next   *question // to be sent when asking is answered

	missed map[string]time.Time // names that were not there → when the remote was asked because of them
}

// maxMissed bounds the wrong names that are remembered.
const maxMissed = 100

// doubts says whether the remote is to be asked again because the last answer lacks a name: not if it just was.
func (r *remote) doubts(name string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.missed, func(_ string, asked time.Time) bool { return now.Sub(asked) > freshEnough })
	if _, just := r.missed[name]; just || len(r.missed) >= maxMissed {
		return false
	}
	if r.missed == nil {
		r.missed = map[string]time.Time{}
	}
	r.missed[name] = now
	return true
}

type question struct {
	asked  time.Time
	done   chan struct{}
	answer *answer
	err    error
}

// ask returns an answer that is not older than maxAge, or one to a question that is asked from now on.
func (s *Store) ask(ctx context.Context, repo *repository, maxAge time.Duration) (*answer, error) {
	q, last := s.join(ctx, repo, maxAge)
	if q == nil {
		return last, nil
	}
	select {
	case <-q.done:
		return q.answer, q.err
	case <-ctx.Done():
		return nil, fault.Transientf("Cancelled", "waiting for the refs of %s: %w", repo.at.shown, context.Cause(ctx))
	}
}

func (s *Store) join(ctx context.Context, repo *repository, maxAge time.Duration) (*question, *answer) {
	r := &repo.heads
	r.mu.Lock()
	defer r.mu.Unlock()
	oldest := s.now().Add(-maxAge)
	if maxAge > 0 && r.last != nil && !r.last.seen.Before(oldest) {
		return nil, r.last
	}
	if r.asking == nil {
		r.asking = &question{asked: s.now(), done: make(chan struct{})}
		go s.answerQuestions(ctx, repo, r.asking)
		return r.asking, nil
	}
	if maxAge > 0 && !r.asking.asked.Before(oldest) {
		return r.asking, nil
	}
	if r.next == nil {
		r.next = &question{done: make(chan struct{})}
	}
	return r.next, nil
}

// answerQuestions asks the remote until nobody waits.
func (s *Store) answerQuestions(ctx context.Context, repo *repository, q *question) {
	for q != nil {
		q.answer, q.err = s.listRefs(ctx, repo, q.asked)
		next, moved := repo.heads.settle(q, s.now)
		if moved && s.looked != nil {
			s.looked(repo.written)
		}
		q = next
	}
}

// settle hands out the answer and returns the question that has to be asked next, if there is one. moved says that a
// branch or tag is elsewhere than in the last answer.
func (r *remote) settle(q *question, now func() time.Time) (next *question, moved bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.err == nil {
		moved = r.last == nil || !maps.Equal(r.last.named, q.answer.named) || !bytes.Equal(r.last.rest, q.answer.rest)
		r.last = q.answer
	}
	if q.err != nil && r.last != nil {
		// Who goes on with what was known must be able to say how old that is.
		q.err = &fault.Error{
			Class: fault.ClassOf(q.err), Reason: fault.ReasonOf(q.err),
			Err: fmt.Errorf("%w; what is known is from %s", q.err, r.last.seen.UTC().Format(time.RFC3339)),
		}
	}
	close(q.done)
	r.asking, r.next = r.next, nil
	if r.asking != nil {
		r.asking.asked = now()
	}
	return r.asking, moved
}

// Looked is when the remote was last asked with success, for people to see; the zero time if it never was. Of several
// logins the latest counts.
func (s *Store) Looked(repoURL string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	var last time.Time
	for _, repo := range s.repos {
		if repo.written != repoURL {
			continue
		}
		repo.heads.mu.Lock()
		if a := repo.heads.last; a != nil && a.seen.After(last) {
			last = a.seen
		}
		repo.heads.mu.Unlock()
	}
	return last
}

func (s *Store) listRefs(ctx context.Context, repo *repository, asked time.Time) (*answer, error) {
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	s.lsRemotes.Add(1)
	begun := s.now()
	out, err := s.lsRemote(ctx, repo)
	if repo.elsewhere(err) {
		out, err = s.lsRemote(ctx, repo)
	}
	s.tell(Asked{Repo: repo.at.shown, What: "ls-remote", Took: s.now().Sub(begun), Err: err})
	if err != nil {
		return nil, err
	}
	return parseRefs(out, asked), nil
}

func (s *Store) lsRemote(ctx context.Context, repo *repository) ([]byte, error) {
	with, err := s.signIn(ctx, repo)
	if err != nil {
		return nil, err
	}
	defer with.end()
	return s.git.run(ctx, call{
		doing: "asking " + repo.at.shown + " for its refs", with: with, limit: maxRefs,
		args: []string{"ls-remote", "--quiet", "--", repo.target()},
	})
}

func parseRefs(out []byte, seen time.Time) *answer {
	a := &answer{seen: seen, named: map[string]string{}, tags: map[string]string{}}
	for line := range bytes.Lines(out) {
		sha, ref, ok := strings.Cut(strings.TrimRight(string(line), "\r\n"), "\t")
		if !ok || !isSHA(sha) {
			continue
		}
		ref, peeled := strings.CutSuffix(ref, "^{}")
		if ref != "HEAD" && !strings.HasPrefix(ref, "refs/heads/") && !strings.HasPrefix(ref, "refs/tags/") {
			a.rest = append(a.rest, line...)
			continue
		}
		last, known := a.named[ref]
		if known && peeled {
			a.tags[ref] = last
		}
		if !known || peeled {
			a.named[ref] = sha
		}
	}
	return a
}

// find looks a full ref up.
func (a *answer) find(ref string) (string, bool) {
	if sha, ok := a.named[ref]; ok {
		return sha, true
	}
	found := ""
	for line := range bytes.Lines(a.rest) {
		sha, name, _ := strings.Cut(strings.TrimSpace(string(line)), "\t")
		if name == ref || name == ref+"^{}" {
			found = sha
		}
	}
	return found, found != ""
}

// refOf is a branch or tag that stands at commit, or "".
func (a *answer) refOf(commit string) string {
	first := ""
	for ref, sha := range a.named {
		if sha == commit && ref != "HEAD" && (first == "" || ref < first) {
			first = ref
		}
	}
	return first
}

// lookup follows the order of Argo CD: a range of versions among the tags, then a ref by its name, where a branch wins
// over a tag of the same name.
func (s *Store) lookup(repo *repository, a *answer, of manifest.Origin) (string, error) {
	revision := of.Revision
	allowed, ranged := versionRange(revision)
	if ranged {
		if tag := a.newest(allowed, of.TagPrefix); tag != "" {
			return a.named["refs/tags/"+tag], nil
		}
	}
	if revision == "" || revision == "HEAD" {
		if sha, ok := a.find("HEAD"); ok {
			return sha, nil
		}
		return "", fault.Terminalf("RevisionNotFound", "%s has no HEAD: it is empty, or its default branch does not exist; "+
			"push to it or name a branch in targetRevision", repo.at.shown)
	}
	for _, ref := range candidates(of) {
		if sha, ok := a.find(ref); ok {
			return sha, nil
		}
	}
	if isShortSHA(revision) {
		return s.lookupShort(repo, a, strings.ToLower(revision))
	}
	if ranged {
		return "", noVersion(repo.at, of)
	}
	near := ""
	if names := nearNames(revision, a.named); len(names) > 0 {
		near = fmt.Sprintf("; near names are %s", strings.Join(names, ", "))
	}
	return "", fault.Terminalf("RevisionNotFound", "%s has no branch, tag or ref %q%s", repo.at.shown, revision, near)
}

// candidates are the refs that a revision may stand for, in the order in which they are looked for.
func candidates(of manifest.Origin) []string {
	revision := of.Revision
	refs := []string{"refs/heads/" + revision, "refs/tags/" + revision, "refs/tags/" + of.TagPrefix + revision, "refs/" + revision}
	if strings.HasPrefix(revision, "refs/") {
		refs = append([]string{revision}, refs...)
	}
	return refs
}

// lookupShort finds the one commit that begins so, among those that the remote named and those that we have.
func (s *Store) lookupShort(repo *repository, a *answer, short string) (string, error) {
	found := map[string]bool{}
	for _, sha := range a.named {
		if strings.HasPrefix(sha, short) {
			found[sha] = true
		}
	}
	for _, sha := range repo.kept() {
		if strings.HasPrefix(sha, short) {
			found[sha] = true
		}
	}
	if len(found) > 1 {
		return "", fault.Terminalf("RevisionAmbiguous", "%q stands for %d commits of %s; write the full SHA of 40 digits",
			short, len(found), repo.at.shown)
	}
	for sha := range found {
		repo.touch(sha, s.now()) // only who has it knows what the beginning stands for
		return sha, nil
	}
	return "", fault.Terminalf("RevisionNotFound", "%q is no branch or tag of %s, and a server cannot be asked for the beginning "+
		"of a SHA; write the full SHA of 40 digits", short, repo.at.shown)
}
