package source

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // it is how git names objects
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/source/signature"
)

// Bounds on what is read to check signatures.
const (
	maxSigned  = 4 << 20 // bytes of a commit or a tag
	maxHistory = 100_000 // commits
)

// Signature says who signed what the origin names: the tag itself where its revision is an annotated tag, else the
// commit. The keys are those that the Book trusts. Something that is not signed, or not well, is an answer and no error.
func (s *Store) Signature(ctx context.Context, of manifest.Origin, commit string) (signature.Signature, error) {
	repo, err := s.repository(of)
	if err != nil {
		return signature.Signature{}, err
	}
	commit, err = s.ensure(ctx, repo, commit)
	if err != nil {
		return signature.Signature{}, err
	}
	if tag := repo.heads.tagOf(of, commit); tag.object != "" {
		return s.tagSignature(ctx, repo, tag, commit)
	}
	found, problem, err := s.signedCommit(ctx, repo, commit)
	if err != nil || problem != "" {
		return signature.Signature{Reason: problem}, err
	}
	return found.Check(s.trust().PublicKeys, s.now()), nil
}

// Verify checks what a project demands of a commit. why says what is missing, for people; it is empty when all is well.
func (s *Store) Verify(ctx context.Context, of manifest.Origin, commit string, demand policy.Demand) (why string, err error) {
	if demand.Mode == v1alpha1.SourceIntegrityGPGModeNone {
		return "", nil
	}
	found, err := s.Signature(ctx, of, commit)
	if err != nil {
		return "", err
	}
	if !found.By(demand.Keys) {
		return fmt.Sprintf("revision %s %s", short(commit), refusal(found)), nil
	}
	if demand.Mode == v1alpha1.SourceIntegrityGPGModeHead {
		return "", nil
	}
	repo, err := s.repository(of)
	if err != nil {
		return "", err
	}
	return s.verifyHistory(ctx, repo, strings.ToLower(commit), demand.Keys)
}

func refusal(found signature.Signature) string {
	if found.Good {
		return fmt.Sprintf("is signed by %s (%s), which the project does not list", found.Signer, found.Keys[len(found.Keys)-1])
	}
	return "is refused: " + found.Reason
}

func short(commit string) string { return commit[:min(len(commit), 10)] }

// verifyHistory goes back from a commit until each way ends at a commit that vouches for what is before it.
func (s *Store) verifyHistory(ctx context.Context, repo *repository, commit string, keys []string) (string, error) {
	if err := s.fetchHistory(ctx, repo, commit); err != nil {
		return "", err
	}
	trusted, now := s.trust().PublicKeys, s.now()
	seen := map[string]bool{commit: true}
	for queue := []string{commit}; len(queue) > 0; queue = queue[1:] {
		if len(seen) > maxHistory {
			return fmt.Sprintf("its history has more than %d commits; add a commit that seals it", maxHistory), nil
		}
		one, problem, err := s.signedCommit(ctx, repo, queue[0])
		if err != nil {
			return "", err
		}
		found := signature.Signature{Reason: problem}
		if problem == "" {
			found = one.Check(trusted, now)
		}
		if !found.By(keys) {
			return fmt.Sprintf("commit %s in the history of %s %s", short(queue[0]), short(commit), refusal(found)), nil
		}
		if one.Sealed {
			continue
		}
		for _, parent := range one.Parents {
			if !seen[parent] {
				seen[parent] = true
				queue = append(queue, parent)
			}
		}
	}
	return "", nil
}

// fetchHistory brings all commits that lead to one: this is the one who asks for history.
func (s *Store) fetchHistory(ctx context.Context, repo *repository, commit string) error {
	repo.writing.Lock()
	defer repo.writing.Unlock()
	s.fetches.Add(1)
	return s.fetchRefs(ctx, repo, fmt.Sprintf("fetching the history of commit %s of %s", commit, repo.at.shown), everything, commit)
}

// signedCommit reads a commit of which the name is proved.
func (s *Store) signedCommit(ctx context.Context, repo *repository, commit string) (found signature.Commit, problem string, err error) {
	data, problem, err := s.rawObject(ctx, repo, "commit", commit)
	if err != nil || problem != "" {
		return signature.Commit{}, problem, err
	}
	found, err = signature.ParseCommit(data)
	if err != nil {
		return signature.Commit{}, err.Error(), nil
	}
	return found, "", nil
}

func (s *Store) tagSignature(ctx context.Context, repo *repository, tag annotated, commit string) (signature.Signature, error) {
	doing := fmt.Sprintf("fetching the tag %s of %s", tag.name, repo.at.shown)
	// No ref leads to it, so it must be read before anybody tidies up.
	repo.writing.Lock()
	defer repo.writing.Unlock()
	err := s.fetchRefs(ctx, repo, doing, shallowest, tag.ref)
	if err != nil {
		return signature.Signature{}, err
	}
	data, problem, err := s.rawObject(ctx, repo, "tag", tag.object)
	if err != nil || problem != "" {
		return signature.Signature{Reason: problem}, err
	}
	found, err := signature.ParseTag(data)
	switch {
	case err != nil:
		return signature.Signature{Reason: err.Error()}, nil
	case found.Object != commit:
		return signature.Signature{Reason: fmt.Sprintf("its tag is of commit %s", short(found.Object))}, nil
	case found.Name != tag.name:
		return signature.Signature{Reason: fmt.Sprintf("its tag was made with the name %q", found.Name)}, nil
	}
	return found.Check(s.trust().PublicKeys, s.now()), nil
}

// rawObject reads an object and proves that it is the one with that name.
func (s *Store) rawObject(ctx context.Context, repo *repository, kind, hash string) (data []byte, problem string, err error) {
	data, err = s.git.run(ctx, call{
		doing: fmt.Sprintf("reading %s %s of %s", kind, hash, repo.at.shown), dir: repo.dir, limit: maxSigned,
		args: []string{"cat-file", kind, hash},
	})
	if fault.ReasonOf(err) == "OutputTooLarge" {
		return nil, "it is too large to be checked", nil
	}
	if err != nil {
		return nil, "", err
	}
	sum := sha1.New() //nolint:gosec // it is how git names objects
	fmt.Fprintf(sum, "%s %d\x00", kind, len(data))
	_, _ = sum.Write(data)
	if hex.EncodeToString(sum.Sum(nil)) != hash {
		return nil, "it does not have the content that its name stands for", nil
	}
	return bytes.Clone(data), "", nil
}

// annotated is an annotated tag as the remote named it.
type annotated struct{ ref, name, object string }

// tagOf is the annotated tag that the revision of an origin stands for, if it does and is of the commit.
func (r *remote) tagOf(of manifest.Origin, commit string) annotated {
	r.mu.Lock()
	last := r.last
	r.mu.Unlock()
	if last == nil || of.Revision == "" || isSHA(of.Revision) {
		return annotated{}
	}
	var names []string
	if allowed, ok := versionRange(of.Revision); ok {
		if tag := last.newest(allowed, of.TagPrefix); tag != "" {
			names = append(names, "refs/tags/"+tag)
		}
	}
	names = append(names, candidates(of)...)
	for _, ref := range names {
		if last.named[ref] == "" {
			continue
		}
		if object := last.tags[ref]; object != "" && last.named[ref] == commit {
			return annotated{ref: ref, name: strings.TrimPrefix(ref, "refs/tags/"), object: object}
		}
		return annotated{}
	}
	return annotated{}
}
