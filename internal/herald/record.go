package herald

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/notice"
)

// write puts a record on an application, unless it stands there. The server refuses it if the application changed since it
// was read: what was decided may not be true any more.
func (h *Herald) write(ctx context.Context, name string, app *v1alpha1.Application, r notice.Record) error {
	if r.Equal(notice.RecordOf(app.Annotations)) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": app.UID, "resourceVersion": app.ResourceVersion, "annotations": r.Annotations(),
	}})
	if err != nil {
		return fmt.Errorf("encoding the record of messages: %w", err)
	}
	_, err = h.Hub.PatchApplication(ctx, name, patch)
	return err
}

// amend changes the record of an application. There is nothing to change on one that is gone.
func (h *Herald) amend(ctx context.Context, p *parcel, change func(notice.Record) (notice.Record, bool)) (ok bool, err error) {
	if p.gone {
		return true, nil
	}
	app, err := h.Hub.Application(ctx, p.app)
	for range most {
		switch {
		case err != nil && fault.ReasonOf(err) == h.NotFound, err == nil && app.UID != p.about.UID:
			p.gone = true
			return true, nil
		case err != nil:
			return false, err
		}
		next, ok := change(notice.RecordOf(app.Annotations))
		if !ok {
			return false, nil
		}
		err = h.write(ctx, p.app, app, next)
		if err == nil {
			return true, nil
		}
		if fault.ReasonOf(err) != h.Conflict {
			return false, err
		}
		app, err = h.Hub.Fresh(ctx, p.app)
	}
	return false, err
}

// report tells what cannot be followed, and what may be missing. The same is told once.
func (h *Herald) report(ctx context.Context, name string, app *v1alpha1.Application, d notice.Decision, failed []notice.Problem) {
	for _, r := range d.Runs {
		h.Ran(r.Trigger, r.Held)
	}
	for _, m := range d.Unsure {
		h.complain(ctx, name, app, notice.Problem{Key: v1alpha1.KeyNotifyTriggerPrefix + m.Trigger, Message: fmt.Sprintf(
			"the message to %s was about to be sent when the process that did so ended; it may be missing, and is not sent again",
			recipient(m.To))})
	}
	for _, p := range failed {
		h.complain(ctx, name, app, p)
	}
	lines := make([]string, len(d.Problems))
	for i, p := range d.Problems {
		lines[i] = p.String()
	}
	text := strings.Join(lines, "\n")
	h.mu.Lock()
	same := h.said[name] == text
	if h.said[name] = text; text == "" {
		delete(h.said, name)
	}
	h.mu.Unlock()
	if same {
		return
	}
	for _, p := range d.Problems {
		h.complain(ctx, name, app, p)
	}
}

func (h *Herald) complain(ctx context.Context, name string, app *v1alpha1.Application, p notice.Problem) {
	slog.WarnContext(ctx, "a notification cannot be sent as asked", "app", name, "key", p.Key, "problem", p.Message)
	h.Tell(app, p.String())
}
