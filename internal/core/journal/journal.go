// Package journal is what is written down for those who ask afterwards who did what, and why: records, each sealed by a
// digest that covers the one before, and the answers that can be read from them. It must not read or write any file, and
// nothing in a record is a value that somebody could sign in with: texts of requests and of manifests have no place here.
package journal

import (
	"time"

	"github.com/towline-cd/towline/internal/core/object"
)

// Kind is what a record is about.
type Kind string

// The kinds. The first three are about the log itself.
const (
	// Opened is that a process goes on with the log, or begins one.
	Opened Kind = "opened"
	// Lost is that what a process found is not what the last one left: Why says what is missing.
	Lost Kind = "lost"
	// Dropped is that the oldest records, up to Through, are deleted for want of room.
	Dropped Kind = "dropped"

	// Request is that somebody asked for a change over the API, and what came of it.
	Request Kind = "request"
	// Began and Ended are an operation, and Held that its deletions wait.
	Began Kind = "began"
	Ended Kind = "ended"
	Held  Kind = "held"
	// Deletes is that objects are about to be deleted, each with the proof: it is written before the first request.
	Deletes Kind = "deletes"
	// Objects is what was done to objects.
	Objects Kind = "objects"
	// Released is that an application was let go, which its deletion waited for.
	Released Kind = "released"
)

// Who is on whose behalf something was done.
type Who struct {
	// Subject is whom the rules speak of, or who an operation says it is for.
	Subject string `json:"subject,omitempty"`
	// Name is what people call them, where that is something else.
	Name    string   `json:"name,omitempty"`
	Groups  []string `json:"groups,omitempty"`
	Address string   `json:"address,omitempty"`
	// Token is the id of the token, never the token.
	Token string `json:"token,omitempty"`
	// Request is the id of the request, which the process log has too.
	Request string `json:"request,omitempty"`
	// Automated is that nobody asked: the application's policy says so.
	Automated bool `json:"automated,omitempty"`
}

// IsZero says that nobody is named.
func (w Who) IsZero() bool {
	return w.Subject == "" && w.Name == "" && len(w.Groups) == 0 && w.Address == "" && w.Token == "" && w.Request == "" && !w.Automated
}

// Is says that two names are of the same one, as far as records tell.
func (w Who) Is(other Who) bool {
	return w.Subject != "" && (w.Subject == other.Subject || w.Subject == other.Name || w.Name != "" && w.Name == other.Subject)
}

// Record is one line.
type Record struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	// Prev is the digest of the line before; empty in the first of all.
	Prev string `json:"prev"`
	Kind Kind   `json:"kind"`
	By   Who    `json:"by,omitzero"`
	// App is the application, by the name that it has everywhere, and Server its destination.
	App     string `json:"app,omitempty"`
	Project string `json:"project,omitempty"`
	// Set is the ApplicationSet whose Applications were written.
	Set    string `json:"set,omitempty"`
	Server string `json:"server,omitempty"`
	// Operation names one of the application's operations: by when it began.
	Operation string `json:"operation,omitempty"`
	// Revisions are the commits, and Tree the digest of all that they render to.
	Revisions []string `json:"revisions,omitempty"`
	Tree      string   `json:"tree,omitempty"`
	Objects   []Deed   `json:"objects,omitempty"`
	// Why is the reason of a decision, in words of ours.
	Why string `json:"why,omitempty"`
	// Phase is how an operation ended.
	Phase string `json:"phase,omitempty"`
	Asked *Asked `json:"asked,omitempty"`
	// Through is the last record that was dropped.
	Through uint64 `json:"through,omitempty"`
	// Process names the one that writes from here on.
	Process string `json:"process,omitempty"`
}

// Asked is a request over the API.
type Asked struct {
	// Does is the route, and Rights what the rules were asked for about Object.
	Does   string   `json:"does"`
	Rights []string `json:"rights,omitempty"`
	Object string   `json:"object,omitempty"`
	// Status is that of the answer.
	Status int               `json:"status"`
	Notes  map[string]string `json:"notes,omitempty"`
}

// Action is what was done to an object.
type Action string

// The actions.
const (
	Create    Action = "create"
	Update    Action = "update"
	Unchanged Action = "unchanged"
	Delete    Action = "delete"
	Patch     Action = "patch"
	// Release took our finalizer off, and TakeOver made fields ours without changing a value.
	Release  Action = "release"
	TakeOver Action = "take over"
)

// Deed is what was done to one object.
type Deed struct {
	Action    Action `json:"action"`
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	// Before and After are versions of the object, as its server counts them.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// As is the user whom the project acts as, if it is not ourselves.
	As string `json:"as,omitempty"`
	// Failed is the class of what kept it from being done; empty is that it was.
	Failed string `json:"failed,omitempty"`
	Proof  *Proof `json:"proof,omitempty"`
}

// Key is the object.
func (d Deed) Key() object.Key {
	return object.Key{Group: d.Group, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name}
}

// On is a deed on an object that nothing else is known of.
func On(k object.Key, a Action) Deed {
	return Deed{Action: a, Group: k.Group, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name}
}

// The reasons of deletions.
const (
	Undesired = "Git does not have it any more"
	Cascade   = "its application is being deleted"
	HookOver  = "a hook that its policy lets go"
	Anew      = "it cannot be changed, and is made anew"
	ByHand    = "somebody asked for its deletion"
)

// Proof is why an object may go. What is deleted is besides held to its UID and to the version that was read last.
type Proof struct {
	Reason string `json:"reason"`
	// Mark is the application that the object's own mark names.
	Mark string `json:"mark,omitempty"`
	// Desired is how many objects the render gave; none of it was left out, and every API group of it answered.
	Desired int `json:"desired,omitempty"`
	// Approved is when a person approved it, and Looked that a second look at the source found the same.
	Approved string `json:"approved,omitempty"`
	Looked   bool   `json:"looked,omitempty"`
}
