package appset

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

const (
	// budgetFloor is the number of Applications from which on losing more than half of them looks like a mistake.
	budgetFloor = 10
	// secondLook is how much later a removal that looks like a mistake has to be wanted again.
	secondLook = time.Minute
	// clusterGrace is how long an Application outlives its cluster.
	clusterGrace = 10 * time.Minute
)

// remove decides on the Applications that the set no longer stands for. Each may go only with proof that it should.
func (c *comparison) remove() {
	if !c.Policy.AllowDelete() {
		return
	}
	var left []*v1alpha1.Application
	stay := 0
	for _, app := range c.Owned {
		switch {
		case app.DeletionTimestamp != nil:
		case c.want[app.Name] == nil && !c.kept[app.Name]:
			left = append(left, app)
		case c.Now.Sub(app.CreationTimestamp.Time) >= secondLook:
			// Those that were just created do not count, or a set that is replaced as a whole would look like one that
			// loses half.
			stay++
		}
	}
	slices.SortFunc(left, func(a, b *v1alpha1.Application) int { return strings.Compare(a.Name, b.Name) })
	successors := c.successors(left)
	if doubt := c.doubt(); doubt != "" {
		// It neither counts as a look nor makes an earlier one forgotten.
		c.Changes.Pending, c.Changes.Missing = c.Input.Pending, c.Input.Missing
		c.holdAll(left, successors, doubt)
		return
	}
	var going []Removal
	var wanted []string
	for _, app := range left {
		if next := successors[app.Name]; next != nil {
			c.handOver(app, next)
			continue
		}
		wanted = append(wanted, app.Name)
		if r, ok := c.going(app); ok {
			going = append(going, r)
		}
	}
	c.budget(going, wanted, stay+len(left))
}

// doubt says why nothing may go this time.
func (c *comparison) doubt() string {
	doubts := slices.Clone(c.Doubts)
	if c.nameless {
		doubts = append(doubts, "an Application has no usable name, so that nobody knows which one it takes the place of")
	}
	return strings.Join(doubts, "; ")
}

// holdAll keeps everything. What would take over from another one waits with it: two that deploy the same would fight.
func (c *comparison) holdAll(left []*v1alpha1.Application, successors map[string]*v1alpha1.Application, doubt string) {
	for _, app := range left {
		c.Held = append(c.Held, Held{Name: app.Name, Why: "it is no longer generated, and stays for now: " + doubt})
		next := successors[app.Name]
		if next == nil || c.owned[next.Name] != nil || c.waits[next.Name] {
			continue
		}
		if c.waits == nil {
			c.waits = map[string]bool{}
		}
		c.waits[next.Name] = true
		c.Held = append(c.Held, Held{
			Name: next.Name,
			Why:  fmt.Sprintf("it is not created yet, because it takes over from %s, which stays for now: %s", app.Name, doubt),
		})
	}
}

// going decides on one Application that nobody takes over from.
func (c *comparison) going(app *v1alpha1.Application) (Removal, bool) {
	d := app.Spec.Destination
	if c.reachable(d) || d.Name == "" && d.Server == "" {
		return Removal{App: app, Cascade: true, Why: "it is no longer generated"}, true
	}
	since, ok := c.Input.Missing[app.Name]
	if !ok {
		since = c.Now
	}
	if c.Changes.Missing == nil {
		c.Changes.Missing = map[string]time.Time{}
	}
	c.Changes.Missing[app.Name] = since
	until := since.Add(clusterGrace)
	if c.Now.Before(until) {
		c.Held = append(c.Held, Held{
			Name: app.Name, Until: until,
			Why: fmt.Sprintf("it is no longer generated, and its cluster %s is not known; if that is still so after %s, "+
				"it goes and leaves its objects where they are", d.Name+d.Server, clusterGrace),
		})
		return Removal{}, false
	}
	return Removal{
		App: app,
		Why: fmt.Sprintf("it is no longer generated, and its cluster %s has not been known for %s: its objects stay where they are",
			d.Name+d.Server, clusterGrace),
	}, true
}

// budget lets a removal pass, or has one that looks like a mistake wait for a second look. What counts is all that is
// wanted to go, also what waits for something else.
func (c *comparison) budget(going []Removal, wanted []string, present int) {
	if len(wanted) == 0 {
		return
	}
	digest := digestOf(wanted)
	since := c.Now
	// What waited once waits to the end: what was created meanwhile makes it no smaller.
	waited := c.Input.Pending != nil && c.Input.Pending.Digest == digest
	if waited {
		since = c.Input.Pending.Since
	}
	most := len(wanted) == present || present >= budgetFloor && len(wanted)*2 > present
	if c.Approved || !waited && !most {
		c.Delete = append(c.Delete, going...)
		return
	}
	c.Changes.Pending = &Pending{Digest: digest, Since: since}
	settle := cmp.Or(c.Settle, secondLook)
	until := since.Add(settle)
	if !c.Now.Before(until) {
		c.Delete = append(c.Delete, going...)
		if len(going) == len(wanted) {
			c.Changes.Pending = nil
		}
		return
	}
	for _, r := range going {
		c.Held = append(c.Held, Held{
			Name: r.App.Name, Until: until,
			Why: fmt.Sprintf("it is no longer generated; since %d of %d Applications would go, a second look after %s must say the same",
				len(wanted), present, settle),
		})
	}
}

