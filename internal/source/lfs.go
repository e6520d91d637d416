package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/towline-cd/towline/internal/core/fault"
	core "github.com/towline-cd/towline/internal/core/repository"
)

// maxPointer is how large a pointer of Git LFS may be, by its own rules.
const maxPointer = 1024

// pointer is what git has in place of a large file.
type pointer struct {
	oid  string
	size int64
}

var lfsPointer = regexp.MustCompile(`^version https://git-lfs\.github\.com/spec/v1\n` +
	`(?:ext-[^\n]+\n)*oid sha256:([0-9a-f]{64})\nsize ([0-9]{1,18})\n$`)

func parsePointer(content []byte) (pointer, bool) {
	if len(content) > maxPointer {
		return pointer{}, false
	}
	found := lfsPointer.FindSubmatch(content)
	if found == nil {
		return pointer{}, false
	}
	size, err := strconv.ParseInt(string(found[2]), 10, 64)
	return pointer{oid: string(found[1]), size: size}, err == nil
}

// large has the content of large files; it is nil where the entry of the repository does not ask for them.
type large func(p pointer) ([]byte, error)

func (s *Store) newLarge(ctx context.Context, repo *repository) large {
	entry := repo.entry.Load()
	if entry == nil || !entry.EnableLFS {
		return nil
	}
	return func(p pointer) ([]byte, error) {
		if p.size > s.maxFile {
			return nil, fault.Terminalf("FileTooLarge", "it is %d bytes long, the limit is %d", p.size, s.maxFile)
		}
		data, err := s.largeFile(ctx, repo, p)
		if err != nil && fault.ReasonOf(err) == "" {
			err = fault.Transientf("LFSFailed", "%w", err)
		}
		if err != nil {
			return nil, fmt.Errorf("fetching the large file %s of %s: %w", p.oid[:10], repo.at.shown, err)
		}
		return data, nil
	}
}

// largeFile is kept with its repository, under the digest of its content, which is checked whenever it is read.
func (s *Store) largeFile(ctx context.Context, repo *repository, p pointer) ([]byte, error) {
	name := filepath.Join(repo.dir, "lfs", p.oid)
	if data, err := os.ReadFile(name); err == nil && p.is(data) {
		return data, nil
	}
	got, err, _ := s.fetching.Do("lfs "+repo.key+" "+p.oid, func() (any, error) {
		data, err := s.downloadLarge(ctx, repo, p)
		if err != nil {
			return nil, err
		}
		// Under another name first, so that half of it is never found.
		fresh := name + unfinished
		err = errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(fresh, data, 0o600), os.Rename(fresh, name))
		return data, err
	})
	data, _ := got.([]byte)
	return data, err
}

func (p pointer) is(data []byte) bool {
	sum := sha256.Sum256(data)
	return int64(len(data)) == p.size && hex.EncodeToString(sum[:]) == p.oid
}

// action is how the server wants a file to be fetched.
type action struct {
	Href   string            `json:"href"`
	Header map[string]string `json:"header"`
}

