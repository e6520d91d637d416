package notice

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Template is what a message says: a text for all services, and what each of them is told besides.
type Template struct {
	Name string
	// Raw is the template as it is written.
	Raw map[string]any

	message *template.Template
	// parts are what services are told, by their types. Each text in them is a template.
	parts map[string]any
}

// Content is what a message says to one service.
type Content struct {
	Message string `json:"message,omitempty"`
	// Part is what the service is told besides; nil is nothing.
	Part map[string]any `json:"part,omitempty"`
}

// messagePart is the text for all services.
const messagePart = "message"

// defaults are what parts say where a template is silent.
var defaults = map[string]map[string]string{
	"github": {
		"repoURLPath": "{{.app.spec.source.repoURL}}", "revisionPath": "{{.app.status.operationState.syncResult.revision}}",
	},
	"alertmanager": {"generatorURL": "{{.app.spec.source.repoURL}}"},
	"newrelic":     {"revision": "{{.app.status.operationState.syncResult.revision}}"},
}

var errTooLong = errors.New("it gives more than a mebibyte of text")

func (c *Config) readTemplate(key, text string) {
	t := &Template{Name: strings.TrimPrefix(key, v1alpha1.KeyNotifyTemplatePrefix), parts: map[string]any{}}
	if err := yaml.Unmarshal([]byte(text), &t.Raw); err != nil {
		c.complain(key, "it cannot be read: %v; it has a message, and parts that are named after types of services", short(err))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(t.Raw)) {
		value := t.Raw[name]
		if name == messagePart {
			s, ok := value.(string)
			if !ok {
				c.complain(key, "the message is no text")
				return
			}
			parsed, err := parse(t.Name, s)
			if err != nil {
				c.complain(key, "the message cannot be understood: %v", err)
				return
			}
			t.message = parsed
			continue
		}
		if _, known := kinds[name]; !known {
			c.complain(key, "there is no service of type %q, so that what it says for it is of no use; there are %s", name,
				strings.Join(builtTypes(), ", "))
			continue
		}
		part, ok := value.(map[string]any)
		if !ok {
			c.complain(key, "the part %s is not a set of fields", name)
			return
		}
		part = withDefaults(name, part)
		if labels, ok := part["labels"].(map[string]any); ok && name == "alertmanager" && labels["alertname"] == nil {
			labels = maps.Clone(labels)
			labels["alertname"] = t.Name
			part["labels"] = labels
		}
		compiled, err := precompile(t.Name+"."+name, part)
		if err != nil {
			c.complain(key, "the part %s cannot be understood: %v", name, err)
			return
		}
		t.parts[name] = compiled
	}
	c.Templates[t.Name] = t
}

func withDefaults(part string, fields map[string]any) map[string]any {
	out := maps.Clone(fields)
	for name, text := range defaults[part] {
		if s, _ := out[name].(string); s == "" {
			out[name] = text
		}
	}
	return out
}

func parse(name, text string) (*template.Template, error) {
	parsed, err := template.New(name).Funcs(functions()).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "template: "))
	}
	return parsed, nil
}

// precompile makes a template of each text.
func precompile(name string, value any) (any, error) {
	switch v := value.(type) {
	case string:
		if !strings.Contains(v, "{{") {
			return v, nil
		}
		return parse(name, v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			compiled, err := precompile(name+"."+key, inner)
			if err != nil {
				return nil, err
			}
			out[key] = compiled
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			compiled, err := precompile(fmt.Sprintf("%s[%d]", name, i), inner)
			if err != nil {
				return nil, err
			}
			out[i] = compiled
		}
		return out, nil
	}
	return value, nil
}

// Render says what a message tells a destination: the templates in their order, of which later ones have the last word where
// they say something.
func (c *Config) Render(templates []string, to Destination, app map[string]any, w World) (Content, error) {
	service, ok := c.Services[to.Service]
	if !ok {
		return Content{}, fmt.Errorf("there is no service %q", to.Service)
	}
	return c.RenderFor(templates, service, app, w)
}

// RenderFor does so for a service that need not be in the configuration.
func (c *Config) RenderFor(templates []string, service Service, app map[string]any, w World) (Content, error) {
	vars := c.vars(app, w, service.Name)
	var out Content
	for _, name := range templates {
		t := c.Templates[name]
		if t == nil {
			return Content{}, fmt.Errorf("there is no template %q; make a key %s%s", name, v1alpha1.KeyNotifyTemplatePrefix, name)
		}
		if t.message != nil {
			text, err := execute(t.message, vars)
			if err != nil {
				return Content{}, fmt.Errorf("%s%s: the message: %w", v1alpha1.KeyNotifyTemplatePrefix, name, err)
			}
			if text != "" {
				out.Message = text
			}
		}
		part, ok := t.parts[service.Type]
		if !ok {
			continue
		}
		filled, err := fill(part, vars)
		if err != nil {
			return Content{}, fmt.Errorf("%s%s: the part %s: %w", v1alpha1.KeyNotifyTemplatePrefix, name, service.Type, err)
		}
		fields, _ := filled.(map[string]any)
		out.Part = merge(out.Part, fields)
	}
	return out, nil
}

// fill puts texts in the place of templates.
func fill(value any, vars map[string]any) (any, error) {
	switch v := value.(type) {
	case *template.Template:
		return execute(v, vars)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			filled, err := fill(inner, vars)
			if err != nil {
				return nil, err
			}
			out[key] = filled
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			filled, err := fill(inner, vars)
			if err != nil {
				return nil, err
			}
			out[i] = filled
		}
		return out, nil
	}
	return value, nil
}

// merge lets the second have the last word where it says something.
func merge(first, second map[string]any) map[string]any {
	if first == nil {
		return second
	}
	out := maps.Clone(first)
	for key, value := range second {
		inner, nested := value.(map[string]any)
		before, was := out[key].(map[string]any)
		switch {
		case nested && was:
			out[key] = merge(before, inner)
		case value == "" && out[key] != nil:
		default:
			out[key] = value
		}
	}
	return out
}

// bounded is text up to a size.
type bounded struct{ strings.Builder }

// Write takes more text, or says that it is too much.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxText {
		return 0, errTooLong
	}
	return b.Builder.Write(p)
}

// failure is an error of a template; what is below it may say that it goes away.
type failure struct{ err error }

// Error is what the template says, without the word that begins each of its errors.
func (f *failure) Error() string { return strings.TrimPrefix(f.err.Error(), "template: ") }

// Unwrap is the error of the template.
func (f *failure) Unwrap() error { return f.err }

func execute(t *template.Template, vars map[string]any) (string, error) {
	var out bounded
	if err := t.Execute(&out, vars); err != nil {
		if errors.Is(err, errTooLong) {
			return "", errTooLong
		}
		return "", &failure{err}
	}
	return out.String(), nil
}

// encode is for values that came out of YAML, which JSON has all words for.
func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "null"
	}
	return string(text)
}
