// Package draft is an application as the flags of a command line describe it: which flags there are, and what each makes of
// a spec. It must not read files: who has the flags hands over what they name.
package draft

import (
	"errors"
	"fmt"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Kind is what a flag takes.
type Kind int

// The kinds of flags.
const (
	// Text is one text, Texts one for each time that the flag is given, and File the text of a file that is named.
	Text Kind = iota
	Texts
	File
	Switch
	Number
)

// Value is what somebody typed.
type Value struct {
	Text   string
	Texts  []string
	On     bool
	Number int64
}

// Typed are the flags that were given, by their names.
type Typed map[string]Value

// Flag is one of those that describe an application.
type Flag struct {
	Name, Short, Usage string
	Kind               Kind
	// Source says that it is about one source, and not about the application.
	Source bool
	// Refused says why a flag that Argo CD has is not taken, and what to do instead.
	Refused string

	set func(t *target, v Value) error
}

// target is what flags change.
type target struct {
	spec   *v1alpha1.ApplicationSpec
	source *v1alpha1.ApplicationSource
	typed  Typed
}

// Flags are all of them, in the order in which they are taken.
func Flags() []Flag {
	var out []Flag
	for _, group := range [][]Flag{sourceFlags, helmFlags, kustomizeFlags, directoryFlags, pluginFlags} {
		for _, f := range group {
			f.Source = true
			out = append(out, f)
		}
	}
	return append(append(out, specFlags...), hydratorFlags...)
}

// Change makes a spec what the flags say. at is the source that they are about, counted from one; zero is the only one. An
// error is a mistake of whoever typed them, and leaves the spec half changed.
func Change(spec *v1alpha1.ApplicationSpec, at int, typed Typed) error {
	return run(Flags(), spec, at, typed)
}

func run(flags []Flag, spec *v1alpha1.ApplicationSpec, at int, typed Typed) error {
	t := &target{spec: spec, typed: typed}
	for _, f := range flags {
		v, given := typed[f.Name]
		if !given {
			continue
		}
		if f.Refused != "" {
			return fmt.Errorf("--%s is not taken: %s", f.Name, f.Refused)
		}
		if f.Source && t.source == nil {
			if err := t.choose(at, f.Name); err != nil {
				return err
			}
		}
		if err := f.set(t, v); err != nil {
			return fmt.Errorf("--%s: %w", f.Name, err)
		}
	}
	return nil
}

// choose finds the source that the flags are about.
func (t *target) choose(at int, flag string) error {
	n := len(t.spec.Sources)
	switch {
	case t.spec.SourceHydrator != nil:
		return fmt.Errorf("--%s: the application has a sourceHydrator, which flags do not change; edit it", flag)
	case n == 0 && at > 1:
		return fmt.Errorf("--%s: there is one source, and none at position %d", flag, at)
	case n == 0 && t.spec.Source == nil:
		t.spec.Source = &v1alpha1.ApplicationSource{}
		t.source = t.spec.Source
	case n == 0:
		t.source = t.spec.Source
	case at < 1:
		return fmt.Errorf("--%s: there are %d sources; say which with --source-position, from 1 on, or with --source-name", flag, n)
	case at > n:
		return fmt.Errorf("--%s: there are %d sources, and none at position %d", flag, n, at)
	default:
		t.source = &t.spec.Sources[at-1]
	}
	return nil
}

// Position is that of the source with a name, counted from one.
func Position(spec *v1alpha1.ApplicationSpec, name string) (int, error) {
	found, names := 0, []string{}
	for i, s := range sources(spec) {
		if s.Name != "" {
			names = append(names, s.Name)
		}
		if s.Name != name {
			continue
		}
		if found > 0 {
			return 0, fmt.Errorf("two sources are called %q; say which with its position", name)
		}
		found = i + 1
	}
	if found == 0 && len(names) == 0 {
		return 0, fmt.Errorf("no source is called %q: none has a name", name)
	}
	if found == 0 {
		return 0, fmt.Errorf("no source is called %q; there are: %s", name, strings.Join(names, ", "))
	}
	return found, nil
}

func sources(spec *v1alpha1.ApplicationSpec) []v1alpha1.ApplicationSource {
	if len(spec.Sources) == 0 && spec.Source != nil {
		return []v1alpha1.ApplicationSource{*spec.Source}
	}
	return spec.Sources
}

// AddSource adds the source that flags describe. An application with one source has several then.
func AddSource(spec *v1alpha1.ApplicationSpec, typed Typed) error {
	if spec.SourceHydrator != nil {
		return errors.New("the application has a sourceHydrator, which has one source; edit it")
	}
	made := &v1alpha1.ApplicationSpec{}
	if err := Change(made, 0, typed); err != nil {
		return err
	}
	if made.Source == nil || made.Source.RepoURL == "" {
		return errors.New("name the repository of the source with --repo")
	}
	spec.Sources = append(append(v1alpha1.ApplicationSources{}, sources(spec)...), *made.Source)
	spec.Source = nil
	return nil
}

// RemoveSource takes a source away, by its position from one on. The last one stays.
func RemoveSource(spec *v1alpha1.ApplicationSpec, at int) error {
	n := len(spec.Sources)
	switch {
	case n == 0:
		return errors.New("the application does not have several sources")
	case n == 1:
		return errors.New("this is its only source, and an application needs one")
	case at < 1 || at > n:
		return fmt.Errorf("there are %d sources, and none at position %d", n, at)
	}
	left := append(v1alpha1.ApplicationSources{}, spec.Sources[:at-1]...)
	spec.Sources = append(left, spec.Sources[at:]...)
	return nil
}

// pair splits NAME=VALUE.
func pair(text string) (name, value string, err error) {
	name, value, found := strings.Cut(text, "=")
	if !found || name == "" {
		return "", "", fmt.Errorf("%q is not of the form NAME=VALUE", text)
	}
	return name, value, nil
}

// each calls f with every NAME=VALUE.
func each(texts []string, f func(name, value string) error) error {
	for _, text := range texts {
		name, value, err := pair(text)
		if err != nil {
			return err
		}
		if err := f(name, value); err != nil {
			return err
		}
	}
	return nil
}

// put replaces the item that fits, or adds it.
func put[T any](list []T, item T, fits func(T) bool) []T {
	for i, have := range list {
		if fits(have) {
			list[i] = item
			return list
		}
	}
	return append(list, item)
}

// Labels reads NAME=VALUE of labels and annotations; NAME= is one with an empty value.
func Labels(texts []string) (map[string]string, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	return out, each(texts, func(name, value string) error {
		out[name] = value
		return nil
	})
}