func (s *Store) downloadLarge(ctx context.Context, repo *repository, p pointer) ([]byte, error) {
	if repo.at.scheme != "https" && repo.at.scheme != "http" {
		return nil, fault.Terminalf("LFSUnsupported", "large files are not fetched over SSH; use an HTTPS URL for this repository")
	}
	entry := repo.entry.Load()
	client, header, err := s.httpClient(ctx, repo, *entry)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	way, err := askForLarge(ctx, client, repo.at.url, header, p)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, way.Href, nil)
	if err != nil {
		return nil, errors.New("the server named a URL that is none")
	}
	for name, value := range way.Header {
		request.Header.Set(name, value)
	}
	// Our own login is for our own host, and for who did not give us another.
	if at, err := url.Parse(repo.at.url); err == nil && header != "" && request.Header.Get("Authorization") == "" &&
		at.Scheme == request.URL.Scheme && at.Host == request.URL.Host {
		request.Header.Set("Authorization", header)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, plainError(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %d", request.URL.Host, response.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, p.size+1))
	if err != nil {
		return nil, plainError(err)
	}
	if !p.is(data) {
		return nil, fmt.Errorf("%s sent something else than was asked for", request.URL.Host)
	}
	return data, nil
}

// plainError leaves the URL out, in which a server may have put a token.
func plainError(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

const lfsMedia = "application/vnd.git-lfs+json"

// askForLarge asks the server of the repository where the file is.
func askForLarge(ctx context.Context, client *http.Client, repoURL, header string, p pointer) (action, error) {
	body, err := json.Marshal(map[string]any{
		"operation": "download", "transfers": []string{"basic"}, "hash_algo": "sha256",
		"objects": []map[string]any{{"oid": p.oid, "size": p.size}},
	})
	if err != nil {
		return action{}, fmt.Errorf("writing the question: %w", err)
	}
	target := spelled(repoURL) + ".git/info/lfs/objects/batch"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return action{}, fmt.Errorf("writing the question: %w", err)
	}
	request.Header.Set("Accept", lfsMedia)
	request.Header.Set("Content-Type", lfsMedia)
	if header != "" {
		request.Header.Set("Authorization", header)
	}
	response, err := client.Do(request)
	if err != nil {
		return action{}, plainError(err)
	}
	defer response.Body.Close()
	switch code := response.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return action{}, fault.Terminalf("AuthenticationFailed", "%s answered %d; check the credentials of the repository",
			request.URL.Host, code)
	case code == http.StatusNotFound:
		return action{}, fault.Terminalf("LFSNotFound", "%s has no large files for this repository", request.URL.Host)
	case code != http.StatusOK:
		return action{}, fmt.Errorf("%s answered %d", request.URL.Host, code)
	}
	var said struct {
		Objects []struct {
			OID     string            `json:"oid"`
			Actions map[string]action `json:"actions"`
			Error   *struct {
				Code int `json:"code"`
			} `json:"error"`
		} `json:"objects"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&said); err != nil {
		return action{}, fmt.Errorf("%s answered with something that cannot be read", request.URL.Host)
	}
	for _, one := range said.Objects {
		way, ok := one.Actions["download"]
		if one.OID != p.oid || !ok {
			continue
		}
		if at, err := url.Parse(way.Href); err == nil && (at.Scheme == "https" || at.Scheme == "http") && at.Host != "" {
			return way, nil
		}
	}
	return action{}, fault.Terminalf("LFSNotFound", "%s does not have the file; was it pushed with `git lfs push`?", request.URL.Host)
}

// httpClient speaks with the host of a repository as git would: it trusts the same, goes the same way, and signs in with
// the same header.
func (s *Store) httpClient(ctx context.Context, repo *repository, entry core.Repository) (*http.Client, string, error) {
	at, err := url.Parse(repo.at.url)
	if err != nil {
		return nil, "", errors.New("the URL cannot be read")
	}
	if err := proxy(repo, entry, &session{}); err != nil {
		return nil, "", err
	}
	client, err := appClient(entry, at, s.trust())
	if err != nil {
		return nil, "", err
	}
	if transport, ok := client.Transport.(*http.Transport); ok && entry.TLSClientCert != "" {
		pair, err := tls.X509KeyPair([]byte(entry.TLSClientCert), []byte(entry.TLSClientKey.Reveal()))
		if err != nil {
			return nil, "", fault.Terminalf("CredentialsInvalid",
				"the client certificate cannot be used; correct the secret of the repository")
		}
		transport.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	user, password, err := s.httpLogin(ctx, entry)
	switch {
	case err != nil:
		return nil, "", err
	case !entry.BearerToken.Empty():
		return client, "Bearer " + entry.BearerToken.Reveal(), nil
	case password != "":
		return client, basicHeader(user, password), nil
	}
	return client, "", nil
}

// smudge gives the content of a large file in place of its pointer.
func (l large) smudge(content []byte) ([]byte, error) {
	if l == nil {
		return content, nil
	}
	p, ok := parsePointer(content)
	if !ok {
		return content, nil
	}
	return l(p)
}

// sizeOf is how large the file is that the content stands for.
func (l large) sizeOf(content []byte) int64 {
	if p, ok := parsePointer(content); ok && l != nil {
		return p.size
	}
	return int64(len(content))
}
