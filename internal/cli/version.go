package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/internal/core/login"
)

// NewVersion makes the command "version"; own is what is known of this build.
func NewVersion(env *Env, own login.Release) *cobra.Command {
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
		versions := map[string]login.Release{"client": own}
		r, err := g.remote(env)
		if err != nil {
			return err
		}
		var failed error
		if r != nil && !client {
			var release login.Release
			if release, failed = serverVersion(cmd.Context(), env, *r); failed == nil {
				versions["server"] = release
			}
		}
		if out.structured() {
			return errors.Join(out.encode(env.Out, versions), failed)
		}
		showVersions(env.Out, cmd.Root().Name(), versions, short)
		return failed
	}
	g.register(cmd, env)
	out.register(cmd, outputJSON, outputYAML)
	cmd.Flags().BoolVar(&client, "client", false, "only this program's own")
	cmd.Flags().BoolVar(&short, "short", false, "only the numbers")
	return cmd
}

func serverVersion(ctx context.Context, env *Env, r Remote) (login.Release, error) {
	server, err := env.Server(ctx, r)
	if err != nil {
		return login.Release{}, fmt.Errorf("connecting to %s: %w", r.Server.Server, err)
	}
	return server.Version(ctx)
}

func showVersions(w io.Writer, name string, versions map[string]login.Release, short bool) {
	fmt.Fprintf(w, "%s: %s\n", name, versions["client"].Version)
	if own := versions["client"]; !short {
		if own.GitCommit != "" {
			fmt.Fprintf(w, "  GitCommit: %s\n", own.GitCommit)
		}
		fmt.Fprintf(w, "  GoVersion: %s\n  Platform: %s\n", own.GoVersion, own.Platform)
	}
	if v, ok := versions["server"]; ok {
		fmt.Fprintf(w, "%s-server: %s\n", name, clean(v.Version))
	}
}
