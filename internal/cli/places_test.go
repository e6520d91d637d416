package cli_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/login"
	"github.com/towline-cd/towline/internal/core/repository"
)

// places are what an installation knows of the world besides clusters, and the
// file of logins.
type places struct {
	templates    []repository.Template
	certificates []repository.Certificate
	keys         []repository.PublicKey
	live         []*unstructured.Unstructured
	book         *login.Book
	written      map[string]string
	lines        []string
	refusal      error
}

func (p *places) add(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

func (p *places) join(env *cli.Env) {
	env.Certificates = func(context.Context, cli.Flags) (cli.Certificates, error) { return p, nil }
	env.PublicKeys = func(context.Context, cli.Flags) (cli.PublicKeys, error) { return p, nil }
	env.Backup = func(context.Context, cli.Flags, cli.Namespaces) (cli.Backup, error) { return backups{p}, nil }
	env.WriteFile = func(name string, text []byte) error {
		p.written = map[string]string{name: string(text)}
		return nil
	}
	env.CheckSettings = func(data map[string]string) cli.SettingsReport {
		var out cli.SettingsReport
		for k, v := range data {
			if v == "bad" {
				out.Problems = append(out.Problems, k+": it is bad")
			} else if v == "odd" {
				out.NotHonoured = append(out.NotHonoured, k)
			}
		}
		return out
	}
	env.SettingsData = func(context.Context, cli.Flags) (map[string]string, error) {
		return map[string]string{"accounts.ci": "bad"}, nil
	}
	if p.book != nil {
		env.Logins = p
	}
}

func (p *places) Read(string) (login.Book, error) { return *p.book, nil }

func (p *places) Write(_ string, b login.Book) error {
	p.book = &b
	return nil
}

func (p *places) Certificates(context.Context) ([]repository.Certificate, error) {
	return p.certificates, p.refusal
}

func (p *places) AddCertificates(_ context.Context, list []repository.GivenCertificate, upsert bool) ([]repository.Certificate, error) {
	var out []repository.Certificate
	for _, c := range list {
		p.add("trust %s %s, upsert: %t", c.CertType, c.ServerName, upsert)
		out = append(out, repository.Certificate{ServerName: c.ServerName, CertType: c.CertType, CertSubType: c.CertSubType})
	}
	return out, p.refusal
}

func (p *places) RemoveCertificates(_ context.Context, of repository.Certificate) ([]repository.Certificate, error) {
	var out []repository.Certificate
	for _, c := range p.certificates {
		if repository.MatchesHost(of.ServerName, c.ServerName) && (of.CertType == "" || of.CertType == c.CertType) {
			out = append(out, c)
		}
	}
	return out, p.refusal
}

func (p *places) Keys(context.Context) ([]repository.PublicKey, error) { return p.keys, p.refusal }

func (p *places) AddKeys(_ context.Context, armoured string, _ bool) (created, skipped []string, err error) {
	return strings.Fields(armoured), []string{"OLD"}, p.refusal
}

func (p *places) RemoveKey(_ context.Context, id string) error {
	for _, k := range p.keys {
		if k.KeyID == id {
			p.add("distrust %s", id)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "key"}, id)
}

// backups are places with another Read.
type backups struct{ *places }

func (b backups) Read(context.Context) ([]*unstructured.Unstructured, error) {
	return b.live, b.refusal
}

func (b backups) Create(_ context.Context, u *unstructured.Unstructured, dryRun bool) error {
	b.add("create %s %s, dry run: %t", u.GetKind(), u.GetName(), dryRun)
	return nil
}

func (b backups) Update(_ context.Context, u *unstructured.Unstructured, dryRun, anyway bool) error {
	b.add("update %s %s, dry run: %t, anyway: %t", u.GetKind(), u.GetName(), dryRun, anyway)
	return nil
}

func (b backups) Delete(_ context.Context, u *unstructured.Unstructured, dryRun bool) error {
	b.add("delete %s %s, dry run: %t", u.GetKind(), u.GetName(), dryRun)
	return nil
}

const hostKey = "AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"

func part(kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": "argocd", "uid": "uid-of-" + name}, "spec": spec,
	}}
}

