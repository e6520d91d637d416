// Package account decides who may come in: what the installation says of its
// local accounts, and whether the claims of a token hold at a given time. It
// must not check signatures or passwords, nor fetch or write anything: whoever
// asks has done so, or will.
package account

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/secret"
)

// Capability is what an account may be used for.
type Capability string

// The capabilities.
const (
	// Login is signing in with a password, for a session.
	Login Capability = "login"
	// APIKey is having tokens that somebody made for it.
	APIKey Capability = "apiKey"
)

// Token is a token that was made for an account; times are seconds since 1970.
type Token struct {
	ID        string `json:"id"`
	IssuedAt  int64  `json:"iat"`
	ExpiresAt int64  `json:"exp,omitempty"`
}

// Account is a local account.
type Account struct {
	Name         string
	Enabled      bool
	Capabilities []Capability
	// Password is the bcrypt hash; empty is none, and nobody signs in by it.
	Password secret.Text
	// PasswordSet is when the password was changed last; what was issued before
	// is void. Zero is not known.
	PasswordSet time.Time
	Tokens      []Token
}

// May says that an account has a capability.
func (a Account) May(c Capability) bool { return slices.Contains(a.Capabilities, c) }

// Declared is what argocd-cm says of one account.
type Declared struct {
	Enabled      bool
	Capabilities []Capability
}

// Config is what argocd-cm says of accounts and sessions.
type Config struct {
	// Accounts are by their names; the administrator is always among them.
	Accounts map[string]Declared
	// Session is how long one lasts.
	Session time.Duration
	// Pattern is what a new password has to look like.
	Pattern string
	// Anonymous lets those in who show no token at all, with the rights of the
	// default role.
	Anonymous bool
}

// What holds where argocd-cm is silent.
const (
	defaultSession = 24 * time.Hour
	defaultPattern = `^.{8,32}$`
	// maxPattern is how long an expression may be; matching is linear in it.
	maxPattern = 1024
)

// DefaultConfig is what holds without any config map.
func DefaultConfig() *Config {
	return &Config{
		Accounts: map[string]Declared{v1alpha1.AdminAccount: {Enabled: true, Capabilities: []Capability{Login}}},
		Session:  defaultSession, Pattern: defaultPattern,
	}
}

// Reads says that a key of argocd-cm is read here.
func Reads(key string) bool {
	switch key {
	case v1alpha1.KeyAdminEnabled, v1alpha1.KeySessionDuration, v1alpha1.KeyPasswordPattern, v1alpha1.KeyAnonymousEnabled:
		return true
	}
	return strings.HasPrefix(key, v1alpha1.KeyAccountsPrefix)
}

// ReadConfig reads the data of argocd-cm. What cannot be read is a problem by
// name, and leaves an account with fewer rights, never with more.
func ReadConfig(data map[string]string) (*Config, []string) {
	c := DefaultConfig()
	var problems []string
	problem := func(key, format string, args ...any) {
		problems = append(problems, key+": "+fmt.Sprintf(format, args...))
	}
	flag := func(key string, otherwise bool) bool {
		text := strings.TrimSpace(data[key])
		if text == "" {
			return otherwise
		}
		on, err := strconv.ParseBool(text)
		if err != nil {
			problem(key, "%q is neither true nor false; using false", text)
		}
		return err == nil && on
	}
	c.Anonymous = flag(v1alpha1.KeyAnonymousEnabled, false)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		rest, ours := strings.CutPrefix(key, v1alpha1.KeyAccountsPrefix)
		if !ours {
			continue
		}
		name, suffix, more := strings.Cut(rest, ".")
		if name == "" || more && "."+suffix != v1alpha1.KeyAccountEnabledSuffix {
			problem(key, "it is neither accounts.<name> nor accounts.<name>%s, and has no effect", v1alpha1.KeyAccountEnabledSuffix)
			continue
		}
		a, known := c.Accounts[name]
		if !known {
			a.Enabled = true
		}
		if more {
			a.Enabled = flag(key, true)
		} else {
			var unknown []string
			a.Capabilities, unknown = capabilities(a.Capabilities, data[key])
			for _, word := range unknown {
				problem(key, "%q is neither %s nor %s, and has no effect", word, APIKey, Login)
			}
		}
		c.Accounts[name] = a
	}
	admin := c.Accounts[v1alpha1.AdminAccount]
	admin.Enabled = admin.Enabled && flag(v1alpha1.KeyAdminEnabled, true)
	c.Accounts[v1alpha1.AdminAccount] = admin
	c.readSession(data, problem)
	slices.Sort(problems)
	return c, problems
}

// capabilities adds those that a list names.
func capabilities(to []Capability, list string) (all []Capability, unknown []string) {
	all = slices.Clone(to)
	for word := range strings.SplitSeq(list, ",") {
		switch c := Capability(strings.TrimSpace(word)); c {
		case "":
		case Login, APIKey:
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		default:
			unknown = append(unknown, string(c))
		}
	}
	return all, unknown
}

// readSession reads how long a session lasts and what a password looks like.
func (c *Config) readSession(data map[string]string, problem func(key, format string, args ...any)) {
	if text := strings.TrimSpace(data[v1alpha1.KeySessionDuration]); text != "" {
		d, err := duration(text)
		if err != nil || d < time.Minute {
			problem(v1alpha1.KeySessionDuration, "%q is not a duration of at least a minute, like 12h or 7d; using %s", text, c.Session)
		} else {
			c.Session = d
		}
	}
	text := data[v1alpha1.KeyPasswordPattern]
	if text == "" {
		return
	}
	if _, err := regexp.Compile(text); err != nil || len(text) > maxPattern {
		problem(v1alpha1.KeyPasswordPattern, "it is no regular expression of at most %d characters; using %s", maxPattern, c.Pattern)
		return
	}
	c.Pattern = text
}

// duration reads a Go duration, or a number of days as in 7d.
func duration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > 36500 {
			return 0, fmt.Errorf("%q is not a number of days", days)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	return time.ParseDuration(text)
}

// Fits says whether a new password looks as it has to.
func (c *Config) Fits(password secret.Text) bool {
	pattern, err := regexp.Compile(c.Pattern)
	return err == nil && pattern.MatchString(password.Reveal())
}
