// Package repository is what is known of the places that content comes from: how to sign in there, whom to trust, and
// which of several entries counts for a URL. It must not talk to any of them.
package repository

import "github.com/towline-cd/towline/internal/core/secret"

// Secret is text that must not be seen.
type Secret = secret.Text

// NewSecret hides a value.
func NewSecret(value string) Secret { return secret.New(value) }

// Type is what is spoken with a repository.
type Type string

// The types that secrets know. An empty one is Git.
const (
	Git  Type = "git"
	Helm Type = "helm"
	OCI  Type = "oci"
)

// Repository is what is known of the place behind a URL. The zero value is a place that anybody may read.
type Repository struct {
	// URL is as it is written; of an entry for many repositories it is how theirs begin.
	URL  string
	Type Type
	Name string
	// Project is the only project whose applications may use it; "" is for all.
	Project string

	Username    string
	Password    Secret
	BearerToken Secret
	// SSHPrivateKey is in the form of OpenSSH or PEM.
	SSHPrivateKey Secret
	// TLSClientCert and TLSClientKey are PEM.
	TLSClientCert string
	TLSClientKey  Secret
	GitHubApp     GitHubApp

	// Insecure asks for no proof of who the server is.
	Insecure bool
	// InsecureIgnoreHostKey is the older name of the same for SSH.
	InsecureIgnoreHostKey bool
	// EnableLFS has the content of Git LFS fetched too.
	EnableLFS bool
	// EnableOCI says that a repository of charts is an OCI registry.
	EnableOCI bool
	// InsecureOCIForceHTTP speaks plain HTTP with a registry.
	InsecureOCIForceHTTP bool
	// ForceBasicAuth sends the login without having been asked for it.
	ForceBasicAuth bool
	// PassCredentials sends the login to other hosts that the index names.
	PassCredentials bool

	Proxy, NoProxy string
	// Depth is how many commits of history are fetched; zero is as few as possible.
	Depth int
	// NotHonoured are the fields of the entry that this version does nothing with.
	NotHonoured []string
}

// GitHubApp signs in as an installation of a GitHub App.
type GitHubApp struct {
	ID, InstallationID int64
	PrivateKey         Secret
	// BaseURL is that of a GitHub Enterprise server; empty is github.com.
	BaseURL string
}

// Trust is whom we believe to be who they say.
type Trust struct {
	// KnownHosts are lines as OpenSSH has them.
	KnownHosts string
	// Certificates are PEM authorities by host name.
	Certificates map[string]string
	// PublicKeys are armoured OpenPGP keys by their ids.
	PublicKeys map[string]string
}

// Book says what is known of the place behind a URL, for the applications of a project. It is asked before every use,
// so that a changed secret counts at once.
type Book interface {
	// For returns the entry of the URL, or else what the longest matching entry for many repositories says. Where there
	// is neither it is the zero value: that its URL is empty says that nobody registered the place.
	For(url, project string) Repository
	Trust() Trust
}

// Names is what a Book may know too: the repositories by the names that people gave them. Charts may name the
// repository of a dependency so.
type Names interface {
	Named(name, project string) (Repository, bool)
}
