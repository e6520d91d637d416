package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
)

// unreachable says why there was no answer, and what to do.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fault.Terminalf("Untrusted", "%s has a certificate that this machine does not trust: %w; --insecure goes on all the same",
			c.Server(), err)
	}
	if strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		return fault.Terminalf("PlainText", "%s does not speak TLS; --plaintext does without", c.Server())
	}
	return fault.Transientf("Unreachable", "asking %s: %w", c.Server(), err)
}

// refused is an answer that is an error, of the kind that the hub's would be.
func (c *Client) refused(r request, answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20)) // what there is of it
	said := struct{ Error, Message string }{}
	_ = json.Unmarshal(text, &said) // who is no server of ours says it otherwise
	message := said.Message
	if message == "" {
		message = said.Error
	}
	if message == "" {
		message = fmt.Sprintf("%s answers %s", c.Server(), answer.Status)
	}
	if answer.StatusCode >= 300 && answer.StatusCode < 400 {
		message = fmt.Sprintf("%s sends us to %q; sign in at that address if it is yours", c.Server(), answer.Header.Get("Location"))
	}
	status := metav1.Status{
		Status: metav1.StatusFailure, Code: int32(answer.StatusCode), Message: message, //nolint:gosec // three digits
		Details: &metav1.StatusDetails{Group: v1alpha1.Group, Kind: r.about, Name: r.name},
	}
	switch answer.StatusCode {
	case http.StatusUnauthorized:
		status.Reason = metav1.StatusReasonUnauthorized
		status.Message = fmt.Sprintf("%s does not know this login: %s", c.Server(), message)
	case http.StatusForbidden:
		status.Reason = metav1.StatusReasonForbidden
		if r.name != "" {
			// The server says the same of what is not there, so that nobody learns names.
			status.Message = fmt.Sprintf("%s %q: %s, or there is none", r.about, r.name, message)
		}
	case http.StatusNotFound:
		status.Reason = metav1.StatusReasonNotFound
	case http.StatusConflict:
		status.Reason = metav1.StatusReasonConflict
	case http.StatusTooManyRequests:
		status.Reason = metav1.StatusReasonTooManyRequests
	case http.StatusBadRequest:
		status.Reason = metav1.StatusReasonBadRequest
	case http.StatusServiceUnavailable:
		status.Reason = metav1.StatusReasonServiceUnavailable
	default:
		status.Reason = metav1.StatusReasonUnknown
	}
	return &apierrors.StatusError{ErrStatus: status}
}
