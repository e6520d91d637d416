package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// NewConfigure makes the command "configure".
func NewConfigure(env *Env) *cobra.Command {
	g := &global{}
	cmd := family(env, &cobra.Command{
		Use:   "configure",
		Short: "Say how the commands behave on this machine",
		Long: "Say how the commands behave on this machine: whether they ask before they delete something. They do, unless this or a\n" +
			"flag says otherwise.",
		Example: "  towline configure --prompts-enabled=false",
	})
	cmd.Args = none
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !cmd.Flags().Changed("prompts-enabled") {
			return usagef("say what to change: --prompts-enabled=true or --prompts-enabled=false")
		}
		asks, err := g.servers.asks()
		if err != nil {
			return err
		}
		book, err := env.Logins.Read(g.servers.config)
		if err != nil {
			return err
		}
		book.Prompts = asks
		if err := env.Logins.Write(g.servers.config, book); err != nil {
			return err
		}
		fmt.Fprintf(env.Out, "Successfully updated the following configuration settings:\nprompts-enabled: %t\n", *asks)
		return nil
	}
	g.register(cmd, env)
	return cmd
}
