package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/internal/core/login"
)

// SignOnPrompt is how somebody at the terminal is sent to a login provider and taken back.
type SignOnPrompt struct {
	// Port is where a browser on this machine comes back to.
	Port int
	// Show has somebody go to an address.
	Show func(address string)
	// Paste is the address at which a browser elsewhere ended, or the code in it; nil is that nobody can be asked.
	Paste func() (string, error)
}

// defaultSSOPort is the one that providers know from Argo CD.
const defaultSSOPort = 8085

func (c *signing) registerSSO(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&c.port, "sso-port", defaultSSOPort, "port of this machine that the browser comes back to, as the login provider knows it")
	f.BoolVar(&c.launch, "sso-launch-browser", true, "start a browser on this machine")
}

// signOn signs in at the login provider of a server.
func (c *signing) signOn(ctx context.Context, r Remote) (login.Tokens, error) {
	env, paste := c.env, make(chan struct{})
	in := bufio.NewReader(env.In)
	p := SignOnPrompt{
		Port: c.port,
		Show: func(address string) {
			if c.launch && env.Browse != nil && env.Browse(ctx, address) == nil {
				fmt.Fprintf(env.Err, "Sign in by the browser that opens. If none does, open this:\n\n    %s\n\n", address)
			} else {
				fmt.Fprintf(env.Err, "Open this in a browser and sign in:\n\n    %s\n\n", address)
			}
			fmt.Fprintln(env.Err, "If that browser is on another machine, its last page will not load; paste the address of that page.")
			close(paste)
		},
		Paste: func() (string, error) {
			<-paste
			line, err := in.ReadString('\n')
			if line = strings.TrimSpace(line); line != "" {
				return line, nil
			}
			return line, err
		},
	}
	return env.SignOn(ctx, r, p)
}

// newDex makes the command "admin dex".
func newDex(env *Env, g *global) *cobra.Command {
	config := &cobra.Command{
		Use: "config", Short: "Print the configuration of the Dex that runs beside", Args: none,
		Long: "Print the configuration of the Dex that runs beside Towline: dex.config of argocd-cm with the issuer, our clients,\n" +
			"where people come back to, and what references to secrets stand for. It holds secrets: give it to Dex as a secret.",
		Example:           "  towline admin dex config | kubectl -n argocd create secret generic dex --from-file=config.yaml=/dev/stdin",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, problems, err := env.Dex(cmd.Context(), g.Flags)
			for _, p := range problems {
				fmt.Fprintf(env.Err, "problem: %s\n", clean(p))
			}
			if err != nil {
				return err
			}
			_, err = env.Out.Write(text)
			return err
		},
	}
	return family(env, &cobra.Command{Use: "dex", Short: "The Dex that runs beside, for signing in elsewhere"}, config)
}