func digestOf(names []string) string {
	h := sha256.New()
	for _, name := range names {
		fmt.Fprintf(h, "%d %s\n", len(name), name)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// successors are those that deploy the same to the same place as one that is left.
func (c *comparison) successors(left []*v1alpha1.Application) map[string]*v1alpha1.Application {
	if len(left) == 0 {
		return nil
	}
	byWork := make(map[string]*v1alpha1.Application, len(c.want))
	for _, app := range c.Result.Apps {
		if c.want[app.Name] == nil {
			continue
		}
		key := workOf(app)
		if have := byWork[key]; have == nil || app.Name < have.Name {
			byWork[key] = app
		}
	}
	out := map[string]*v1alpha1.Application{}
	for _, app := range left {
		next := byWork[workOf(app)]
		if next == nil {
			continue
		}
		// One that stands and may not be changed deploys what it deploys, whatever is generated.
		if have := c.owned[next.Name]; have != nil && !c.Policy.AllowUpdate() && workOf(have) != workOf(app) {
			continue
		}
		out[app.Name] = next
	}
	return out
}

// workOf names what an Application deploys, and where.
func workOf(app *v1alpha1.Application) string {
	data, err := json.Marshal(struct {
		Sources     v1alpha1.ApplicationSources
		Hydrator    *v1alpha1.SourceHydrator
		Destination v1alpha1.ApplicationDestination
	}{app.Sources(), app.Spec.SourceHydrator, app.Spec.Destination})
	if err != nil {
		// Free-form values that are not JSON: it is like no other.
		return "unlike any other: " + app.Name
	}
	return string(data)
}

// handOver lets an Application go whose objects another one takes over. They were never to be deleted: it goes without
// them, and not before the other one has them.
func (c *comparison) handOver(app, next *v1alpha1.Application) {
	successor := c.owned[next.Name]
	if successor != nil && workOf(successor) == workOf(app) && takenOver(successor) {
		c.Delete = append(c.Delete, Removal{App: app, Why: fmt.Sprintf("%s has taken over what it deployed", next.Name)})
		return
	}
	why := fmt.Sprintf("%s deploys the same and takes over; it has to be created first", next.Name)
	if successor != nil {
		state := "its spec is being changed"
		if workOf(successor) == workOf(app) {
			state = statusWord(successor)
		}
		why = fmt.Sprintf("%s deploys the same and takes over, and is not Synced yet (%s); sync it if it does not sync by itself",
			next.Name, state)
	}
	c.Held = append(c.Held, Held{Name: app.Name, Why: why})
	told := app.Annotations[v1alpha1.AnnotationSuccessor] == next.Name && app.Annotations[v1alpha1.AnnotationSkipReconcile] == "true"
	if told || !c.Policy.AllowUpdate() {
		return
	}
	marked := app.DeepCopy()
	if marked.Annotations == nil {
		marked.Annotations = map[string]string{}
	}
	marked.Annotations[v1alpha1.AnnotationSkipReconcile] = "true"
	marked.Annotations[v1alpha1.AnnotationSuccessor] = next.Name
	c.Update = append(c.Update, Update{Was: app, Next: marked})
}

func statusWord(app *v1alpha1.Application) string {
	if app.Status.Sync.Status == "" {
		return "not compared yet"
	}
	if !compared(app) {
		return "not compared with its new spec yet"
	}
	return string(app.Status.Sync.Status)
}

// takenOver tells whether an Application was found in sync, with the spec that it has.
func takenOver(app *v1alpha1.Application) bool {
	return app.DeletionTimestamp == nil && app.Status.Sync.Status == v1alpha1.SyncStatusCodeSynced && compared(app)
}

// compared tells whether the status of an Application is about the spec that it has.
func compared(app *v1alpha1.Application) bool {
	to := app.Status.Sync.ComparedTo
	sources := to.Sources
	if len(sources) == 0 {
		sources = v1alpha1.ApplicationSources{to.Source}
	}
	if app.Spec.SourceHydrator == nil && !same.DeepEqual(sources, app.Sources()) {
		return false
	}
	return to.Destination == app.Spec.Destination
}
