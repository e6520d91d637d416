package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/draft"
)

// drafting are the flags that describe an application, or a source of one.
type drafting struct {
	table []draft.Flag
	// at and name say which of several sources is meant.
	at   int
	name string
}

// register adds flags by their table. A flag that has a meaning of its own in the command is left out.
func (d *drafting) register(cmd *cobra.Command, flags []draft.Flag) {
	f := cmd.Flags()
	for _, flag := range flags {
		if f.Lookup(flag.Name) != nil {
			continue
		}
		d.table = append(d.table, flag)
		switch flag.Kind {
		case draft.Texts:
			f.StringArrayP(flag.Name, flag.Short, nil, flag.Usage+" (may be repeated)")
		case draft.Switch:
			f.BoolP(flag.Name, flag.Short, false, flag.Usage)
		case draft.Number:
			f.Int64P(flag.Name, flag.Short, 0, flag.Usage)
		case draft.Text, draft.File:
			f.StringP(flag.Name, flag.Short, "", flag.Usage)
		}
		if flag.Refused != "" {
			_ = f.MarkHidden(flag.Name) // it was made a line above
		}
	}
}

// place adds the flags that say which source is meant.
func (d *drafting) place(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&d.at, "source-position", 0, "which of several sources is meant, from 1 on")
	f.StringVar(&d.name, "source-name", "", "the same by its name")
}

// typed are the flags that were given, with the content of the files that they name.
func (d *drafting) typed(env *Env, f *pflag.FlagSet) (draft.Typed, error) {
	out := draft.Typed{}
	for _, flag := range d.table {
		if !f.Changed(flag.Name) {
			continue
		}
		var v draft.Value
		var err error
		switch flag.Kind {
		case draft.Text:
			v.Text, err = f.GetString(flag.Name)
		case draft.File:
			v.Text, err = f.GetString(flag.Name)
			if err == nil {
				var text []byte
				text, err = env.read(v.Text)
				v.Text = string(text)
			}
		case draft.Texts:
			v.Texts, err = f.GetStringArray(flag.Name)
		case draft.Switch:
			v.On, err = f.GetBool(flag.Name)
		case draft.Number:
			v.Number, err = f.GetInt64(flag.Name)
		}
		if err != nil {
			return nil, err
		}
		out[flag.Name] = v
	}
	return out, nil
}

// position is that of the source that is meant; zero is the only one.
func (d *drafting) position(spec *v1alpha1.ApplicationSpec) (int, error) {
	switch {
	case d.name != "" && d.at != 0:
		return 0, usagef("say which source either with --source-position or with --source-name")
	case d.name != "":
		at, err := draft.Position(spec, d.name)
		if err != nil {
			return 0, usagef("--source-name: %w", err)
		}
		return at, nil
	case d.at < 0:
		return 0, usagef("--source-position is counted from 1 on, and is not %d", d.at)
	}
	return d.at, nil
}

// oneSource are flags that choose one of several sources to be shown.
type oneSource struct{ drafting }

// of is the position that is meant in a list of sources; zero is all of them.
func (o *oneSource) of(list v1alpha1.ApplicationSources) (int, error) {
	at, err := o.position(&v1alpha1.ApplicationSpec{Sources: list})
	if err == nil && at > len(list) {
		return 0, usagef("there is no source at position %d: there are %d", at, len(list))
	}
	return at, err
}

// alone is an application with the source that is meant, and no other.
func (o *oneSource) alone(app *v1alpha1.Application) (*v1alpha1.Application, error) {
	list := app.Sources()
	at, err := o.of(list)
	if err != nil || at == 0 {
		return app, err
	}
	out := app.DeepCopy()
	out.Spec.Source, out.Spec.Sources = &list[at-1], nil
	return out, nil
}
