package account

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/secret"
)

// Stored is what argocd-secret holds. It does not change: a new reading is a
// new value.
type Stored struct {
	// Version is the resource version; empty is not read yet.
	Version string
	Values  map[string]secret.Text
}

// NewStored hides the data of a secret.
func NewStored(version string, data map[string][]byte) *Stored {
	s := &Stored{Version: version, Values: make(map[string]secret.Text, len(data))}
	for key, value := range data {
		s.Values[key] = secret.New(string(value))
	}
	return s
}

// Book is all that is known of the local accounts.
type Book struct {
	config   *Config
	stored   *Stored
	accounts map[string]Account
	problems []string
}

// NewBook joins what the config map and the secret say. A secret about an
// account that the config map does not declare counts for nothing.
func NewBook(c *Config, s *Stored) *Book {
	b := &Book{config: c, stored: s, accounts: make(map[string]Account, len(c.Accounts))}
	for name, d := range c.Accounts {
		a := Account{Name: name, Enabled: d.Enabled, Capabilities: d.Capabilities}
		keys := keysOf(name)
		a.Password = s.Values[keys.password]
		if text := s.Values[keys.set]; !text.Empty() {
			at, err := changed(text.Reveal())
			if err != nil {
				b.problem(keys.set, "it is not a time like 2006-01-02T15:04:05Z; "+
					"what was issued before the last change of the password stays valid")
			}
			a.PasswordSet = at
		}
		if text := s.Values[keys.tokens]; !text.Empty() {
			if err := json.Unmarshal([]byte(text.Reveal()), &a.Tokens); err != nil {
				a.Tokens = nil
				b.problem(keys.tokens, "it is not a list of {id, iat, exp}; no token of the account is valid")
			}
		}
		b.accounts[name] = a
	}
	if b.Key().Empty() {
		b.problem(v1alpha1.KeyServerSecretKey, "it is missing; nobody can sign in")
	}
	slices.Sort(b.problems)
	return b
}

func (b *Book) problem(key, text string) {
	b.problems = append(b.problems, key+": "+text)
}

// changed reads when a password was changed. Besides the form that Argo CD
// writes there is the one that its users are told to write by hand, which ends
// with the name of a zone; only of UTC is it known how far that is.
func changed(text string) (time.Time, error) {
	text = strings.Trim(strings.TrimSpace(text), `'"`)
	if utc, ok := strings.CutSuffix(text, "UTC"); ok {
		text = utc + "Z"
	}
	return time.Parse(time.RFC3339, text)
}

// Of says that a book is of the very same values.
func (b *Book) Of(c *Config, s *Stored) bool { return b.config == c && b.stored == s }

// Find is an account by its name.
func (b *Book) Find(name string) (Account, bool) {
	a, ok := b.accounts[name]
	return a, ok
}

// All are the accounts in the order of their names.
func (b *Book) All() []Account {
	out := make([]Account, 0, len(b.accounts))
	for _, name := range slices.Sorted(maps.Keys(b.accounts)) {
		out = append(out, b.accounts[name])
	}
	return out
}

// Key is what tokens are signed with. An empty one signs nothing.
func (b *Book) Key() secret.Text { return b.stored.Values[v1alpha1.KeyServerSecretKey] }

// Config is what argocd-cm says.
func (b *Book) Config() *Config { return b.config }

// Problems are the keys of argocd-secret that could not be read.
func (b *Book) Problems() []string { return b.problems }

// keys are where argocd-secret has something of an account.
type keys struct{ password, set, tokens string }

func keysOf(name string) keys {
	if name == v1alpha1.AdminAccount {
		return keys{v1alpha1.KeyAdminPassword, v1alpha1.KeyAdminPasswordMtime, v1alpha1.KeyAdminTokens}
	}
	prefix := v1alpha1.KeyAccountsPrefix + name
	return keys{
		prefix + v1alpha1.KeyAccountPasswordSuffix, prefix + v1alpha1.KeyAccountMtimeSuffix, prefix + v1alpha1.KeyAccountTokensSuffix,
	}
}

// SetPassword writes the hash of a new password into the data of argocd-secret.
func SetPassword(data map[string][]byte, name string, hash secret.Text, at time.Time) {
	k := keysOf(name)
	data[k.password] = []byte(hash.Reveal())
	data[k.set] = []byte(at.UTC().Format(time.RFC3339))
}

// AddToken writes a token onto the list of an account. What stands there and
// cannot be read is not written over.
func AddToken(data map[string][]byte, name string, t Token) error {
	list, err := tokens(data, name)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(have Token) bool { return have.ID == t.ID }) {
		return fmt.Errorf("account %q has a token with the id %q already; choose another, or delete that one first", name, t.ID)
	}
	return writeTokens(data, name, append(list, t))
}

// RemoveToken takes a token off the list of an account.
func RemoveToken(data map[string][]byte, name, id string) (found bool, err error) {
	list, err := tokens(data, name)
	if err != nil {
		return false, err
	}
	rest := slices.DeleteFunc(slices.Clone(list), func(have Token) bool { return have.ID == id })
	if len(rest) == len(list) {
		return false, nil
	}
	return true, writeTokens(data, name, rest)
}

func tokens(data map[string][]byte, name string) ([]Token, error) {
	text := data[keysOf(name).tokens]
	if len(text) == 0 {
		return nil, nil
	}
	var list []Token
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("key %q of secret %q is not a list of tokens; set it right, or remove it",
			keysOf(name).tokens, v1alpha1.SecretSettings)
	}
	return list, nil
}

func writeTokens(data map[string][]byte, name string, list []Token) error {
	if len(list) == 0 {
		delete(data, keysOf(name).tokens)
		return nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encoding the tokens of account %q: %w", name, err)
	}
	data[keysOf(name).tokens] = text
	return nil
}

// matches says that an entry on a list stands for a token. An id that was used
// before does not bring the old token back: the time of issue has to fit too,
// give or take the moment between signing and writing it down.
func matches(entry Token, id string, issued time.Time) bool {
	const moment = 2
	if id == "" || entry.ID != id {
		return false
	}
	apart := entry.IssuedAt - issued.Unix()
	return entry.IssuedAt == 0 || apart >= -moment && apart <= moment
}
