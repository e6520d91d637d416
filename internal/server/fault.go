package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/fault"
)

// Code is a gRPC status code: clients of Argo CD read it from the body.
type Code int

// The codes that are used, by their numbers in gRPC.
const (
	Canceled           Code = 1
	Unknown            Code = 2
	InvalidArgument    Code = 3
	DeadlineExceeded   Code = 4
	NotFound           Code = 5
	PermissionDenied   Code = 7
	ResourceExhausted  Code = 8
	FailedPrecondition Code = 9
	Aborted            Code = 10
	Unimplemented      Code = 12
	Internal           Code = 13
	Unavailable        Code = 14
	Unauthenticated    Code = 16
)

// statuses are how the codes look in HTTP, as the gateway of gRPC has it.
var statuses = map[Code]int{
	Canceled: http.StatusRequestTimeout, Unknown: http.StatusInternalServerError, InvalidArgument: http.StatusBadRequest,
	DeadlineExceeded: http.StatusGatewayTimeout, NotFound: http.StatusNotFound, PermissionDenied: http.StatusForbidden,
	ResourceExhausted: http.StatusTooManyRequests, FailedPrecondition: http.StatusBadRequest, Aborted: http.StatusConflict,
	Unimplemented: http.StatusNotImplemented, Internal: http.StatusInternalServerError,
	Unavailable: http.StatusServiceUnavailable, Unauthenticated: http.StatusUnauthorized,
}

// Fault is an error as it is told.
type Fault struct { //nolint:errname // it is what a caller is told, before it is an error
	Code    Code
	Message string
	// Status is the one of HTTP where it is not the usual one of the code.
	Status int
	// cause is for the log.
	cause error
}

// NewFault is an error whose cause is told to the log alone.
func NewFault(code Code, message string, cause error) *Fault {
	return &Fault{Code: code, Message: message, cause: cause}
}

// Error is what is told.
func (f *Fault) Error() string { return f.Message }

// Unwrap is the cause.
func (f *Fault) Unwrap() error { return f.cause }

func (f *Fault) status() int {
	if f.Status != 0 {
		return f.Status
	}
	return statuses[f.Code]
}

// The answers that must be the same whatever the reason is.
var (
	errNoSession = &Fault{Code: Unauthenticated, Message: "no session information"}
	errDenied    = &Fault{Code: PermissionDenied, Message: "permission denied"}
)

func notFound(message string) *Fault   { return &Fault{Code: NotFound, Message: message} }
func badRequest(message string) *Fault { return &Fault{Code: InvalidArgument, Message: message} }

// absent says that a part of the server is not there.
func absent(what string) *Fault {
	return &Fault{Code: Unimplemented, Message: what + " is not served by this process"}
}

// problem is the body of an error.
type problem struct {
	Error   string `json:"error"`
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// logged is an error as the log has it: what was told, and why.
func logged(err error) string {
	f, ok := errors.AsType[*Fault](err)
	if !ok || f.cause == nil || f.cause.Error() == f.Message {
		return err.Error()
	}
	return f.Message + ": " + f.cause.Error()
}

// told turns any error into one that can be told.
func told(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	switch {
	case errors.Is(err, context.Canceled):
		return &Fault{Code: Canceled, Message: "the request was given up", cause: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Fault{Code: DeadlineExceeded, Message: "it took too long", cause: err}
	}
	out := &Fault{Code: Unknown, Message: err.Error(), cause: err}
	switch reason := fault.ReasonOf(err); {
	case reason == "NotFound":
		out.Code = NotFound
	case reason == "Denied", reason == "NotOurs":
		out.Code = PermissionDenied
	case reason == "Conflict":
		out.Code = Aborted
	case reason == "Rejected":
		out.Code = InvalidArgument
	case reason == destination.Starting || destination.Lost(err):
		out.Code = Unavailable
	case reason != "" && fault.ClassOf(err) == fault.Terminal:
		out.Code = FailedPrecondition
	case reason != "" && fault.ClassOf(err) == fault.Waiting:
		out.Code = Unavailable
	}
	return out
}
