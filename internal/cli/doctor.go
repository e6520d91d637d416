package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/internal/core/doctor"
)

// Checkup says what is looked at.
type Checkup struct {
	// As is the account whose rights are looked at, such as system:serviceaccount:argocd:towline; empty is your own.
	As string
	// Offline leaves out what asks repositories and other clusters.
	Offline bool
	// Data is the folder that "towline run" would keep things in; empty is the usual one.
	Data string
}

// NewDoctor makes the command "doctor".
func NewDoctor(env *Env) *cobra.Command {
	g, out := &global{}, &output{}
	var c Checkup
	cmd := family(env, &cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong with an installation, and what to do about it",
		Long: "Look at an installation with your kubeconfig: connection, permissions, versions, clock, who acts, settings, webhooks,\n" +
			"credentials, folder, sandbox, the default project and the local administrator. Each answer that is not good comes with\n" +
			"what to do. Nothing is changed.\n\n" +
			"Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage, 20 anything else.",
		Example: "  towline doctor\n  towline doctor --as system:serviceaccount:argocd:towline -o json",
	})
	cmd.Args = none
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := out.check(); err != nil {
			return err
		}
		results := doctor.Examine(env.Checkup(cmd.Context(), g.Flags, c))
		var sick error
		if doctor.Sick(results) {
			sick = ErrNo
		}
		if out.structured() {
			if err := out.encode(env.Out, results); err != nil {
				return err
			}
			return sick
		}
		p := palette{on: wantColour(env.colour, env.OutIsTerminal, env.Getenv)}
		shades := map[doctor.Level]colour{doctor.OK: green, doctor.Warning: yellow, doctor.Failed: red, doctor.Unknown: yellow}
		for _, r := range results {
			fmt.Fprintf(env.Out, "%s %s: %s\n", p.paint(shades[r.Level], fmt.Sprintf("%-7s", r.Level)), r.Check, clean(r.Message))
			if r.Fix != "" && r.Level != doctor.OK {
				fmt.Fprintf(env.Out, "        %s %s\n", p.paint(bold, "do:"), clean(r.Fix))
			}
		}
		return sick
	}
	g.register(cmd, env)
	g.servers.core = true
	out.register(cmd, outputJSON, outputYAML)
	f := cmd.Flags()
	f.StringVar(&c.As, "as", "", "look at the rights of this account, as in system:serviceaccount:argocd:towline (default: your own)")
	f.BoolVar(&c.Offline, "offline", false, "ask neither repositories nor other clusters")
	f.StringVar(&c.Data, "data", "", "folder that \"towline run\" keeps things in (default: the user's cache folder)")
	return cmd
}
