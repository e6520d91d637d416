package plugin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/towline-cd/towline/internal/core/fault"
)

// sidecar is a plugin that somebody found.
type sidecar struct {
	name   string
	line   *line
	limits Limits
	// discovers says that it can tell whether it is for a repository, wantsCredentials that it would like those of it.
	discovers, wantsCredentials bool
}

func (s *sidecar) close() { s.line.close() }

const suffix = ".sock"

// pluginName is one that a file of the folder can have, and nothing that leads elsewhere.
var pluginName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,200}$`)

// find is the plugin of that name or, without one, the first that says that it is for this content.
func (h *Host) find(ctx context.Context, name string, sent *parcel) (*sidecar, error) {
	if name == "" {
		return h.discover(ctx, sent)
	}
	if !pluginName.MatchString(name) {
		return nil, fault.Terminalf("PluginNotFound", "%.200q is not the name of a plugin; it is that of its socket without %s",
			name, suffix)
	}
	found, err := h.open(ctx, name, sent)
	if fault.ReasonOf(err) == "PluginNotFound" {
		return nil, fault.Terminalf("PluginNotFound", "%w; %s", err, h.others())
	}
	return found, err
}

// others says which plugins there are.
func (h *Host) others() string {
	names, err := h.names()
	switch {
	case err != nil:
		return err.Error()
	case len(names) == 0:
		return fmt.Sprintf("there are no sockets in %s: does the plugin's container run, and does it share that folder?", h.dir)
	}
	return fmt.Sprintf("those of %s are %s; the name is that of the socket, <name> or <name>-<version>", h.dir, strings.Join(names, ", "))
}

// most is how many sockets of the folder are looked at.
const most = 100

// names are those of the sockets. Links are none of them: a plugin can write to the folder, and must not lead elsewhere.
func (h *Host) names() ([]string, error) {
	entries, err := os.ReadDir(h.dir)
	if err != nil {
		return nil, fault.Transientf("PluginUnavailable", "looking for plugins: %w", err)
	}
	var out []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if ok && e.Type() == fs.ModeSocket && pluginName.MatchString(name) && len(out) < most {
			out = append(out, name)
		}
	}
	return out, nil
}

// open speaks to the plugin of a name for the first time.
func (h *Host) open(ctx context.Context, name string, sent *parcel) (*sidecar, error) {
	socket := filepath.Join(h.dir, name+suffix)
	info, err := os.Lstat(socket)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, fault.Terminalf("PluginNotFound", "there is no plugin %q", name)
	}
	if err != nil {
		return nil, fault.Transientf("PluginUnavailable", "looking for plugin %q: %w", name, err)
	}
	s := &sidecar{name: name, line: newLine(socket, h.limits.AnswerBytes), limits: h.limits}
	if err := s.check(ctx, sent); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// check asks how the plugin is configured. Old ones do not know the question.
func (s *sidecar) check(ctx context.Context, sent *parcel) error {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Time)
	defer cancel()
	message, err := s.line.call(ctx, methodCheck, bytes.NewReader(frame(nil)))
	if said, ok := errors.AsType[*statusError](err); ok && said.code == statusUnimplemented {
		return nil
	}
	if err != nil {
		return s.failed(ctx, err, sent)
	}
	says, err := readTruths(message)
	if err != nil {
		return s.nonsense(err)
	}
	s.discovers, s.wantsCredentials = says[answerDiscovers], says[answerWantsLogin]
	return nil
}

// discover asks one plugin after another whether it is for this content.
func (h *Host) discover(ctx context.Context, sent *parcel) (*sidecar, error) {
	names, err := h.names()
	if err != nil {
		return nil, err
	}
	var failures []error
	for _, name := range names {
		found, err := h.open(ctx, name, sent)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		if found.discovers {
			matches, err := found.matches(ctx, sent)
			if matches {
				return found, nil
			}
			failures = append(failures, err)
		}
		found.close()
	}
	if err := errors.Join(failures...); err != nil {
		return nil, fault.Transientf("PluginUnavailable", "no plugin says that it is for this source, and not all could be asked: %w", err)
	}
	return nil, fault.Terminalf("PluginNotFound", "no plugin says that it is for this source (plugin.name is empty); name one: %s",
		h.others())
}

func (s *sidecar) matches(ctx context.Context, sent *parcel) (bool, error) {
	message, err := s.stream(ctx, methodMatch, sent)
	if err != nil {
		return false, err
	}
	says, err := readTruths(message)
	if err != nil {
		return false, s.nonsense(err)
	}
	return says[answerSupported], nil
}

// stream sends the content to a method and returns its answer.
func (s *sidecar) stream(ctx context.Context, method string, sent *parcel) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Time)
	defer cancel()
	message, err := s.line.call(ctx, method, newStream(sent))
	if err != nil {
		return nil, s.failed(ctx, err, sent)
	}
	return message, nil
}

// nonsense is the fault of an answer that cannot be read.
func (s *sidecar) nonsense(err error) error {
	return fault.Terminalf("PluginFailed", "plugin %q gave an answer that cannot be read: %w; is it a sidecar of config management?",
		s.name, err)
}

// failed is the fault that an error of a call stands for. What a plugin says may hold secrets.
func (s *sidecar) failed(ctx context.Context, err error, sent *parcel) error {
	said, answered := errors.AsType[*statusError](err)
	switch {
	case errors.Is(err, errTooLarge):
		return fault.Terminalf(reasonLimit, "plugin %q was stopped: its manifests are larger than %d MiB together; split the application",
			s.name, s.limits.AnswerBytes>>20)
	case late(ctx, answered), answered && said.code == statusDeadline:
		return fault.Transientf("PluginSlow", "plugin %q took longer than %s and was given up", s.name, s.limits.Time)
	case ctx.Err() != nil:
		return fault.Transientf("Cancelled", "rendering with plugin %q: %w", s.name, context.Cause(ctx))
	case answered && (said.code == statusUnimplemented || said.code == statusInvalid):
		return fault.Terminalf("PluginFailed", "plugin %q does not know what it was asked: %s", s.name, shortened(sent.hide(said.message)))
	case answered:
		// It may have asked somebody who was out of reach: another attempt may go better.
		return fault.Transientf("PluginFailed", "plugin %q failed: %s", s.name,
			cmp.Or(shortened(sent.hide(said.message)), fmt.Sprintf("status %d", said.code)))
	case errors.Is(err, errProtocol):
		return s.nonsense(err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fault.Transientf("PluginUnavailable", "plugin %q does not listen at its socket; does its container run?", s.name)
	}
	return fault.Transientf("PluginUnavailable", "speaking to plugin %q: %s", s.name, shortened(sent.hide(err.Error())))
}

// late reports whether a call ended because its time was over. A sidecar that knows how long we wait may hang up a moment
// before we do.
func late(ctx context.Context, answered bool) bool {
	const moment = 250 * time.Millisecond
	deadline, ok := ctx.Deadline()
	return errors.Is(context.Cause(ctx), context.DeadlineExceeded) || ok && !answered && time.Until(deadline) < moment
}

// shortened is the part of a text that fits into a message; of a program's complaints the last are what it died of.
func shortened(text string) string {
	const head, tail = 1000, 2000
	text = strings.TrimSpace(strings.ToValidUTF8(text, "?"))
	if len(text) <= head+tail {
		return text
	}
	return strings.ToValidUTF8(text[:head], "") + " … " + strings.ToValidUTF8(text[len(text)-tail:], "")
}