func TestPlaces(t *testing.T) {
	taken := errors.New("it is there already")
	for name, c := range map[string]struct {
		words   string
		files   map[string]string
		in      string
		places  places
		code    int
		out     string
		err     string
		wrote   []string
		without string
	}{
		"a repository with a password from the input": {
			words: "repo add https://git.example.com/shop.git --username ci --enable-lfs", in: "hush\n",
			out: "Repository 'https://git.example.com/shop.git' added\n", without: "hush",
			wrote: []string{"repository: enableLfs=true", "repository: password=hush", "repository: type=git", "repository: url=https://git.example.com/shop.git", "repository: username=ci"},
		},
		"a repository with a key": {
			words: "repo add git@git.example.com:shop.git --ssh-private-key-path key --insecure-ignore-host-key --upsert --project retail",
			files: map[string]string{"key": "KEY\n"}, out: "Repository 'git@git.example.com:shop.git' added\n",
			wrote: []string{
				"repository: insecure=true", "repository: insecureIgnoreHostKey=true", "repository: project=retail",
				"repository: sshPrivateKey=KEY", "repository: type=git", "repository: url=git@git.example.com:shop.git", "in place of what is there",
			},
		},
		"a GitHub App for many": {
			words: "repocreds add https://github.com/shop --github-app-id 1 --github-app-installation-id 2 --github-app-private-key-path key",
			files: map[string]string{"key": "KEY"}, out: "Repository credentials for 'https://github.com/shop' added\n",
			wrote: []string{
				"repo-creds: githubAppID=1", "repo-creds: githubAppInstallationID=2", "repo-creds: githubAppPrivateKey=KEY",
				"repo-creds: type=git", "repo-creds: url=https://github.com/shop",
			},
		},
		"nobody to ask for a password":     {words: "repo add https://git.example.com/shop.git --username ci", code: 2, err: "add --password"},
		"a Helm repository without a name": {words: "repo add https://charts.example.com --type helm", code: 2, err: "needs a --name"},
		"a key of SSH for HTTPS":           {words: "repo add https://x --ssh-private-key-path key", code: 2, err: "is for addresses of SSH"},
		"half a certificate":               {words: "repo add https://x --tls-client-cert-path cert", code: 2, err: "come together"},
		"a login that is not there":        {words: "repo add https://x --gcp-service-account-key-path key", code: 2, err: "--gcp-service-account-key-path is not honoured"},
		"a repository that is taken":       {words: "repo add https://x", places: places{refusal: taken}, code: 20, err: "it is there already", wrote: []string{"repository: type=git", "repository: url=https://x"}},
		"a repository goes":                {words: "repo rm https://x --project retail", out: "Repository 'https://x' removed\n", wrote: []string{`drop https://x of project "retail", for many: false`}},
		"a login for many goes":            {words: "repocreds rm https://x", out: "Repository credentials for 'https://x' removed\n", wrote: []string{`drop https://x of project "", for many: true`}},
		"a repository that is not there": {
			words: "repo rm https://x", places: places{refusal: apierrors.NewNotFound(schema.GroupResource{}, "x")}, code: 20,
			err: `there is no entry for "https://x"; "towline repo list" shows`,
		},
		"logins for many": {
			words: "repocreds list", places: places{templates: []repository.Template{{URL: "https://x", Type: "git", Login: "password"}}},
			out: "URL PATTERN   TYPE   LOGIN      OCI     PROJECT\nhttps://x     git    password   false\n",
		},
		"keys of hosts": {
			words: "cert add-ssh --batch", in: "# a comment\ngit.example.com,10.0.0.1 ssh-ed25519 " + hostKey + "\n",
			out: "Successfully created 2 SSH known host entries\n", err: "trusted: git.example.com, ssh ssh-ed25519",
			wrote: []string{"trust ssh git.example.com, upsert: false", "trust ssh 10.0.0.1, upsert: false"},
		},
		"no keys of hosts":           {words: "cert add-ssh --batch", in: "|1|hashed\n", code: 20, err: "there is no key in it"},
		"keys from nowhere":          {words: "cert add-ssh", code: 2, err: "--batch is the input"},
		"a certificate that is none": {words: "cert add-tls git.example.com --from ca", files: map[string]string{"ca": "hello"}, code: 20, err: "it is no PEM text"},
		"hosts that are trusted": {
			words: "cert list --sort type --hostname-pattern *.com", places: places{certificates: []repository.Certificate{
				{ServerName: "b.com", CertType: "ssh", CertSubType: "ssh-rsa", CertInfo: "SHA256:x"},
				{ServerName: "a.com", CertType: "https", CertSubType: "rsa"},
				{ServerName: "c.org", CertType: "https"},
			}},
			out: "HOSTNAME   TYPE    SUBTYPE   INFO\na.com      https   rsa\nb.com      ssh     ssh-rsa   SHA256:x\n",
		},
		"a host goes": {
			words: "cert rm a.com --cert-type ssh", places: places{certificates: []repository.Certificate{{ServerName: "a.com", CertType: "ssh", CertSubType: "ssh-rsa"}}},
			out: "Removed cert for 'a.com' of type 'ssh' (subtype 'ssh-rsa')\n",
		},
		"a host that nobody trusts": {words: "cert rm a.com", out: "No certificates were removed (none matched the given pattern)\n"},
		"keys": {
			words: "gpg list", places: places{keys: []repository.PublicKey{{KeyID: "4AEE18F83AFDEB23"}}},
			out: "KEYID              TYPE   IDENTITY\n4AEE18F83AFDEB23\n",
		},
		"new keys": {
			words: "gpg add --from -", in: "A B", out: "Created 2 key(s), and 1 key(s) were skipped because they exist already.\nA\nB\n", err: "key OLD is there",
		},
		"a key goes":              {words: "gpg rm A", places: places{keys: []repository.PublicKey{{KeyID: "A"}}}, out: "Deleted key with key ID A\n", wrote: []string{"distrust A"}},
		"a key that nobody knows": {words: "gpg rm B", code: 20, err: `key "B" not found`},
		"settings that are wrong": {words: "admin settings validate --group accounts", code: 1, out: "accounts: invalid\n  problem: accounts.ci: it is bad\n"},
		"settings of a file": {
			words: "admin settings validate --argocd-cm-path cm --group general,kustomize",
			files: map[string]string{"cm": "data: {ga.trackingid: odd, kustomize.buildOptions: fine}"},
			out:   "general: valid\n  hint: ga.trackingid is not honoured by this version\nkustomize: valid\n",
		},
		"no such part of the settings": {words: "admin settings validate --group x", code: 2, err: "--group is one of"},
		"asking no more": {
			words: "configure --prompts-enabled=false", places: places{book: &login.Book{}},
			out: "Successfully updated the following configuration settings:\nprompts-enabled: false\n",
		},
		"a repository as a file": {
			words: "admin repo generate-spec https://git.example.com/shop.git --username ci --password hush",
			out: "apiVersion: v1\nkind: Secret\nmetadata:\n  annotations:\n    managed-by: argocd.argoproj.io\n  labels:\n    argocd.argoproj.io/secret-type: repository\n" +
				"  name: repo-2888273468\n  namespace: argocd\nstringData:\n  password: hush\n  type: git\n  url: https://git.example.com/shop.git\n  username: ci\n",
		},
		"a project as a file": {
			words: "admin proj generate-spec retail -s https://x -d https://y,shop",
			out: "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata:\n  name: retail\n  namespace: argocd\nspec:\n  destinations:\n" +
				"  - namespace: shop\n    server: https://y\n  sourceRepos:\n  - https://x\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{hub: newMemory(), files: c.files, in: c.in, places: c.places}
			got := d.run(t, strings.Fields(c.words)...)
			wrote := append(d.town.lines, d.places.lines...)
			if got.code != c.code || got.out != c.out || !strings.Contains(got.err, c.err) || c.err == "" && got.err != "" ||
				strings.Join(wrote, "\n") != strings.Join(c.wrote, "\n") {
				t.Errorf("%s ends with %d\nprints\n%s%s\nwrites\n%s", c.words, got.code, got.out, got.err, strings.Join(wrote, "\n"))
			}
			if c.without != "" && strings.Contains(got.out+got.err, c.without) {
				t.Errorf("it tells %q", c.without)
			}
		})
	}
}

