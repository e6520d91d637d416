package main

import "github.com/towline-cd/towline/internal/core/webhook"

// hooked takes webhooks for whoever acts.
type hooked struct{ p *parts }

// Secrets are what senders prove themselves by.
func (h hooked) Secrets() *webhook.Secrets { return h.p.settings.Webhooks() }

// Told has what a webhook speaks of looked at, while this process acts.
func (h hooked) Told(hint webhook.Hint) int {
	if t := h.p.shift.Load(); t != nil {
		return t.controller.Told(hint)
	}
	return 0
}
