package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/health"
	"github.com/towline-cd/towline/internal/script"
	"github.com/towline-cd/towline/internal/settings"
)

// scriptWorker is the argument with which this program is the worker that runs
// the users' Lua. It is not among the commands: nobody else has a use for it.
const scriptWorker = "script-worker"

func workOnScripts() int {
	if err := script.Work(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// newScriptHost runs Lua in workers of this very program: also when its file
// was replaced meanwhile.
func newScriptHost() *script.Host {
	program := "/proc/self/exe"
	if _, err := os.Stat(program); err != nil {
		program, _ = os.Executable()
	}
	return script.NewHost(script.HostOptions{Command: []string{program, scriptWorker}})
}

// scripts are the users' health scripts, as the settings have them.
type scripts struct {
	host  *script.Host
	judge *script.Judge

	mu    sync.Mutex
	known map[script.Script]struct{}
}

func newScripts() *scripts {
	h := newScriptHost()
	return &scripts{host: h, judge: script.NewJudge(h), known: map[script.Script]struct{}{}}
}

func (s *scripts) close() { s.host.Close() }

// set takes the scripts of the settings, and says which kinds are judged
// otherwise from now on.
func (s *scripts) set(all *settings.Settings) (moved func(schema.GroupKind) bool) {
	rules := healthRules(all)
	known := make(map[script.Script]struct{}, len(rules))
	var fresh []script.Script
	s.mu.Lock()
	for _, r := range rules {
		if _, ok := s.known[r.Script]; !ok {
			fresh = append(fresh, r.Script)
		}
		known[r.Script] = struct{}{}
	}
	s.known = known
	s.mu.Unlock()
	go s.check(fresh)
	return s.judge.Set(rules)
}

// check says at once what the objects of a kind would say one by one.
func (s *scripts) check(fresh []script.Script) {
	for _, one := range fresh {
		if problem := s.host.Check(one); problem != "" {
			slog.Warn("a health script cannot be used; the objects of its kind are Unknown", "problem", problem)
		}
	}
}

// health judges one object as the index does.
func (s *scripts) health(u *unstructured.Unstructured) health.Health {
	return s.judge.Health([]*unstructured.Unstructured{u})[0]
}

func healthRules(all *settings.Settings) []script.Rule {
	out := make([]script.Rule, len(all.Health))
	for i, h := range all.Health {
		out[i] = script.Rule{Kind: h.Kind, Script: script.Script{Origin: h.Origin, Source: h.Source, OpenLibs: h.OpenLibs}}
	}
	return out
}

// fileJudge judges objects in files, for the command line.
type fileJudge struct {
	*scripts
	problems []string
}

func newFileJudge(rules cli.HealthRules) (cli.Judge, error) {
	j := &fileJudge{scripts: newScripts()}
	if rules.Name != "" {
		one := script.Script{Origin: rules.Name, Source: rules.Script, OpenLibs: rules.OpenLibs}
		if problem := j.host.Check(one); problem != "" {
			j.Close()
			return nil, errors.New(problem)
		}
		j.judge.Set([]script.Rule{{Kind: "*", Script: one}})
		return j, nil
	}
	all := settings.Parse(rules.Settings)
	for _, p := range all.Problems {
		if strings.HasPrefix(p, v1alpha1.KeyCustomizations) {
			j.problems = append(j.problems, p)
		}
	}
	for _, r := range healthRules(&all) {
		if problem := j.host.Check(r.Script); problem != "" {
			j.problems = append(j.problems, problem)
		}
	}
	j.judge.Set(healthRules(&all))
	return j, nil
}

// Judge says which rule decided, too.
func (j *fileJudge) Judge(objects []*unstructured.Unstructured) []cli.Judged {
	out := make([]cli.Judged, len(objects))
	for i, u := range objects {
		h := j.health(u)
		out[i] = cli.Judged{Health: h, Rule: j.rule(u, h)}
	}
	return out
}

func (j *fileJudge) rule(u *unstructured.Unstructured, h health.Health) string {
	if _, going := health.Going(u); going {
		return "deletion"
	}
	if s, ok := j.judge.Script(u.GroupVersionKind().GroupKind()); ok {
		return s.Origin
	}
	switch {
	case h == (health.Health{}):
		return "none for this kind"
	case h.Source == health.FromConditions:
		return "its conditions"
	default:
		return "built in"
	}
}

// Problems are what of the settings cannot be used.
func (j *fileJudge) Problems() []string { return j.problems }

// Close ends the workers.
func (j *fileJudge) Close() { j.close() }
