package notice

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Look is what messages are decided from.
type Look struct {
	App *v1alpha1.Application
	// Object is the application as triggers and templates see it.
	Object map[string]any
	// Project are the annotations of its project.
	Project map[string]string
	// Record is what the application says of its messages.
	Record Record
	// Holds says that this process has a message in its hands.
	Holds func(key string) bool
	World World
}

// Message is one that is to be sent.
type Message struct {
	Key     string
	Trigger string
	To      Destination
	// Templates are what it says.
	Templates []string
	Config    *Config
	// ID is the same however often it is sent, and At when it became due.
	ID string
	At time.Time
	// Again says that it may have been sent before by somebody else, to a service that can tell.
	Again bool
}

// Decision is what is to be done.
type Decision struct {
	// Messages are to be sent, once Record is written.
	Messages []Message
	Record   Record
	// Unsure are messages that may have been sent or not: whoever was about to send them is gone. They are not sent again.
	Unsure []Message
	// Problems are what of the subscriptions cannot be followed.
	Problems []Problem
	// Clocked says that a trigger looks at the clock, so that the application is to be looked at again.
	Clocked bool
	// Runs are how often triggers were run, and whether they held.
	Runs []Run
}

// Run is a condition of a trigger that was looked at.
type Run struct {
	Trigger string
	Held    bool
}

// Decide says which messages are due. The configurations are that of the control namespace, and the one of the application's
// own namespace where people bring their own.
func Decide(configs []*Config, l Look) Decision {
	d := &deciding{look: l, out: Decision{Record: l.Record.Clone()}, served: map[string]bool{}, unserved: map[string]Problem{}}
	current := map[string]bool{}
	for _, c := range configs {
		maps.Copy(current, d.consult(c))
	}
	d.inherit(configs, current)
	for _, pair := range slices.Sorted(maps.Keys(d.unserved)) {
		if !d.served[pair] {
			d.problem(d.unserved[pair])
		}
	}
	return d.out
}

// deciding is a decision that is being made.
type deciding struct {
	look Look
	out  Decision
	// served are the pairs of trigger and service that some configuration knows, and unserved what is wrong with the others.
	served   map[string]bool
	unserved map[string]Problem
}

func (d *deciding) problem(p Problem) {
	if !slices.Contains(d.out.Problems, p) {
		d.out.Problems = append(d.out.Problems, p)
	}
}

// unserve notes what is wrong with a pair of trigger and service. What the configuration itself gets wrong it says itself,
// and not once for each application.
func (d *deciding) unserve(pair, key, format string, args ...any) {
	if key != v1alpha1.KeyNotifySubscriptions {
		d.unserved[pair] = Problem{key, fmt.Sprintf(format, args...)}
	}
}

// consult asks one configuration, and says which messages it has for the application as it is now.
func (d *deciding) consult(c *Config) (current map[string]bool) {
	current = map[string]bool{}
	wanted, problems := c.subscriptionsOf(d.look.App, d.look.Project)
	for _, p := range problems {
		d.problem(p)
	}
	if len(wanted) == 0 {
		return current
	}
	vars := c.vars(d.look.Object, d.look.World, "")
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		trigger := c.Triggers[name]
		if trigger == nil {
			for to, key := range wanted[name] {
				d.unserve(name+" "+to.Service, key, "there is no trigger %q that can be used; %s", name, c.names())
			}
			continue
		}
		d.out.Clocked = d.out.Clocked || trigger.Clocked
		for _, outcome := range trigger.run(vars) {
			d.note(name, outcome)
			for _, to := range sorted(wanted[name]) {
				current[d.settle(c, name, outcome, asked{to, wanted[name][to]})] = true
			}
		}
	}
	return current
}

// note keeps what a run of a trigger was like.
func (d *deciding) note(trigger string, o Outcome) {
	d.out.Runs = append(d.out.Runs, Run{Trigger: trigger, Held: o.Holds})
	if o.Problem != "" {
		d.problem(Problem{v1alpha1.KeyNotifyTriggerPrefix + trigger, o.Problem})
	}
}

// names are the triggers that there are, for those who look for one.
func (c *Config) names() string {
	if len(c.Triggers) == 0 {
		return fmt.Sprintf("%s in namespace %q has none", v1alpha1.ConfigMapNotifications, c.Namespace)
	}
	return "there are " + strings.Join(slices.Sorted(maps.Keys(c.Triggers)), ", ")
}

func sorted(of map[Destination]string) []Destination {
	return slices.SortedFunc(maps.Keys(of), func(a, b Destination) int {
		return strings.Compare(a.Service+"\x00"+a.Recipient, b.Service+"\x00"+b.Recipient)
	})
}

// asked is a destination, and the key that asks for it.
type asked struct {
	to  Destination
	key string
}

