package main

import (
	"context"

	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/account"
	"github.com/towline-cd/towline/internal/identity"
	"github.com/towline-cd/towline/internal/settings"
)

// withAccounts lets the commands see the local accounts, straight on the hub.
func withAccounts(e *cli.Env) {
	e.Accounts = func(_ context.Context, f cli.Flags) (cli.Accounts, error) {
		config, err := restConfig(f.Kubeconfig, f.Context)
		if err != nil {
			return nil, err
		}
		return identity.NewReader(config, f.Namespace, func(ctx context.Context) (*account.Config, error) {
			s, err := settings.Read(ctx, config, f.Namespace)
			if err != nil {
				return nil, err
			}
			return s.Accounts, nil
		})
	}
	e.Hash = identity.Hash
}
