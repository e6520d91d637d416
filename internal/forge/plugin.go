package forge

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/appset"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/repository"
)

// Plugin are the parameters that a service of the user's gives. Where the service is, is said in a config map of the
// installation's namespace, whatever namespace the ApplicationSet is in.
func (f *Forges) Plugin(ctx context.Context, gen v1alpha1.PluginGenerator, in Scope) (appset.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, f.options.Patience)
	defer cancel()
	name := gen.ConfigMapRef.Name
	s, timeout, err := f.service(ctx, name)
	if err != nil {
		return appset.Answer{}, fmt.Errorf("plugin %s: %w", name, err)
	}
	input, err := inputOf(gen)
	if err != nil {
		return appset.Answer{}, fmt.Errorf("plugin %s: %w", name, err)
	}
	found, err := s.parameters(ctx, map[string]any{
		"applicationSetName": in.SetName, "input": map[string]any{"parameters": input},
	}, timeout)
	if err != nil {
		return appset.Answer{}, fmt.Errorf("plugin %s: %w", name, err)
	}
	for _, set := range found {
		// The name is taken: what the service says under it gives way.
		set["generator"] = map[string]any{"input": map[string]any{"parameters": input}}
	}
	return appset.Answer{Sets: found}, nil
}

// inputOf are the parameters of a generator as values.
func inputOf(gen v1alpha1.PluginGenerator) (map[string]any, error) {
	input := make(map[string]any, len(gen.Input.Parameters))
	for key, raw := range gen.Input.Parameters {
		var value any
		if err := json.Unmarshal(raw.Raw, &value); err != nil {
			return nil, fault.Terminalf("InputInvalid", "input.parameters.%s is not JSON: %w; correct it", key, err)
		}
		input[key] = value
	}
	return input, nil
}

// service makes a session with what a config map describes.
func (f *Forges) service(ctx context.Context, name string) (*session, time.Duration, error) {
	where := f.options.Namespace + "/" + name
	data, found, err := f.options.Store.ConfigMap(ctx, f.options.Namespace, name)
	if err != nil {
		return nil, 0, fmt.Errorf("reading the config map %s: %w", where, err)
	}
	if !found {
		return nil, 0, fault.Terminalf("ConfigMapMissing", "there is no config map %s; make it, with baseUrl and token", where)
	}
	base := strings.TrimSpace(data["baseUrl"])
	if base == "" {
		return nil, 0, fault.Terminalf("ConfigMapIncomplete", "the config map %s has no baseUrl; add it", where)
	}
	s := &session{client: f.client, forge: "the service", accept: "application/json"}
	if s.base, err = parseBase(base); err != nil {
		return nil, 0, fmt.Errorf("baseUrl in the config map %s: %w", where, err)
	}
	timeout := f.options.Timeout
	if text := strings.TrimSpace(data["requestTimeout"]); text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil || seconds < 0 {
			return nil, 0, fault.Terminalf("ConfigMapInvalid", "requestTimeout in the config map %s is not a number of seconds; correct it",
				where)
		}
		if seconds > 0 {
			timeout = time.Duration(seconds) * time.Second
		}
	}
	token, err := f.serviceToken(ctx, data["token"], where)
	s.login = bearer(token)
	return s, timeout, err
}

// serviceToken reads "$key" of argocd-secret, or "$secret:key". The token itself may not stand in a config map.
func (f *Forges) serviceToken(ctx context.Context, reference, where string) (repository.Secret, error) {
	name, ok := strings.CutPrefix(strings.TrimSpace(reference), "$")
	if !ok || name == "" {
		return repository.Secret{}, fault.Terminalf("ConfigMapInvalid", "token in the config map %s is not $key (of %s) or $secret:key; "+
			"put the token into a secret and name it so", where, v1alpha1.SecretSettings)
	}
	from, key := v1alpha1.SecretSettings, name
	if other, rest, ok := strings.Cut(name, ":"); ok {
		from, key = other, rest
	}
	secret, err := f.secret(ctx, f.options.Namespace, from)
	if err != nil {
		return repository.Secret{}, err
	}
	token := strings.TrimSpace(secret.Data[key].Reveal())
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		return repository.Secret{}, fault.Terminalf("SecretIncomplete", "the secret %s/%s has no token at %q; correct it, or token in the "+
			"config map %s", f.options.Namespace, from, key, where)
	}
	return repository.NewSecret(token), nil
}

// parameters asks a service. It must say that there are none: an answer without the list is not an empty list.
func (s *session) parameters(ctx context.Context, question any, timeout time.Duration) ([]map[string]any, error) {
	body, err := json.Marshal(question)
	if err != nil {
		return nil, fmt.Errorf("writing the question: %w", err)
	}
	target, err := s.address("api/v1/getparams.execute", nil)
	if err != nil {
		return nil, err
	}
	got, err := s.send(ctx, ask{method: "POST", target: target, body: body, timeout: timeout})
	if err != nil {
		return nil, err
	}
	var said struct {
		Output *struct {
			Parameters json.RawMessage `json:"parameters"`
		} `json:"output"`
	}
	if err := decode(target, got, &said); err != nil {
		return nil, err
	}
	if said.Output == nil || said.Output.Parameters == nil {
		return nil, fault.Transientf("AnswerIncomplete", "asking %s: there is no output.parameters in its answer; a service that has none "+
			"answers with an empty list", shown(target))
	}
	sets := []map[string]any{}
	if err := json.Unmarshal(said.Output.Parameters, &sets); err != nil {
		return nil, fault.Transientf("AnswerNotUnderstood", "asking %s: output.parameters is not a list of objects: %w", shown(target), err)
	}
	for i, set := range sets {
		if set == nil {
			return nil, fault.Transientf("AnswerNotUnderstood", "asking %s: output.parameters[%d] is null", shown(target), i)
		}
	}
	if sets == nil { // null is how a program without any spells an empty list
		sets = []map[string]any{}
	}
	return sets, nil
}
