package main

import (
	"context"
	"os"
	"time"

	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cluster"
	"github.com/towline-cd/towline/internal/cluster/fleet"
	"github.com/towline-cd/towline/internal/controller"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/status"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/metric"
	"github.com/towline-cd/towline/internal/server"
	"github.com/towline-cd/towline/internal/settings"
)

// access is how clusters are reached from this process.
func access(own *rest.Config, allowExec bool) fleet.Access {
	return fleet.Access{Own: own, AllowExec: allowExec, UserAgent: own.UserAgent, Getenv: os.Getenv, ReadFile: os.ReadFile}
}

// openFleet makes the fleet. The clusters come with the settings.
func (p *parts) openFleet(w ways, allowExec bool, first *settings.Settings) {
	reach := access(w.fenced, allowExec)
	reach.Guard = w.fence.Guard
	p.fleet = fleet.New(fleet.Options{
		Access: reach,
		Watch: func() cluster.Options {
			s := p.settings.Current()
			return cluster.Options{
				Exclusions: filters(s.Exclusions), Inclusions: filters(s.Inclusions), Tracker: first.Tracker, Judge: p.scripts.judge,
			}
		},
		Events: fleet.Events{
			Changed: p.objectChanged,
			Viewed: func(server string) {
				if t := p.shift.Load(); t != nil {
					t.wake(t.engine.Waiting(server), controller.Drift)
				}
			},
			Doubted: func(server string, k object.Key) bool {
				t := p.shift.Load()
				return t != nil && t.engine.Doubted(server, k)
			},
			Turned: func(c destination.Cluster) {
				if t := p.shift.Load(); t != nil {
					t.controller.ClustersChanged([]v1alpha1.ApplicationDestination{{Server: c.Server}, {Name: c.Name}})
				}
			},
		},
		Now: time.Now,
	})
}

// clustersChanged takes the destinations as they are now, and wakes those of
// whose clusters something else is known.
func (p *parts) clustersChanged(old, now *destination.Set) {
	// What they are waiting for is known when this is over.
	defer p.announce(server.TopicClusters)
	if p.fleet == nil {
		return
	}
	p.fleet.Set(now)
	t := p.shift.Load()
	if t == nil {
		p.warm(p.hub.Known()...)
		return
	}
	t.controller.ClustersChanged(destination.Changed(old, now))
	// Generators know clusters by their labels too; whoever asks for none of
	// them writes nothing.
	for _, set := range p.hub.Sets() {
		t.controller.EnqueueSet(set)
	}
}

// place names the cluster of a destination, however it is written.
func (p *parts) place(d v1alpha1.ApplicationDestination) string {
	c, err := p.settings.Clusters().Find(d)
	if err != nil {
		return d.Server + d.Name
	}
	return destination.Key(c.Server)
}

// many are the clusters of a fleet, as the engine asks for them.
type many struct{ *fleet.Fleet }

// Find says which cluster a destination means, and whether it is open.
func (m many) Find(d v1alpha1.ApplicationDestination) (server, name string, open bool, err error) {
	entry, open, err := m.Fleet.Find(d)
	return entry.Server, entry.Name, open, err
}

// For finds the cluster of a destination.
func (m many) For(d v1alpha1.ApplicationDestination) (engine.Cluster, string, string, error) {
	c, entry, err := m.Fleet.For(d)
	if err != nil {
		return nil, "", "", err
	}
	return c, entry.Server, entry.Name, nil
}

// clusters are what is told to whoever scrapes, by the replica that leads: told
// by all of them, everything would be there twice.
func (p *parts) clusters() []metric.Cluster {
	if p.shift.Load() == nil {
		return nil
	}
	var out []metric.Cluster
	ages := map[string]controller.Age{}
	if t := p.shift.Load(); t != nil {
		ages = t.controller.Ages()
	}
	for _, s := range p.fleet.States() {
		if s.Open == nil && fault.ReasonOf(s.Err) == destination.Starting {
			// Nobody needs it, so nobody knows how it is.
			continue
		}
		age := ages[destination.Key(s.Server)]
		c := metric.Cluster{Server: s.Server, Name: s.Name, Waiting: age.Waiting, Oldest: age.Oldest}
		if s.Open != nil {
			size := s.Open.Size()
			c.Version, c.Kinds, c.Objects, c.Lag = s.Open.Version(), size.Kinds, size.Objects, size.Lag
			c.Connected = s.Err == nil && size.Kinds > size.Broken
			select {
			case <-s.Open.Ready():
				c.Age = time.Since(s.Since)
			default:
			}
		}
		out = append(out, c)
	}
	return out
}

// serverOf is the address of a destination that may have only a name.
func (p *parts) serverOf(d v1alpha1.ApplicationDestination) string {
	if d.Server != "" {
		return d.Server
	}
	c, _ := p.settings.Clusters().Find(d)
	return c.Server
}

// single is the one cluster of an application, for a command.
type single struct {
	cluster engine.Cluster
	entry   destination.Cluster
	of      *destination.Set
}

// For finds the cluster of a destination.
func (s single) For(d v1alpha1.ApplicationDestination) (engine.Cluster, string, string, error) {
	entry, err := s.of.Find(d)
	if err != nil {
		return nil, "", "", err
	}
	if destination.Key(entry.Server) != destination.Key(s.entry.Server) {
		return nil, "", "", fault.Terminalf(destination.Unknown, "this command looks at cluster %s, not at %s", s.entry, entry)
	}
	return s.cluster, entry.Server, entry.Name, nil
}

// snapshot is the cluster of an application as it stands, read object by object.
func snapshot(ctx context.Context, own *rest.Config, namespace string, app *v1alpha1.Application) (*cluster.Snapshot, single, error) {
	s, err := settings.Read(ctx, own, namespace)
	if err != nil {
		return nil, single{}, err
	}
	set, err := settings.ReadClusters(ctx, own, namespace)
	if err != nil {
		return nil, single{}, err
	}
	entry, err := set.Find(app.Spec.Destination)
	if err != nil {
		return nil, single{}, err
	}
	if entry.Broken != "" {
		return nil, single{}, fault.Waitingf(destination.Misconfigured, "cluster %s cannot be used: %s", entry, entry.Broken)
	}
	config, err := access(own, false).Config(entry)
	if err != nil {
		return nil, single{}, err
	}
	c, err := cluster.Open(config, cluster.Options{
		Tracker: s.Tracker, Exclusions: filters(s.Exclusions), Inclusions: filters(s.Inclusions),
		Server: entry.Server, Namespaces: entry.Namespaces, ClusterResources: entry.ClusterResources,
	})
	if err != nil {
		return nil, single{}, err
	}
	if listed, all := status.Listed(app.Status); listed < all {
		return nil, single{}, fault.Waitingf("Abridged",
			"the status of application %q lists %d of %d objects, too few to go by from here; \"towline login SERVER\", and ask there",
			app.Name, listed, all)
	}
	managed := make([]object.Key, 0, len(app.Status.Resources))
	for _, r := range app.Status.Resources {
		managed = append(managed, object.Key{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name})
	}
	live, err := c.Snapshot(ctx, managed)
	if err != nil {
		return nil, single{}, err
	}
	return live, single{cluster: live, entry: entry, of: set}, nil
}
