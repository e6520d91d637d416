// Package fault says what an error asks of us: try again soon, wait for something else, or tell a person.
// The class is decided where the I/O happens and only read afterwards; nothing here retries, waits or logs.
package fault

import (
	"errors"
	"fmt"
)

// Class is what has to happen before the same work can succeed.
type Class int

const (
	// Transient means that the same attempt may succeed soon: a network error, a 5xx, a killed process.
	Transient Class = iota
	// Waiting means that something else has to happen first, and that its event will wake us.
	Waiting
	// Terminal means that a person has to act: a repository that does not exist, a wrong revision, a refused login.
	Terminal
)

// String returns the word that logs and metrics use for the class.
func (c Class) String() string {
	switch c {
	case Transient:
		return "Transient"
	case Waiting:
		return "Waiting"
	case Terminal:
		return "Terminal"
	}
	return fmt.Sprintf("Class(%d)", int(c))
}

// Error is an error with its class and a CamelCase reason for conditions, events and metrics.
type Error struct {
	Class  Class
	Reason string
	Err    error
	// Fields are the paths that a refusal is about, where the server names them.
	Fields []string
}

// Error returns the message alone: the class and the reason have places of their own.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Reason
	}
	return e.Err.Error()
}

// Unwrap returns the error that was classified.
func (e *Error) Unwrap() error { return e.Err }

// Transientf makes a Transient error; the format may wrap with %w.
func Transientf(reason, format string, args ...any) error {
	return &Error{Class: Transient, Reason: reason, Err: fmt.Errorf(format, args...)}
}

// Waitingf makes a Waiting error; the format may wrap with %w.
func Waitingf(reason, format string, args ...any) error {
	return &Error{Class: Waiting, Reason: reason, Err: fmt.Errorf(format, args...)}
}

// Terminalf makes a Terminal error; the format may wrap with %w.
func Terminalf(reason, format string, args ...any) error {
	return &Error{Class: Terminal, Reason: reason, Err: fmt.Errorf(format, args...)}
}

// ClassOf returns the class of the outermost fault in err. An error that nobody classified is Transient: giving up on
// something that would have healed is worse than one more attempt.
func ClassOf(err error) Class {
	if found, ok := errors.AsType[*Error](err); ok {
		return found.Class
	}
	return Transient
}

// ReasonOf returns the reason of the outermost fault in err, or "" where there is none.
func ReasonOf(err error) string {
	if found, ok := errors.AsType[*Error](err); ok {
		return found.Reason
	}
	return ""
}

// FieldsOf returns the paths that the outermost fault in err is about.
func FieldsOf(err error) []string {
	if found, ok := errors.AsType[*Error](err); ok {
		return found.Fields
	}
	return nil
}
