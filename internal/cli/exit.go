package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/internal/core/fault"
)

// The exit codes. Scripts rely on them; 1 and 20 are Argo CD's.
const (
	ExitOK           = 0
	ExitDifferent    = 1
	ExitUsage        = 2
	ExitUnauthorised = 4
	ExitFailed       = 20
)

// ErrDifferent says that a diff found something. It has been printed, so there
// is nothing more to say than the exit code.
var ErrDifferent = errors.New("the live objects differ from the desired ones")

// different is a difference with the exit code that somebody wants for it.
type different struct{ code int }

func (d *different) Error() string { return ErrDifferent.Error() }
func (d *different) Unwrap() error { return ErrDifferent }

var errTimeout = errors.New("timed out")

// UsageError is a mistake in how a command was typed.
type UsageError struct{ Err error }

// Error returns the message alone.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns what was wrong.
func (e *UsageError) Unwrap() error { return e.Err }

func usagef(format string, args ...any) error {
	return &UsageError{Err: fmt.Errorf(format, args...)}
}

// ExitCode maps the error of a command to the exit code of the process.
func ExitCode(err error) int {
	if d, ok := errors.AsType[*different](err); ok {
		return d.code
	}
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrDifferent), errors.Is(err, ErrNo):
		return ExitDifferent
	case isUsage(err):
		return ExitUsage
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return ExitUnauthorised
	}
	return ExitFailed
}

func isUsage(err error) bool {
	if _, ok := errors.AsType[*UsageError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return true
	}
	_, ok := errors.AsType[*pflag.InvalidSyntaxError](err)
	return ok
}

// Report writes the error of a command for a person to read and returns the
// exit code. A difference and a no were printed already.
func Report(env *Env, err error) int {
	code := ExitCode(err)
	if err == nil || errors.Is(err, ErrDifferent) || errors.Is(err, ErrNo) {
		return code
	}
	p := palette{on: wantColour(env.colour, env.ErrIsTerminal, env.Getenv)}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(env.Err, "%s %s\n", p.paint(red, "error:"), clean(line))
	}
	return code
}

// told is an error in words for the person at the terminal; what it was stays
// reachable for the exit code.
type told struct {
	text string
	err  error
}

func (e *told) Error() string { return e.text }
func (e *told) Unwrap() error { return e.err }

// thing is what a request was about, in the words of its messages.
type thing struct {
	one string
	// kind is what a cluster without it does not know, and list the command that shows what there is.
	kind, list string
}

var (
	anApplication = thing{one: "application", kind: "Applications", list: "towline app list"}
	aProject      = thing{one: "project", kind: "AppProjects", list: "towline proj list"}
	aSet          = thing{one: "ApplicationSet", kind: "ApplicationSets", list: "towline appset list"}
	aCluster      = thing{one: "cluster", kind: "Secrets", list: "towline cluster list"}
)

// explain says what a failed request to the hub means for the user: the
// object, the cause and the way out.
func (s *session) explain(name string, err error) error { return s.explainOf(anApplication, name, err) }

func (s *session) explainOf(t thing, name string, err error) error {
	if err == nil {
		return nil
	}
	var text string
	switch {
	case missingKind(err):
		text = fmt.Sprintf("this cluster does not know %s; is --context right, and is Towline installed there?", t.kind)
	case apierrors.IsNotFound(err):
		where := s.flags.Namespace
		if t == anApplication || t == aSet {
			where = s.flags.Apps()
		}
		text = fmt.Sprintf("%s %q not found in namespace %q; %q shows what is there", t.one, name, where, s.lists(t))
	case apierrors.IsUnauthorized(err) && s.flags.Remote != nil:
		text = fmt.Sprintf("%v; sign in with %q", err, "towline login "+s.flags.where())
	case apierrors.IsForbidden(err) && s.flags.Remote != nil:
		text = fmt.Sprintf("%v; %q tells what you may do", err, "towline account can-i")
	case apierrors.IsUnauthorized(err):
		text = fmt.Sprintf("%v; the cluster did not accept the login: renew it, or choose another with --context", err)
	case apierrors.IsForbidden(err):
		text = fmt.Sprintf("%v; ask for that right in namespace %q, or choose another login with --context", err, s.flags.Apps())
	case apierrors.IsConflict(err):
		text = fmt.Sprintf("%v; somebody else changes it at the same time, try again", err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case fault.ReasonOf(err) == "Unreachable" && s.flags.Remote != nil:
		text = fmt.Sprintf("%v; is it up? --core talks to the cluster itself, with your kubeconfig", err)
	case fault.ReasonOf(err) == "Unreachable":
		text = fmt.Sprintf("%v; is the cluster up, and is --context the right one?", err)
	default:
		return err
	}
	return &told{text: text, err: err}
}

func (s *session) list() string { return s.lists(anApplication) }

func (s *session) lists(t thing) string {
	out := t.list
	if s.flags.Namespace != s.env.namespace() {
		out += " -n " + s.flags.Namespace
	}
	if (t == anApplication || t == aSet) && s.flags.Apps() != s.flags.Namespace {
		out += " -N " + s.flags.Apps()
	}
	return out
}

// missingKind tells an API that is not served from an object that is not there.
func missingKind(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsNotFound(err) || status.ErrStatus.Details == nil {
		return false
	}
	for _, c := range status.ErrStatus.Details.Causes {
		if c.Type == metav1.CauseTypeUnexpectedServerResponse {
			return true
		}
	}
	return false
}

// atLeastOne and exactlyOne check the number of names; cobra's own checks
// return errors without a type.
func atLeastOne(selector *string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && (selector == nil || *selector == "") {
			return usagef("name the application, as in %q", cmd.CommandPath()+" NAME")
		}
		if len(args) > 0 && selector != nil && *selector != "" {
			return usagef("name applications or select them with -l, not both")
		}
		return nil
	}
}

func exactlyOne(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%q takes the name of one application, got %d", cmd.CommandPath(), len(args))
	}
	return nil
}

func none(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%q takes no arguments, got %q", cmd.CommandPath(), args[0])
	}
	return nil
}
