package appset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
)

// Input is what a comparison depends on. Now is a value: the core has no clock.
type Input struct {
	Set    *v1alpha1.ApplicationSet
	Now    time.Time
	Result Result
	// Owned are the Applications that have our reference.
	Owned []*v1alpha1.Application
	// Others are the Applications that have not, by name, with who has them.
	Others map[string]string
	// Policy says what may be done; see PolicyOf.
	Policy v1alpha1.ApplicationsSyncPolicy
	// Projects are those that there are.
	Projects map[string]bool
	// Clusters are the destinations that there are.
	Clusters []Cluster
	// Doubts are reasons for which nothing may go this time.
	Doubts []string
	// Pending is the removal that an earlier look wanted.
	Pending *Pending
	// Missing says since when the cluster of an Application, by its name, has been unknown.
	Missing map[string]time.Time
	// Settle is how much later a removal that looks like a mistake has to be wanted again; zero is a minute.
	Settle time.Duration
	// Approved says that a person lets go what is no longer generated, whatever it looks like.
	Approved bool
	// Stay is what stays of every Application by the word of the installation.
	Stay Stay
	// Exprs are the jq expressions of ignoreApplicationDifferences, by their text.
	Exprs map[string]diff.NamedExpr
}

// Stay names annotations and labels that others write on Applications, and that stay whatever a template says.
type Stay struct{ Annotations, Labels []string }

// Pending is a removal that waits for a second look that wants the same.
type Pending struct {
	// Digest names the Applications that were to go.
	Digest string
	// Since is when that was first wanted.
	Since time.Time
}

// Changes are what to write: first the updates, then the creations, and the removals last, so that an Application that
// hands over has stopped before its successor begins.
type Changes struct {
	Update []Update
	Create []*v1alpha1.Application
	Delete []Removal
	// Held are those that are not created or removed yet.
	Held []Held
	// Pending and Missing are to be kept for the next look.
	Pending *Pending
	Missing map[string]time.Time
	// Again is when to look again, if nothing happens before; zero for never.
	Again time.Time
	// Problems are those of the result, and what the comparison found.
	Problems []Problem
}

// Update is a change of an Application. Status and operation are those that it had.
type Update struct{ Was, Next *v1alpha1.Application }

// Removal is the end of an Application. With Cascade it is deleted as it stands, and its finalizers decide what becomes
// of its objects; without, they are taken off first, and the objects stay.
type Removal struct {
	App     *v1alpha1.Application
	Cascade bool
	Why     string
}

// Held is something that waits; Until is zero where no time ends it.
type Held struct {
	Name, Why string
	Until     time.Time
}

// Empty tells whether there is nothing to write.
func (c Changes) Empty() bool { return len(c.Update)+len(c.Create)+len(c.Delete) == 0 }

// PolicyOf is what may be done to the Applications of a set. What the installation says precedes what the set says,
// unless the installation says nothing or lets itself be overridden.
func PolicyOf(set *v1alpha1.ApplicationSet, controller string, override bool) v1alpha1.ApplicationsSyncPolicy {
	own := v1alpha1.ApplicationsSyncPolicy("")
	if set.Spec.SyncPolicy != nil && set.Spec.SyncPolicy.ApplicationsSync != nil {
		own = *set.Spec.SyncPolicy.ApplicationsSync
	}
	if own != "" && (controller == "" || override) {
		return own
	}
	return cmp.Or(v1alpha1.ApplicationsSyncPolicy(controller), v1alpha1.ApplicationsSyncPolicySync)
}

