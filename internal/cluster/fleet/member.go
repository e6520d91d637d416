package fleet

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/towline-cd/towline/internal/cluster"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/fault"
)

// member is one cluster of a fleet. All but the entry is guarded by the fleet's
// lock.
type member struct {
	entry atomic.Pointer[destination.Cluster]
	link  *link
	// wanted says that somebody asked for the cluster.
	wanted bool
	// cluster is nil until it was opened, and broken why it cannot be reached as
	// its entry says.
	cluster *cluster.Cluster
	broken  error
	// stop is nil until the cluster runs.
	stop  context.CancelFunc
	since time.Time
}

func newMember(f *Fleet, entry destination.Cluster) *member {
	m := &member{}
	m.entry.Store(&entry)
	var b *breaker
	if !entry.Own() {
		b = newBreaker(f.Now)
	}
	m.link = newLink(func() string { return m.entry.Load().String() }, b)
	return m
}

func (m *member) server() string { return m.entry.Load().Server }

// host is the address that requests go to.
func (m *member) host(a Access) string {
	entry := m.entry.Load()
	if !entry.Own() {
		return entry.Server
	}
	if strings.Contains(a.Own.Host, "://") {
		return a.Own.Host
	}
	return "https://" + a.Own.Host
}

// ready is the cluster if it can be worked with, or why not.
func (m *member) ready(entry destination.Cluster) (*cluster.Cluster, error) {
	switch {
	case entry.Skip:
		return nil, fault.Waitingf(destination.Skipped, "the secret %q of cluster %s asks to leave it alone", entry.Secret, entry)
	case entry.Broken != "":
		return nil, fault.Waitingf(destination.Misconfigured, "cluster %s cannot be used: %s", entry, entry.Broken)
	case m.broken != nil:
		return nil, fault.Waitingf(destination.Misconfigured, "cluster %s cannot be used: %w", entry, m.broken)
	case m.cluster == nil:
		return nil, starting(entry)
	}
	if m.link.breaker != nil {
		if err := m.link.breaker.fault(); err != nil {
			return nil, err
		}
	}
	select {
	case <-m.cluster.Ready():
		return m.cluster, nil
	default:
	}
	if err := m.cluster.Problem(); err != nil && !destination.Lost(err) {
		return nil, fault.Waitingf(destination.Unreadable, "cluster %s cannot be read: %w", entry, err)
	}
	return nil, starting(entry)
}
