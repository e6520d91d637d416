package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"runtime"

	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/internal/leader"
)

// ways are how the API server is reached.
type ways struct {
	// fenced is for all that is done by whoever leads, and for reading. Writes are
	// refused while this process does not lead.
	fenced *rest.Config
	// open is for what a replica does whether it leads or not: its lease, the
	// secret that it is known by, and what the server does for people.
	open  *rest.Config
	fence *leader.Fence
}

// openWays makes the ways. All clients of a running process are made from them.
func openWays(o runOptions) (ways, error) {
	open, err := restConfig(o.kubeconfig, o.context)
	if err != nil {
		return ways{}, err
	}
	acting := rest.CopyConfig(open)
	withFaults(acting)
	fence := leader.NewFence(o.lease)
	fenced, err := fence.Through(acting)
	if err != nil {
		return ways{}, err
	}
	return ways{fenced: fenced, open: open, fence: fence}, nil
}

// openLeadership makes those who know which replica leads. dir is a folder that
// this process has for itself; empty where it has none.
func (p *parts) openLeadership(o runOptions, dir string) error {
	host := os.Getenv("POD_NAME")
	if host == "" {
		var err error
		if host, err = os.Hostname(); err != nil {
			return fmt.Errorf("finding the name of this host: %w; set POD_NAME", err)
		}
	}
	var err error
	identity, heir := leader.Name(host), false
	// Elsewhere a folder cannot be had alone.
	if dir != "" && runtime.GOOS != "windows" {
		if identity, err = leader.Heir(host, dir); err != nil {
			return err
		}
		heir = true
	}
	p.elector, err = leader.New(leader.Options{
		Config: p.ways.open, Namespace: p.namespace, Identity: identity, Heir: heir, Fence: p.ways.fence, Times: o.lease,
		Address: func() string {
			if a := p.address.Load(); a != nil {
				return *a
			}
			return ""
		},
	})
	if err != nil {
		return err
	}
	p.peers, err = leader.NewPeers(p.ways.open, p.namespace, identity)
	return err
}

// servePeers answers other replicas until ctx ends. Syncing does not stop because
// they cannot be answered, but it is said loudly.
func (p *parts) servePeers(ctx context.Context, o runOptions) {
	if !p.role.controller || o.peerListen == "" {
		return
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", o.peerListen)
	if err != nil {
		slog.ErrorContext(ctx, "other replicas are not answered; choose another --peer-listen", "error", err)
		return
	}
	address, err := peerAddress(ctx, l.Addr(), cmp.Or(o.peerAddress, os.Getenv("POD_IP")), p.ways.open.Host)
	if err != nil {
		slog.ErrorContext(ctx, "other replicas do not learn where this one is reached; set --peer-address", "error", err)
	}
	p.address.Store(&address)
	// The first replica makes what they know each other by.
	if err := p.peers.Load(ctx); err != nil && ctx.Err() == nil {
		slog.WarnContext(ctx, "other replicas cannot be recognised yet", "error", err)
	}
	slog.InfoContext(ctx, "answering other replicas", "listen", l.Addr().String(), "address", address)
	if err := p.peers.Serve(ctx, l, p.server.Peers(leader.Believed)); err != nil && ctx.Err() == nil {
		slog.ErrorContext(ctx, "other replicas are not answered any more", "error", err)
	}
}

// peerAddress is where others reach a listener. told is a host, with or without
// a port, that somebody named; without one it is the host that the listener is
// bound to, or else the one that requests to server come from.
func peerAddress(ctx context.Context, listener net.Addr, told, server string) (string, error) {
	tcp, ok := listener.(*net.TCPAddr)
	if !ok {
		return "", errors.New("the listener has no address")
	}
	_, port, err := net.SplitHostPort(tcp.String())
	if err != nil {
		return "", err
	}
	if told != "" {
		if _, _, err := net.SplitHostPort(told); err == nil {
			return told, nil
		}
		return net.JoinHostPort(told, port), nil
	}
	if !tcp.IP.IsUnspecified() {
		return tcp.String(), nil
	}
	at, err := url.Parse(server)
	if err != nil || at.Host == "" {
		at = &url.URL{Host: server}
	}
	// Nothing is sent: the kernel is asked which way it would go.
	var d net.Dialer
	c, err := d.DialContext(ctx, "udp", net.JoinHostPort(at.Hostname(), cmp.Or(at.Port(), "443")))
	if err != nil {
		return "", fmt.Errorf("finding the address of this host: %w", err)
	}
	defer func() { _ = c.Close() }()
	from, ok := c.LocalAddr().(*net.UDPAddr)
	if !ok {
		return "", errors.New("this host has no address")
	}
	return net.JoinHostPort(from.IP.String(), port), nil
}

// state is how it is with this process, and whether it can be sent work.
func (p *parts) state() (string, bool) {
	if !p.complete.Load() {
		return "reading", false
	}
	if err := p.elector.Problem(); err != nil && p.role.controller && !p.elector.Leading() {
		return "neither leading nor standing by: " + err.Error(), false
	}
	switch who, ok := p.elector.Leader(); {
	case ok && who.Here && p.rivals.Why() != "":
		return "passive: " + p.rivals.Why(), true
	case ok && who.Here:
		return "leading", true
	case ok && p.role.controller:
		return "standing by; " + who.Identity + " leads", true
	case p.role.controller:
		return "standing by; nobody leads", true
	default:
		return "serving", true
	}
}
