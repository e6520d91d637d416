package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/internal/core/repository"
)

// PublicKeys are the keys that commits may be signed with.
type PublicKeys interface {
	Keys(ctx context.Context) ([]repository.PublicKey, error)
	// AddKeys takes an armoured text of one or more, and says which are new and which were there.
	AddKeys(ctx context.Context, armoured string, upsert bool) (created, skipped []string, err error)
	RemoveKey(ctx context.Context, id string) error
}

var aKey = thing{one: "key", kind: "ConfigMaps", list: "towline gpg list"}

// NewGPG makes the command "gpg" with everything below it.
func NewGPG(env *Env) *cobra.Command {
	g := &global{}
	cmd := family(env, &cobra.Command{
		Use:   "gpg",
		Short: "See and change the keys that commits may be signed with",
		Long: "See and change the public keys that commits may be signed with. A project asks for signatures:\n" +
			"\"proj add-signature-key\".",
	}, newKeyList(env, g), newKeyGet(env, g), newKeyAdd(env, g), newKeyRemove(env, g))
	g.register(cmd, env)
	return cmd
}

// signed is a command about keys under way.
type signed struct {
	*session
	keys PublicKeys
}

func (g *global) keys(ctx context.Context, env *Env) (*signed, error) {
	s, _, err := g.connect(ctx, env, nil)
	if err != nil {
		return nil, err
	}
	all, err := env.PublicKeys(ctx, s.flags)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", s.flags.where(), err)
	}
	return &signed{session: s, keys: all}, nil
}

func newKeyList(env *Env, g *global) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the keys", Args: none, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			c, err := g.keys(cmd.Context(), env)
			if err != nil {
				return err
			}
			all, err := c.keys.Keys(cmd.Context())
			if err != nil {
				return c.explainOf(aKey, "", err)
			}
			switch {
			case o.structured():
				return o.encode(env.Out, orEmpty(all))
			case len(all) == 0:
				c.note("no keys are known")
				return nil
			}
			t := &table{head: []string{"KEYID", "TYPE", "IDENTITY"}, palette: c.out}
			for _, k := range all {
				t.row(word(k.KeyID), word(strings.ToUpper(k.SubType)), word(k.Owner))
			}
			return t.write(env.Out, true)
		},
	}
	o.register(cmd, outputJSON, outputYAML, outputWide)
	return cmd
}

func newKeyGet(env *Env, g *global) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use: "get KEYID", Short: "Show a key", Args: arguments, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			c, err := g.keys(cmd.Context(), env)
			if err != nil {
				return err
			}
			all, err := c.keys.Keys(cmd.Context())
			if err != nil {
				return c.explainOf(aKey, "", err)
			}
			for _, k := range all {
				if strings.EqualFold(k.KeyID, args[0]) {
					return c.show(k, o)
				}
			}
			return fmt.Errorf("key %q is not known; %q shows those that are", args[0], c.lists(aKey))
		},
	}
	o.register(cmd, outputJSON, outputYAML, outputWide)
	return cmd
}

func (c *signed) show(k repository.PublicKey, o output) error {
	if o.structured() {
		return o.encode(c.env.Out, k)
	}
	b := &block{palette: c.out, width: 17}
	b.field("Key ID", clean(k.KeyID))
	b.field("Key fingerprint", clean(orNothing(k.Fingerprint)))
	b.field("Key subtype", clean(orNothing(strings.ToUpper(k.SubType))))
	b.field("Key owner", clean(orNothing(k.Owner)))
	return b.write(c.env.Out)
}

func newKeyAdd(env *Env, g *global) *cobra.Command {
	var from string
	var upsert bool
	cmd := &cobra.Command{
		Use: "add", Short: "Take commits that keys signed", Args: none,
		Long:              "Add the public keys of an armoured file, as \"gpg --armor --export\" prints it. - is the input.",
		Example:           "  gpg --armor --export 4AEE18F83AFDEB23 | towline gpg add --from -",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" {
				return usagef("say where the keys are with --from FILE; - is the input")
			}
			text, err := env.read(from)
			if err != nil {
				return err
			}
			c, err := g.keys(cmd.Context(), env)
			if err != nil {
				return err
			}
			created, skipped, err := c.keys.AddKeys(cmd.Context(), string(text), upsert)
			if err != nil {
				return c.explainOf(aKey, "", err)
			}
			for _, id := range skipped {
				c.note("key %s is there already", id)
			}
			fmt.Fprintf(env.Out, "Created %d key(s)", len(created))
			if len(skipped) > 0 {
				fmt.Fprintf(env.Out, ", and %d key(s) were skipped because they exist already", len(skipped))
			}
			fmt.Fprintln(env.Out, ".")
			for _, id := range created {
				fmt.Fprintln(env.Out, clean(id))
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&from, "from", "f", "", "file with the keys; - is the input")
	cmd.Flags().BoolVar(&upsert, "upsert", false, "write keys that are there again")
	return cmd
}

func newKeyRemove(env *Env, g *global) *cobra.Command {
	return &cobra.Command{
		Use: "rm KEYID", Aliases: []string{"remove", "delete"}, Short: "Take no more commits that a key signed", Args: arguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := g.keys(cmd.Context(), env)
			if err != nil {
				return err
			}
			if err := c.keys.RemoveKey(cmd.Context(), args[0]); err != nil {
				return c.explainOf(aKey, args[0], err)
			}
			fmt.Fprintf(env.Out, "Deleted key with key ID %s\n", clean(args[0]))
			return nil
		},
	}
}
