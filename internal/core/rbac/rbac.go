// Package rbac decides who may do what: the lines of argocd-rbac-cm and the
// roles of projects, compiled once to an immutable table, and each answer with
// the line that decided. It must not know where the lines come from, nor how a
// caller was recognised.
//
// The language is Argo CD's. "p, SUBJECT, RESOURCE, ACTION, OBJECT, EFFECT"
// allows or denies, "g, SUBJECT, ROLE" gives a role. The default role is asked
// first, then the subject itself, then each of its groups that a g line names:
// the first of them that has an allow and no deny says yes. So a deny holds for
// the one whom it is written for, and cannot be passed by another line of the
// same one, but a group may still allow what is denied to the user.
//
// What cannot be read never gives a right. A line that plainly was to allow
// allows nothing. Any other may have been a deny, so it is one: a pattern that
// cannot be read denies whatever stands there, and a line without a clear
// effect denies what it names to its subject. Where not even the subject can be
// read, everything is denied to everybody until the line is mended: leaving it
// out might open what it was to close, and going back to what was read before
// would make the answer depend on who was running when. Each such line is a
// Problem with its number and the way out.
//
// Patterns are written by tenants too, in the roles of their projects. Both
// kinds are matched in linear time, and one that would cost more to keep than
// it is worth counts as unreadable.
package rbac

import (
	"fmt"
	"strings"
)

// Mode is how patterns are read.
type Mode int

// The modes. A glob covers the whole text and knows no separators: "*" also
// takes slashes. A regular expression may match anywhere in the text.
const (
	Glob Mode = iota
	Regex
)

// String is the mode as it is written in argocd-rbac-cm.
func (m Mode) String() string {
	if m == Regex {
		return "regex"
	}
	return "glob"
}

// Document is lines with the name of where they stand.
type Document struct{ Name, Text string }

// Config is what an installation says about permissions.
type Config struct {
	// Documents are the lines, in their order.
	Documents []Document
	// Default is the role that everybody has; empty is none.
	Default string
	// Scopes are the claims of a login that hold groups. They are kept here for
	// those who read logins.
	Scopes []string
	Mode   Mode
	// Inherit says that whoever may update or delete an application may do so
	// with each of its objects.
	Inherit bool
	// NoBuiltin leaves out the roles that are always there.
	NoBuiltin bool
}

// Subject is who asks: an account, the subject of a login, or
// "proj:PROJECT:ROLE", and the groups that a login came with.
type Subject struct {
	Name   string
	Groups []string
}

// Question is what a subject wants to do.
type Question struct{ Resource, Action, Object string }

// String reads like "sync applications shop/web".
func (q Question) String() string {
	return strings.TrimRight(q.Action+" "+q.Resource+" "+q.Object, " ")
}

// Line is where something is written. The number counts from one; zero is for
// what stands in no line.
type Line struct {
	Document string
	Number   int
	Text     string
}

// String is the place, without the text.
func (l Line) String() string {
	if l.Number == 0 {
		return l.Document
	}
	return fmt.Sprintf("%s line %d", l.Document, l.Number)
}

// Verdict is an answer. The line is the one that decided; there is none where
// nothing was said about it, which is a no.
type Verdict struct {
	Allowed bool
	Line    Line
	// Subject is whom the line is about: who asked, or one of their roles.
	Subject string
	// Why is a sentence for people, with the way out of a no.
	Why string
}

// Problem is something in a policy that cannot be read or cannot be meant.
type Problem struct {
	Line Line
	// Cause is what is wrong, Effect what it does now, and WayOut what to write.
	Cause, Effect, WayOut string
	// Hint says that the line is read as it stands, and probably means
	// something else.
	Hint bool
}

// String is the problem as a sentence.
func (p Problem) String() string {
	return fmt.Sprintf("%s: %s; %s; %s", p.Line, p.Cause, p.Effect, p.WayOut)
}
