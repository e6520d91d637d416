package cli_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/account"
	"github.com/towline-cd/towline/internal/core/secret"
)

// people are the accounts of an installation.
type people struct{ password string }

func (p people) Accounts(context.Context) ([]account.Account, error) {
	return []account.Account{
		{Name: "admin", Enabled: true, Capabilities: []account.Capability{account.Login}, Password: secret.New("HASH")},
		{Name: "ci", Capabilities: []account.Capability{account.APIKey, account.Login}, Tokens: []account.Token{
			{ID: "deploy", IssuedAt: today.Unix()}, {ID: "old", IssuedAt: today.Unix() - 100, ExpiresAt: today.Unix() - 1},
		}},
	}, nil
}

func (p people) InitialPassword(context.Context) (secret.Text, error) {
	if p.password == "" {
		return secret.Text{}, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "argocd-initial-admin-secret")
	}
	return secret.New(p.password), nil
}

func TestAccountCommands(t *testing.T) {
	for name, c := range map[string]struct {
		args, in, password string
		want, wrong        string
	}{
		"list":  {args: "account list", want: "NAME    ENABLED   CAPABILITIES\nadmin   true      login\nci      false     apiKey, login\n"},
		"names": {args: "account list -o name", want: "admin\nci\n"},
		"get": {args: "account get --account ci", want: `Name:               ci
Enabled:            false
Capabilities:       apiKey, login
Tokens:             2

ID       ISSUED AT              EXPIRING AT
deploy   2026-03-14T09:00:00Z   never
old      2026-03-14T08:58:20Z   2026-03-14T08:59:59Z (expired)
`},
		"the administrator, for a program": {args: "account get -o yaml", want: "capabilities:\n- login\nenabled: true\nname: admin\n"},
		"nobody":                           {args: "account get -a eve", wrong: `there is no account "eve"`},
		"a password by flag":               {args: "account bcrypt --password hunter2", want: "hash of hunter2\n"},
		"a password by input":              {args: "account bcrypt", in: "hunter2\n", want: "hash of hunter2\n"},
		"no password":                      {args: "account bcrypt", wrong: "--password"},
		"the first password":               {args: "admin initial-password", password: "s3cret", want: "s3cret\n\n This password is for the first login only. Change it with `account update-password`, and then delete secret argocd-initial-admin-secret.\n"},
		"no first password":                {args: "admin initial-password", wrong: "was deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			env := &cli.Env{
				In: strings.NewReader(c.in), Out: &out, Err: &errs, Now: func() time.Time { return today },
				Getenv:   func(string) string { return "" },
				Hub:      func(context.Context, cli.Flags) (cli.Hub, error) { return newMemory(), nil },
				Accounts: func(context.Context, cli.Flags) (cli.Accounts, error) { return people{password: c.password}, nil },
				Hash:     func(p secret.Text) (secret.Text, error) { return secret.New("hash of " + p.Reveal()), nil },
			}
			root := &cobra.Command{Use: "towline", SilenceErrors: true, SilenceUsage: true}
			root.AddCommand(cli.NewAccount(env), cli.NewAdmin(env))
			root.SetArgs(strings.Fields(c.args))
			code := cli.Report(env, root.ExecuteContext(t.Context()))
			if out.String() != c.want || (code == 0) != (c.wrong == "") || !strings.Contains(errs.String(), c.wrong) {
				t.Errorf("exit %d, it says\n%s%s", code, out.String(), errs.String())
			}
			if strings.Contains(out.String()+errs.String(), "HASH") {
				t.Error("a hash is told")
			}
		})
	}
}