// TestPrompts: whoever said that they do not want to be asked is not, and only they.
func TestPrompts(t *testing.T) {
	no, yes := false, true
	given := map[string]string{"given/clusters.yaml": "clusters: [{secret: s, data: {name: prod, server: 'https://a', config: '{}'}}]\n"}
	for name, c := range map[string]struct {
		book  *login.Book
		words []string
		code  int
	}{
		"nobody said":       {book: &login.Book{}, code: 2},
		"asked for":         {book: &login.Book{Prompts: &yes}, code: 2},
		"not asked for":     {book: &login.Book{Prompts: &no}},
		"the flag says no":  {book: &login.Book{Prompts: &yes}, words: []string{"--prompts-enabled=false"}},
		"the flag says yes": {book: &login.Book{Prompts: &no}, words: []string{"--prompts-enabled"}, code: 2},
		"nonsense":          {book: &login.Book{}, words: []string{"--prompts-enabled=x"}, code: 2},
	} {
		d := &desk{hub: newMemory(), town: townOf(t, given), places: places{book: c.book}}
		got := d.run(t, append([]string{"cluster", "rm", "prod"}, c.words...)...)
		if got.code != c.code || (len(d.town.lines) > 0) != (c.code == 0) {
			t.Errorf("%s: ends with %d, wrote %q: %s", name, got.code, d.town.lines, got.err)
		}
	}
}

