package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/rbac"
)

// configMap looks at the config maps of an installation, and at its secret.
func (l *look) configMap(d *document) {
	if d.apiVersion != "v1" {
		return
	}
	switch {
	case d.kind == "ConfigMap" && slices.Contains(free, d.name):
	case d.kind == "ConfigMap" && keysOf[d.name].exact != nil:
		l.keys(d, d.name, "data")
	case d.kind == "ConfigMap":
		l.strangeMap(d)
	case d.kind == "Secret" && d.name == v1alpha1.SecretSettings:
		for _, part := range []string{"data", "stringData"} {
			for _, key := range slices.Sorted(maps.Keys(d.fields(part))) {
				if meant := webhookKey(key); meant != "" && meant != key {
					l.say(d, Finding{
						Check: "unknown-key", Severity: Error,
						Message: fmt.Sprintf("nobody reads %s: pushes are believed without a signature", key), Fix: "call it " + meant,
					}, part, key)
				}
			}
		}
	}
}

// values looks at the values of the Helm chart that makes those config maps.
func (l *look) values(d *document) {
	if d.kind != "" || d.fields("configs") == nil {
		return
	}
	for part, name := range map[string]string{
		"cm": v1alpha1.ConfigMapSettings, "params": v1alpha1.ConfigMapCmdParams, "rbac": v1alpha1.ConfigMapRBAC,
	} {
		if d.fields("configs", part) != nil {
			l.keys(d, name, "configs", part)
		}
	}
}

// strangeMap is a config map that is none of the installation's and looks like one.
func (l *look) strangeMap(d *document) {
	data := d.fields("data")
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if webhookKey(key) != "" {
			l.secretKey(d, key, "data", key)
			data = nil
		}
	}
	named := strings.HasPrefix(d.name, "argocd-") && (strings.HasSuffix(d.name, "-cm") || strings.HasSuffix(d.name, "-config"))
	if !named {
		return
	}
	fix := "nothing of it is read; take it out"
	for _, name := range slices.Sorted(maps.Keys(keysOf)) {
		if slices.ContainsFunc(slices.Collect(maps.Keys(data)), keysOf[name].has) {
			fix = "move what is in it to " + name
			break
		}
	}
	l.say(d, Finding{
		Check: "unknown-config-map", Severity: Warning,
		Message: fmt.Sprintf("no part of Argo CD or Towline reads a config map %q", d.name), Fix: fix,
	}, "metadata", "name")
}

// webhookKey is the key of argocd-secret that one is, or is meant to be; empty
// if it is about something else.
func webhookKey(key string) string {
	if slices.Contains(webhookKeys, key) {
		return key
	}
	if rest, ok := strings.CutPrefix(key, "webhooks."); ok {
		if meant := nearest("webhook."+rest, webhookKeys); meant != "" {
			return meant
		}
	}
	return ""
}

func (l *look) secretKey(d *document, key string, path ...any) {
	meant := webhookKey(key)
	if meant == "" {
		meant = key
	}
	l.say(d, Finding{
		Check: "secret-in-config-map", Severity: Error,
		Message: fmt.Sprintf("%s is a secret, and nobody reads it from a config map", key),
		Fix: fmt.Sprintf("put it into Secret %s as %s (stringData takes it without base64), and change it: it was in the open",
			v1alpha1.SecretSettings, meant),
	}, path...)
}

// keys looks at the keys of one config map.
func (l *look) keys(d *document, name string, path ...string) {
	data := map[string]string{}
	place := func(key string) []any {
		var out []any
		for _, p := range append(slices.Clone(path), key) {
			out = append(out, p)
		}
		return out
	}
	chart := path[0] == "configs"
	for key, value := range d.fields(path...) {
		if text, ok := value.(string); ok {
			data[key] = text
		} else if chart && value != nil {
			data[key] = fmt.Sprint(value) // the chart makes text of it
		}
	}
	told := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		// The chart has switches of its own beside the keys.
		if chart && slices.Contains([]string{"create", "annotations", "labels"}, key) {
			delete(data, key)
			continue
		}
		told[key] = l.misplaced(d, name, key, place(key))
	}
	switch name {
	case v1alpha1.ConfigMapSettings:
		l.settings(d, data, told, place)
	case v1alpha1.ConfigMapRBAC:
		l.policy(d, data, place)
	}
}

// misplaced tells of a key that nobody reads where it stands.
func (l *look) misplaced(d *document, name, key string, path []any) bool {
	switch {
	case webhookKey(key) != "", slices.Contains(secretKeys, key):
		l.secretKey(d, key, path...)
		return true
	case key == v1alpha1.KeyServerSideDiff:
		l.say(d, Finding{
			Check: "wrong-config-map", Severity: Warning,
			Message: fmt.Sprintf("Argo CD reads no %s: it goes on comparing by itself", key),
			Fix: fmt.Sprintf("for Argo CD write %s: \"true\" in %s; Towline always asks the server, so there the line can go",
				v1alpha1.KeyParamServerSideDiff, v1alpha1.ConfigMapCmdParams),
		}, path...)
		return true
	case keysOf[name].has(key):
		return false
	}
	for _, other := range slices.Sorted(maps.Keys(keysOf)) {
		if other != name && keysOf[other].has(key) {
			l.say(d, Finding{
				Check: "wrong-config-map", Severity: Error,
				Message: fmt.Sprintf("nobody reads %s from %s", key, name), Fix: "move it to " + other,
			}, path...)
			return true
		}
	}
	fix := "take it out"
	if meant := nearest(key, keysOf[name].exact); meant != "" {
		fix = "write " + meant + ", if that is meant"
	}
	if key == "configManagementPlugins" {
		fix = "run each plugin as a sidecar: Argo CD dropped this key in 2.8 (docs/plugins.md)"
	}
	l.say(d, Finding{Check: "unknown-key", Severity: Warning, Message: fmt.Sprintf("%s has no key %s", name, key), Fix: fix}, path...)
	return true
}

// settings is what the controller would say of argocd-cm.
func (l *look) settings(d *document, data map[string]string, told map[string]bool, place func(string) []any) {
	if l.in.Settings == nil {
		return
	}
	problems, notHonoured := l.in.Settings(data)
	for _, p := range problems {
		key, cause, _ := strings.Cut(p, ": ")
		if !told[key] {
			l.say(d, Finding{Check: "setting", Severity: Error, Message: p, Fix: "correct the value: " + cause}, place(key)...)
		}
	}
	for _, key := range notHonoured {
		name, _, _ := strings.Cut(key, ":")
		if !told[name] {
			l.say(d, Finding{
				Check: "not-honoured", Severity: Warning,
				Message: key + " is not honoured by this version", Fix: "take it out, or know that nothing comes of it",
			}, place(name)...)
		}
	}
}

// policy reads the lines of argocd-rbac-cm.
func (l *look) policy(d *document, data map[string]string, place func(string) []any) {
	config, problems := rbac.Read(data)
	_, more := rbac.Compile(config)
	for _, p := range append(problems, more...) {
		path := place(p.Line.Document)
		f := Finding{Check: "rbac", Severity: Warning, Message: p.Cause + "; " + p.Effect, Fix: p.WayOut}
		if p.Line.Number > 0 {
			f.Message = fmt.Sprintf("line %d: %s", p.Line.Number, f.Message)
		}
		before := len(l.report.Findings)
		l.say(d, f, path...)
		node, _ := d.find(path...)
		if len(l.report.Findings) > before && node != nil && node.Style&yamlv3.LiteralStyle != 0 && !l.in.Live {
			l.report.Findings[before].Line += p.Line.Number
		}
	}
}