// settle says what an outcome means for one destination: a message is due, or one may be told again some time. It gives the
// key of the message if there is one for the application as it is now, and nothing otherwise.
func (d *deciding) settle(c *Config, trigger string, o Outcome, a asked) string {
	key, pair := c.key(trigger, o, a.to), trigger+" "+a.to.Service
	_, served := c.Services[a.to.Service]
	if served {
		d.served[pair] = true
	} else {
		d.unserve(pair, a.key, "there is no service %q that can be used; make a key %s%s of %s, or mend it",
			a.to.Service, v1alpha1.KeyNotifyServicePrefix, a.to.Service, v1alpha1.ConfigMapNotifications)
	}
	if !o.Holds {
		// What is told once for something stays told; that has another key.
		delete(d.out.Record.Told, key)
	}
	if !o.Holds || !served {
		return ""
	}
	if _, told := d.out.Record.Told[key]; told || d.look.Holds(key) {
		return key
	}
	if _, claimed := d.out.Record.Claims[key]; claimed {
		return key
	}
	for _, template := range o.Condition.Send {
		if c.Templates[template] == nil {
			// The configuration says so already.
			return ""
		}
	}
	now := d.look.World.Now
	id := identify(d.look.App, key, now.Unix())
	d.out.Record.Claims[key] = Claim{
		Phase: Due, ID: id, At: now.Unix(), Config: c.Version, Namespace: c.Namespace,
		Trigger: trigger, Condition: o.Condition.Key, Service: a.to.Service, Recipient: a.to.Recipient,
	}
	d.out.Messages = append(d.out.Messages, Message{
		Key: key, Trigger: trigger, To: a.to, Templates: o.Condition.Send, Config: c, ID: id, At: now,
	})
	return key
}

// inherit says what becomes of the messages that somebody else had in hand: whoever acted before is gone.
func (d *deciding) inherit(configs []*Config, current map[string]bool) {
	for _, key := range slices.Sorted(maps.Keys(d.look.Record.Claims)) {
		claim := d.look.Record.Claims[key]
		if d.look.Holds(key) {
			continue
		}
		config, message, ok := find(configs, key, claim)
		if !ok {
			// Nobody can say any more what it was to tell.
			delete(d.out.Record.Claims, key)
			continue
		}
		switch {
		case claim.Phase == Failed:
			d.retry(message, current[key], claim.Config != config.Version)
		case kinds[config.Services[claim.Service].Type].knows:
			message.Again = true
			d.out.Messages = append(d.out.Messages, message)
		case claim.Phase == Due:
			d.out.Messages = append(d.out.Messages, message)
		default:
			d.out.Unsure = append(d.out.Unsure, message)
			delete(d.out.Record.Claims, key)
			d.out.Record.Told[key] = d.look.World.Now.Unix()
		}
	}
}

// retry says what becomes of a message that was given up.
func (d *deciding) retry(m Message, current, mended bool) {
	switch {
	case !current:
		delete(d.out.Record.Claims, m.Key)
	case mended:
		claim := d.out.Record.Claims[m.Key]
		claim.Phase, claim.By, claim.Config, claim.At = Due, "", m.Config.Version, d.look.World.Now.Unix()
		d.out.Record.Claims[m.Key] = claim
		d.out.Messages = append(d.out.Messages, m)
	}
}

// find is the message of a claim, as the configuration has it now.
func find(configs []*Config, key string, claim Claim) (*Config, Message, bool) {
	for _, c := range configs {
		trigger := c.Triggers[claim.Trigger]
		if c.Namespace != claim.Namespace || trigger == nil {
			continue
		}
		for i := range trigger.Conditions {
			condition := &trigger.Conditions[i]
			_, served := c.Services[claim.Service]
			if condition.Key != claim.Condition || !served {
				continue
			}
			to := Destination{Service: claim.Service, Recipient: claim.Recipient}
			return c, Message{
				Key: key, Trigger: claim.Trigger, To: to, Templates: condition.Send, Config: c, ID: claim.ID, At: time.Unix(claim.At, 0),
			}, true
		}
	}
	return nil, Message{}, false
}

// Moved says whether an application changed in a way that a message could be about: what we write of the messages themselves
// is none.
func Moved(old, app *v1alpha1.Application) bool {
	if old == nil || app == nil || old.UID != app.UID {
		return true
	}
	return old.Generation != app.Generation || (old.DeletionTimestamp == nil) != (app.DeletionTimestamp == nil) ||
		!maps.Equal(old.Labels, app.Labels) || !maps.Equal(without(old.Annotations), without(app.Annotations)) ||
		!reflect.DeepEqual(old.Operation, app.Operation) || !reflect.DeepEqual(old.Spec, app.Spec) ||
		!reflect.DeepEqual(old.Status, app.Status)
}

func without(annotations map[string]string) map[string]string {
	out := maps.Clone(annotations)
	delete(out, v1alpha1.AnnotationNotified)
	delete(out, v1alpha1.AnnotationNotifying)
	return out
}

// Sent is the record after a message was told.
func (r Record) Sent(key string, now time.Time) Record {
	out := r.Clone()
	delete(out.Claims, key)
	out.Told[key] = now.Unix()
	return out
}

// Took is the record with a message in somebody's hands; false is that it is not there to be taken.
func (r Record) Took(key, by string, now time.Time) (Record, bool) {
	claim, ok := r.Claims[key]
	if !ok {
		return r, false
	}
	out := r.Clone()
	claim.Phase, claim.By, claim.At = Sending, by, now.Unix()
	out.Claims[key] = claim
	return out, true
}

// GaveUp is the record after a message was given up.
func (r Record) GaveUp(key string, now time.Time) Record {
	out := r.Clone()
	claim := out.Claims[key]
	claim.Phase, claim.By, claim.At = Failed, "", now.Unix()
	out.Claims[key] = claim
	return out
}

// Put is the record with a message that is to be sent later; false is that it is not there.
func (r Record) Put(key string, now time.Time) (Record, bool) {
	claim, ok := r.Claims[key]
	if !ok || claim.Phase == Due {
		return r, ok
	}
	out := r.Clone()
	claim.Phase, claim.By, claim.At = Due, "", now.Unix()
	out.Claims[key] = claim
	return out, true
}
