// Command dex is the server of Dex without its gRPC API, in memory, for tests of signing in. It reads the form of
// configuration that `towline admin dex config` prints. It must not be used for anything else: what it knows is gone with
// the process.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"

	gosundheit "github.com/AppsFlyer/go-sundheit"
	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/server/signer"
	"github.com/dexidp/dex/server/tokens"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
	"github.com/ghodss/yaml"
	"github.com/prometheus/client_golang/prometheus"
)

type config struct {
	Issuer string
	Web    struct{ HTTP string }
	OAuth2 struct{ SkipApprovalScreen bool }
	Expiry struct {
		IDTokens string `json:"idTokens"`
	}
	StaticClients []storage.Client
	Connectors    []struct {
		ID, Type, Name string
		Config         json.RawMessage
	}
}

// patient is Dex's store in memory, without a lock that it waits for itself with: while it changes the token of a session
// it asks its own store about that session.
type patient struct {
	storage.Storage
	mu sync.Mutex
}

// UpdateRefreshToken changes the token of a session.
func (p *patient) UpdateRefreshToken(ctx context.Context, id string, change func(storage.RefreshToken) (storage.RefreshToken, error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	old, err := p.GetRefresh(ctx, id)
	if err != nil {
		return err
	}
	next, err := change(old)
	if err != nil {
		return err
	}
	return p.Storage.UpdateRefreshToken(ctx, id, func(storage.RefreshToken) (storage.RefreshToken, error) { return next, nil })
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) != 2 {
		return errors.New("usage: dex FILE")
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	var c config
	if err := yaml.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("reading %s: %w", os.Args[1], err)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	lasts := time.Hour
	if c.Expiry.IDTokens != "" {
		if lasts, err = time.ParseDuration(c.Expiry.IDTokens); err != nil {
			return fmt.Errorf("reading expiry.idTokens: %w", err)
		}
	}
	store := storage.WithStaticClients(&patient{Storage: memory.New(log)}, c.StaticClients)
	var connectors []storage.Connector
	for _, one := range c.Connectors {
		if len(one.Config) == 0 {
			one.Config = json.RawMessage("{}")
		}
		connectors = append(connectors, storage.Connector{ID: one.ID, Type: one.Type, Name: one.Name, Config: one.Config})
	}
	store = storage.WithStaticConnectors(store, connectors)
	keys := signer.LocalConfig{KeysRotationPeriod: "6h"}
	sign, err := keys.Open(ctx, store, lasts, time.Now, log)
	if err != nil {
		return err
	}
	sign.Start(ctx)
	dex, err := server.NewServer(ctx, server.Config{
		Issuer: c.Issuer, Storage: store, SkipApprovalScreen: c.OAuth2.SkipApprovalScreen, IDTokensValidFor: lasts, Logger: log,
		// Strict: a token that a session goes on by is taken once.
		RefreshTokenPolicy: tokens.NewRefreshStrategy(true, 0, 0, 0, time.Now),
		Signer:             sign, PrometheusRegistry: prometheus.NewRegistry(), HealthChecker: gosundheit.New(),
	})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Web.HTTP)
	if err != nil {
		return err
	}
	log.InfoContext(ctx, "listening", "address", listener.Addr().String())
	serving := &http.Server{Handler: dex, ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = serving.Close() })
	if err := serving.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
