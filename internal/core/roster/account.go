package roster

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/repository"
)

// Names of what adding a cluster makes there, besides v1alpha1.ClusterManagerAccount. Argo CD makes the same.
const (
	ManagerRole      = "argocd-manager-role"
	ManagerBinding   = "argocd-manager-role-binding"
	TokenSuffix      = "-long-lived-token"
	DefaultNamespace = "kube-system"
)

// Account is a service account of a target cluster.
type Account struct{ Namespace, Name string }

// Manager is the account that adding a cluster makes.
func Manager(namespace string) Account {
	return Account{Namespace: namespace, Name: v1alpha1.ClusterManagerAccount}
}

// Grant is what an account may do.
type Grant struct {
	Account Account
	// Namespaces are where; none is everywhere.
	Namespaces []string
	// ReadOnly leaves all writing out.
	ReadOnly bool
}

// Token is a login of an account, and the secret that Kubernetes keeps it in.
type Token struct {
	Account Account
	Secret  string
	Value   repository.Secret
}

// TokenOf reads from a token whose it is and where it is kept. Only tokens that Kubernetes keeps in a secret say so.
func TokenOf(value repository.Secret) (Token, bool) {
	parts := strings.Split(value.Reveal(), ".")
	if len(parts) != 3 {
		return Token{}, false
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return Token{}, false
	}
	var claims struct {
		Namespace string `json:"kubernetes.io/serviceaccount/namespace"`
		Secret    string `json:"kubernetes.io/serviceaccount/secret.name"`
		Account   string `json:"kubernetes.io/serviceaccount/service-account.name"`
	}
	if err := json.Unmarshal(text, &claims); err != nil || claims.Secret == "" || claims.Namespace == "" || claims.Account == "" {
		return Token{}, false
	}
	return Token{Account: Account{Namespace: claims.Namespace, Name: claims.Account}, Secret: claims.Secret, Value: value}, true
}

// Endpoint is where a cluster is and whom to trust there; it has no login.
type Endpoint struct {
	Server             string
	Insecure           bool
	ServerName         string
	CAData             []byte
	ProxyURL           ProxyURL
	DisableCompression bool
}

// ElsewhereError says that only the controller can sign in to a cluster. A command that stands in a secret of the hub must
// not run on the machine of whoever looks at the list.
type ElsewhereError struct{ Login string }

// Error names the way in which one signs in.
func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("not asked from here: the login is made by the controller (%s)", e.Login)
}