// TestBackup: what is exported is imported, and what is not in it goes only where that was asked for.
func TestBackup(t *testing.T) {
	shop, till := part("Application", "shop", map[string]any{"project": "a"}), part("Application", "till", map[string]any{"project": "a"})
	d := &desk{hub: newMemory(), places: places{live: []*unstructured.Unstructured{shop, till}}}
	got := d.run(t, "admin", "export", "-o", "backup.yaml")
	wantCode(t, got, 0)
	text := d.places.written["backup.yaml"]
	wantText(t, "the export", text, "name: shop", "name: till")
	wantText(t, "stderr", got.err, "there are logins among them")

	for name, c := range map[string]struct {
		words, text string
		wrote       []string
		out         string
		code        int
		err         string
	}{
		"the same": {text: text, err: "0 created, 0 updated, 0 pruned, 2 unchanged"},
		"another": {
			text: strings.Replace(text, "project: a", "project: b", 1), wrote: []string{"update Application shop, dry run: false, anyway: true"},
			words: "--override-conflicts", out: "argoproj.io/Application shop in namespace argocd updated\n", err: "1 updated",
		},
		"dry": {
			text: strings.ReplaceAll(text, "name: till", "name: fresh"), words: "--prune --dry-run",
			wrote: []string{"create Application fresh, dry run: true", "delete Application till, dry run: true"},
			out:   "argoproj.io/Application fresh in namespace argocd created (dry run)\nargoproj.io/Application till in namespace argocd pruned (dry run)\n",
			err:   "(dry run)",
		},
		"less, and nothing is pruned": {text: text[:strings.LastIndex(text, "---")], err: "1 unchanged"},
		"empty":                       {text: "# nothing\n", words: "--prune", code: 20, err: "there is no object in it"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{hub: newMemory(), places: places{live: []*unstructured.Unstructured{shop, till}}, files: map[string]string{"backup.yaml": c.text}}
			got := d.run(t, append([]string{"admin", "import", "backup.yaml"}, strings.Fields(c.words)...)...)
			if got.code != c.code || got.out != c.out || !strings.Contains(got.err, c.err) || strings.Join(d.places.lines, "\n") != strings.Join(c.wrote, "\n") {
				t.Errorf("ends with %d\n%s%s\n%s", got.code, got.out, got.err, strings.Join(d.places.lines, "\n"))
			}
		})
	}
}
