package controlplane

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// ExtraOptions say what an extra cluster has besides its API server.
type ExtraOptions struct {
	// Controllers runs a controller manager. Without it nothing makes default service accounts, finishes the
	// deletion of namespaces or collects garbage.
	Controllers bool
	// Nodes is the number of fake nodes; more than none implies Controllers, a scheduler and kwok.
	Nodes int
	// Audit turns the audit log on.
	Audit AuditLevel
	// APIServerArgs are further arguments, as "key=value".
	APIServerArgs []string
}

// Extra starts another cluster cheaply: an API server on the same etcd under a prefix of its own, with an
// authority and service account keys of its own, so that no credential of one cluster works at another.
func (p *Plane) Extra(ctx context.Context, name string, opts ExtraOptions) (*Plane, error) {
	if !nameRule.MatchString(name) {
		return nil, fmt.Errorf("naming the cluster %q: use lower-case letters, digits and dashes", name)
	}
	base := p.root()
	extra := &Plane{
		name:    name,
		dir:     filepath.Join(base.dir, "extra", name),
		prefix:  "/extra/" + name,
		base:    base,
		bin:     base.bin,
		cleanup: func() {},
		opts: withDefaults(Options{
			Name:          name,
			Nodes:         extraNodes(opts),
			Audit:         opts.Audit,
			APIServerArgs: opts.APIServerArgs,
			Timeout:       base.opts.Timeout,
			Log:           base.opts.Log,
		}),
	}
	if err := base.adopt(extra); err != nil {
		return nil, err
	}
	if err := extra.prepareAndStart(ctx); err != nil {
		base.disown(extra)
		return nil, errors.Join(err, extra.Stop())
	}
	return extra, nil
}

// adopt reserves the name, so that two extra clusters never share a prefix by accident.
func (p *Plane) adopt(extra *Plane) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, other := range p.extras {
		if other.name == extra.name {
			return fmt.Errorf("starting the extra cluster %q: it runs already", extra.name)
		}
	}
	if p.spawn == nil {
		p.spawn = newSpawner()
	}
	extra.spawn = p.spawn
	p.extras = append(p.extras, extra)
	return nil
}

func (p *Plane) disown(extra *Plane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := []*Plane{}
	for _, other := range p.extras {
		if other != extra {
			kept = append(kept, other)
		}
	}
	p.extras = kept
}

func extraNodes(opts ExtraOptions) int {
	if opts.Nodes > 0 {
		return opts.Nodes
	}
	if opts.Controllers {
		return -1
	}
	return noControllers
}
