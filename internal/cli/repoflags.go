package cli

import (
	"bufio"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/towline-cd/towline/internal/core/repository"
	"github.com/towline-cd/towline/internal/core/secret"
)

// entryFlags describe a repository, or an entry for many, with Argo CD's names.
type entryFlags struct {
	repository.Repository

	kind                    string
	password, bearer        string
	sshKey, tlsCert, tlsKey string
	appKey                  string
	skipVerification        bool
	ignoreHostKey           bool
	upsert                  bool
	// many is that it is for many repositories.
	many bool
}

// otherLogins are the ways to sign in that this version does not have.
var otherLogins = func() []refusedFlag {
	const google, azure = "Google service accounts are not signed in with; use a token or a password",
		"identities of Azure are not signed in with; use a token or a password"
	return []refusedFlag{
		{name: "gcp-service-account-key-path", reason: google},
		{name: "use-azure-workload-identity", bare: true, reason: azure},
		{name: "azure-service-principal-client-id", reason: azure},
		{name: "azure-service-principal-client-secret", reason: azure},
		{name: "azure-service-principal-tenant-id", reason: azure},
		{name: "azure-active-directory-endpoint", reason: azure},
	}
}()

func (o *entryFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.kind, "type", "git", "what is spoken there: git, helm or oci")
	f.StringVar(&o.Project, "project", "", "only applications of this project may use it")
	o.logins(f)
	f.BoolVar(&o.EnableOCI, "enable-oci", false, "a Helm repository is an OCI registry")
	f.BoolVar(&o.InsecureOCIForceHTTP, "insecure-oci-force-http", false, "speak plain HTTP with a registry")
	f.BoolVar(&o.ForceBasicAuth, "force-http-basic-auth", false, "send the login without having been asked for it")
	f.StringVar(&o.Proxy, "proxy", "", "proxy that leads there")
	f.StringVar(&o.NoProxy, "no-proxy", "", "hosts that are reached without the proxy")
	f.BoolVar(&o.upsert, "upsert", false, "change one that is there")
	fixed(cmd, "type", string(repository.Git), string(repository.Helm), string(repository.OCI))
	refused := append([]refusedFlag{}, otherLogins...)
	if !o.many {
		f.StringVar(&o.Name, "name", "", "name of the repository; Helm needs one")
		f.BoolVar(&o.skipVerification, "insecure-skip-server-verification", false, "ask for no proof of who the server is")
		f.BoolVar(&o.ignoreHostKey, "insecure-ignore-host-key", false, "the older name of the same for SSH")
		f.BoolVar(&o.EnableLFS, "enable-lfs", false, "fetch the content of Git LFS too")
		f.IntVar(&o.Depth, "depth", 0, "how many commits of history are fetched (default: as few as possible)")
		refused = append(refused, refusedFlag{
			name: "webhook-manifest-cache-warm-disabled", bare: true,
			reason: "what a push does not touch is not rendered again, so there is nothing to turn off",
		})
	}
	refuse(cmd, refused...)
}

func (o *entryFlags) logins(f *pflag.FlagSet) {
	f.StringVar(&o.Username, "username", "", "name to sign in with")
	f.StringVar(&o.password, "password", "", "its password (default: you are asked, where there is a --username)")
	f.StringVar(&o.bearer, "bearer-token", "", "token to sign in with")
	f.StringVar(&o.sshKey, "ssh-private-key-path", "", "file with the private key for SSH")
	f.StringVar(&o.tlsCert, "tls-client-cert-path", "", "file with the certificate to sign in with")
	f.StringVar(&o.tlsKey, "tls-client-cert-key-path", "", "file with the key of that certificate")
	f.Int64Var(&o.GitHubApp.ID, "github-app-id", 0, "id of the GitHub App to sign in as")
	f.Int64Var(&o.GitHubApp.InstallationID, "github-app-installation-id", 0, "id of its installation")
	f.StringVar(&o.appKey, "github-app-private-key-path", "", "file with its private key")
	f.StringVar(&o.GitHubApp.BaseURL, "github-app-enterprise-base-url", "",
		"API of a GitHub Enterprise server, as in https://ghe.example.com/api/v3")
}

// overSSH says that an address is one of SSH.
func overSSH(address string) bool {
	return strings.HasPrefix(address, "ssh://") || !strings.Contains(address, "://") && strings.Contains(address, "@")
}

func (o *entryFlags) check(address string) error {
	https := strings.HasPrefix(address, "https://")
	bare := !strings.Contains(address, "://") && !overSSH(address) // a registry is written without
	switch {
	case address == "" || strings.ContainsAny(address, " \t\r\n"):
		return usagef("%q is no address of a repository", address)
	case o.kind != "git" && o.kind != "helm" && o.kind != "oci":
		return usagef("--type is git, helm or oci, not %q", o.kind)
	case o.kind == "helm" && o.Name == "" && !o.many:
		return usagef("a Helm repository needs a --name: charts and applications find it by that")
	case o.sshKey != "" && !overSSH(address):
		return usagef("--ssh-private-key-path is for addresses of SSH, as in git@host:path or ssh://git@host/path")
	case (o.tlsCert == "") != (o.tlsKey == ""):
		return usagef("--tls-client-cert-path and --tls-client-cert-key-path come together")
	case o.tlsCert != "" && !https && !bare:
		return usagef("--tls-client-cert-path is for addresses that begin with https://")
	case o.appKey != "" && !https:
		return usagef("--github-app-private-key-path is for addresses that begin with https://")
	case (o.appKey == "") != (o.GitHubApp.ID == 0):
		return usagef("--github-app-id and --github-app-private-key-path come together")
	case o.Depth < 0:
		return usagef("--depth is a number of commits, not %d", o.Depth)
	}
	return nil
}

// entry is what the flags say. A password that is not given is asked for, and is not shown.
func (o *entryFlags) entry(env *Env, address string) (repository.Repository, error) {
	out := o.Repository
	if err := o.check(address); err != nil {
		return out, err
	}
	out.URL, out.Type = address, repository.Type(o.kind)
	out.Insecure, out.InsecureIgnoreHostKey = o.skipVerification || o.ignoreHostKey, o.ignoreHostKey
	for _, file := range []struct {
		name string
		into func(string)
	}{
		{o.sshKey, func(s string) { out.SSHPrivateKey = secret.New(s) }},
		{o.tlsCert, func(s string) { out.TLSClientCert = s }},
		{o.tlsKey, func(s string) { out.TLSClientKey = secret.New(s) }},
		{o.appKey, func(s string) { out.GitHubApp.PrivateKey = secret.New(s) }},
	} {
		if file.name == "" {
			continue
		}
		text, err := env.read(file.name)
		if err != nil {
			return out, err
		}
		file.into(string(text))
	}
	if o.Username != "" && o.password == "" && o.bearer == "" && out.TLSClientCert == "" && !overSSH(address) {
		var err error
		if o.password, err = env.hidden(bufio.NewReader(env.In), "Password: ", "--password"); err != nil {
			return out, err
		}
	}
	out.Password, out.BearerToken = secret.New(o.password), secret.New(o.bearer)
	return out, nil
}
