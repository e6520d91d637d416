package catalog

import (
	"slices"
	"strings"
)

// add gives a new application a slot. The caller holds the lock.
func (c *Catalog) add(row *Row) {
	var slot uint32
	if n := len(c.free); n > 0 {
		slot, c.free = c.free[n-1], c.free[:n-1]
	} else {
		slot = uint32(len(c.rows))
		c.rows = append(c.rows, nil)
		for d := range c.columns {
			c.columns[d] = append(c.columns[d], 0)
		}
	}
	c.rows[slot] = row
	c.slots[row.Key] = slot
	c.live = c.live.with(slot)
	for d, text := range row.values() {
		c.columns[d][slot] = c.dims[d].add(text, slot, false).id
	}
	for _, repo := range row.Repos {
		c.repos.add(repo, slot, false)
	}
	for key, text := range row.Labels {
		c.labels.add(key, slot, false)
		c.addLabel(key, text, slot)
	}
	c.names.add(slot, strings.ToLower(row.Key.Name))
	c.intern(row, slot)
	c.byName.insert(slot)
	c.byCreated.insert(slot)
	c.bySynced.insert(slot)
	c.noteMove(slot)
}

// replace gives a slot another row of the same application, and touches only
// what differs. The caller holds the lock.
func (c *Catalog) replace(slot uint32, row *Row) {
	old := c.rows[slot]
	// The orders look at the rows: what moves must leave them first.
	if old.created != row.created {
		c.byCreated.remove(slot)
	}
	if old.synced != row.synced {
		c.bySynced.remove(slot)
	}
	c.rows[slot] = row
	if old.created != row.created {
		c.byCreated.insert(slot)
	}
	if old.synced != row.synced {
		c.bySynced.insert(slot)
	}
	before := old.values()
	for d, text := range row.values() {
		if before[d] == text {
			continue
		}
		c.dims[d].drop(c.dims[d].byID[c.columns[d][slot]], slot, false)
		c.columns[d][slot] = c.dims[d].add(text, slot, false).id
	}
	if before[project] != row.Project {
		c.noteMove(slot)
	}
	c.replaceRepos(slot, old.Repos, row.Repos)
	c.replaceLabels(slot, old.Labels, row.Labels)
	c.intern(row, slot)
}

func (c *Catalog) replaceRepos(slot uint32, before, after []string) {
	for _, repo := range before {
		if !slices.Contains(after, repo) {
			c.repos.drop(c.repos.values[repo], slot, false)
		}
	}
	for _, repo := range after {
		if !slices.Contains(before, repo) {
			c.repos.add(repo, slot, false)
		}
	}
}

// replaceLabels takes away before it adds: a slot has one value of a key.
func (c *Catalog) replaceLabels(slot uint32, before, after map[string]string) {
	for key, text := range before {
		now, has := after[key]
		if !has || now != text {
			c.dropLabel(key, text, slot)
		}
		if !has {
			c.labels.drop(c.labels.values[key], slot, false)
		}
	}
	for key, text := range after {
		old, had := before[key]
		if !had {
			c.labels.add(key, slot, false)
		}
		if !had || old != text {
			c.addLabel(key, text, slot)
		}
	}
}

// remove frees a slot. The caller holds the lock.
func (c *Catalog) remove(slot uint32) {
	row := c.rows[slot]
	c.byName.remove(slot)
	c.byCreated.remove(slot)
	c.bySynced.remove(slot)
	c.names.remove(slot, strings.ToLower(row.Key.Name))
	for d := range row.values() {
		c.dims[d].drop(c.dims[d].byID[c.columns[d][slot]], slot, false)
	}
	for _, repo := range row.Repos {
		c.repos.drop(c.repos.values[repo], slot, false)
	}
	for key, text := range row.Labels {
		c.dropLabel(key, text, slot)
		c.labels.drop(c.labels.values[key], slot, false)
	}
	c.live.drop(slot)
	delete(c.slots, row.Key)
	c.rows[slot] = nil
	c.free = append(c.free, slot)
	c.noteMove(slot)
}

// addLabel adds a value to a key that the slot has.
func (c *Catalog) addLabel(key, text string, slot uint32) {
	k := c.labels.values[key]
	if k.keyed == nil {
		k.keyed = newDimension(true, c.terms)
	}
	k.keyed.add(text, slot, text == c.rows[slot].Key.Name)
}

// dropLabel takes a value away and leaves the key.
func (c *Catalog) dropLabel(key, text string, slot uint32) {
	values := c.labels.values[key].keyed
	values.drop(values.values[text], slot, text == c.rows[slot].Key.Name)
}

// intern has the row share its texts with all others that have the same.
func (c *Catalog) intern(row *Row, slot uint32) {
	text := func(d int) string { return c.dims[d].byID[c.columns[d][slot]].text }
	row.Project, row.cluster, row.target = text(project), text(cluster), text(target)
	for i, repo := range row.Repos {
		row.Repos[i] = c.repos.values[repo].text
	}
}

// noteMove remembers that who may see a slot, or what it is called, changed.
func (c *Catalog) noteMove(slot uint32) {
	c.moved[c.moves%remembered] = slot
	c.moves++
}

// values are the values of a row, by dimension.
func (r *Row) values() [dimensions]string {
	return [dimensions]string{
		project: r.Project, appNamespace: r.Key.Namespace, cluster: r.cluster, target: r.target,
		health: r.health, syncStatus: r.sync, operation: r.operation, automated: r.auto,
	}
}