// Compare says what to write so that there is what the set stands for. A set that could not be worked out, or of which
// something is not known yet, changes nothing.
func Compare(in Input) Changes {
	if in.Result.Failure != "" || len(in.Result.Needs) > 0 {
		return Changes{Pending: in.Pending, Missing: in.Missing}
	}
	c := &comparison{
		Input: in,
		owned: make(map[string]*v1alpha1.Application, len(in.Owned)),
		want:  make(map[string]*v1alpha1.Application, len(in.Result.Apps)),
		kept:  map[string]bool{},
		known: make(map[v1alpha1.ApplicationDestination]bool, 2*len(in.Clusters)),
	}
	for _, k := range in.Clusters {
		c.known[v1alpha1.ApplicationDestination{Name: k.Name}] = true
		c.known[v1alpha1.ApplicationDestination{Server: strings.TrimSuffix(k.Server, "/")}] = true
	}
	for _, app := range in.Owned {
		c.owned[app.Name] = app
	}
	for _, p := range in.Result.Problems {
		c.problem(p)
	}
	c.validate()
	c.remove()
	c.write()
	slices.SortFunc(c.Delete, func(a, b Removal) int { return strings.Compare(a.App.Name, b.App.Name) })
	slices.SortFunc(c.Held, func(a, b Held) int { return strings.Compare(a.Name, b.Name) })
	for _, h := range c.Held {
		if !h.Until.IsZero() && (c.Again.IsZero() || h.Until.Before(c.Again)) {
			c.Again = h.Until
		}
	}
	return c.Changes
}

// comparison is one run of Compare.
type comparison struct {
	Input
	Changes

	owned map[string]*v1alpha1.Application
	// want are the Applications that may be written.
	want map[string]*v1alpha1.Application
	// kept are the names that have a problem.
	kept map[string]bool
	// known are the destinations that there are, by name alone and by server alone.
	known map[v1alpha1.ApplicationDestination]bool
	// waits are those that may not be created yet.
	waits map[string]bool
	// nameless says that some Application has no usable name: nobody knows which one it replaces.
	nameless bool
}

func (c *comparison) problem(p Problem) {
	c.Problems = append(c.Problems, p)
	if p.Name == "" {
		c.nameless = true
		return
	}
	c.kept[p.Name] = true
}

// validate finds the Applications that cannot be written.
func (c *comparison) validate() {
	for _, app := range c.Result.Apps {
		if why := c.wrong(app); why != "" {
			c.problem(Problem{Name: app.Name, Message: fmt.Sprintf("the Application %s %s", app.Name, why)})
			continue
		}
		c.want[app.Name] = app
	}
}

func (c *comparison) wrong(app *v1alpha1.Application) string {
	if who, taken := c.Others[app.Name]; taken {
		return fmt.Sprintf("exists already and belongs to %s; rename one of them, or delete the other one", who)
	}
	if p := app.ProjectName(); !c.Projects[p] {
		return fmt.Sprintf("names the project %s, which there is not; create the project, or correct spec.project", p)
	}
	d := app.Spec.Destination
	switch {
	case d.Name == "" && d.Server == "":
		return "has no destination; set spec.destination.server or spec.destination.name"
	case d.Name != "" && d.Server != "":
		return fmt.Sprintf("has two destinations, the name %s and the server %s; remove one of them", d.Name, d.Server)
	case !c.reachable(d):
		return fmt.Sprintf("is for the cluster %s, which is not known; add the cluster, or correct spec.destination",
			cmp.Or(d.Name, d.Server))
	}
	return ""
}

// reachable tells whether there is such a cluster.
func (c *comparison) reachable(d v1alpha1.ApplicationDestination) bool {
	if d.Name != "" {
		return c.known[v1alpha1.ApplicationDestination{Name: d.Name}]
	}
	return c.known[v1alpha1.ApplicationDestination{Server: strings.TrimSuffix(d.Server, "/")}]
}

// write finds what is to be created and changed.
func (c *comparison) write() {
	var updates []Update
	for _, want := range c.Result.Apps {
		if c.want[want.Name] == nil || c.waits[want.Name] {
			continue
		}
		was := c.owned[want.Name]
		switch {
		case was == nil:
			c.Create = append(c.Create, want)
		case !c.Policy.AllowUpdate() || was.DeletionTimestamp != nil:
		default:
			next, why := c.next(was, want)
			if why != "" {
				c.Problems = append(c.Problems, Problem{
					Name: want.Name, Message: fmt.Sprintf("the Application %s is left as it is: %s", want.Name, why),
				})
				continue
			}
			if next != nil {
				updates = append(updates, Update{Was: was, Next: next})
			}
		}
	}
	// Those that hand over come first.
	slices.SortFunc(c.Update, func(a, b Update) int { return strings.Compare(a.Was.Name, b.Was.Name) })
	c.Update = append(c.Update, updates...)
}
