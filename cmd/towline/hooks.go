package main

import (
	"context"

	"github.com/towline-cd/towline/internal/core/webhook"
)

// hooked takes webhooks for whoever acts.
type hooked struct{ p *parts }

// Secrets are what senders prove themselves by.
func (h hooked) Secrets() *webhook.Secrets { return h.p.settings.Webhooks() }

// Told has what a webhook speaks of looked at, while this process acts.
func (h hooked) Told(hint webhook.Hint) int {
	t := h.p.shift.Load()
	if t == nil {
		return 0
	}
	// What comes of it is done later, by others, and is a part of this trace all the same.
	ctx, end := h.p.tracer.Span(context.Background(), "webhook", "provider", string(hint.Provider), "kind", string(hint.Kind),
		"places", hint.Places, "refs", hint.Refs)
	defer end(nil)
	h.p.tracer.Remember(ctx, hint.Places...)
	return t.controller.Told(hint)
}
