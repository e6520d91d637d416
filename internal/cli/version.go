package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/internal/core/login"
)

// NewVersion makes the command "version".
func NewVersion(env *Env, own string) *cobra.Command {
	g, out := &global{}, &output{}
	var client, short bool
	cmd := family(env, &cobra.Command{
		Use:   "version",
		Short: "Say which version this is, and which the server",
		Long: "Say which version this is, and which the API server that you are signed in to. Where there is none, or it does not\n" +
			"answer, only its own: the exit code is 0 then too if --client was given or nobody is signed in.",
	})
	cmd.Args = none
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := out.check(); err != nil {
			return err
		}
		versions := map[string]login.Release{
			"client": {Version: own, GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH},
		}
		r, err := g.remote(env)
		if err != nil {
			return err
		}
		var failed error
		if r != nil && !client {
			server, err := env.Server(cmd.Context(), *r)
			if err != nil {
				return fmt.Errorf("connecting to %s: %w", r.Server.Server, err)
			}
			if versions["server"], failed = server.Version(cmd.Context()); failed != nil {
				delete(versions, "server")
			}
		}
		if out.structured() {
			if err := out.encode(env.Out, versions); err != nil {
				return err
			}
			return failed
		}
		name := cmd.Root().Name()
		fmt.Fprintf(env.Out, "%s: %s\n", name, versions["client"].Version)
		if !short {
			fmt.Fprintf(env.Out, "  GoVersion: %s\n  Platform: %s\n", versions["client"].GoVersion, versions["client"].Platform)
		}
		if v, ok := versions["server"]; ok {
			fmt.Fprintf(env.Out, "%s-server: %s\n", name, clean(v.Version))
		}
		return failed
	}
	g.register(cmd, env)
	out.register(cmd, outputJSON, outputYAML)
	cmd.Flags().BoolVar(&client, "client", false, "only this program's own")
	cmd.Flags().BoolVar(&short, "short", false, "only the numbers")
	return cmd
}
