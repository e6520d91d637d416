package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/internal/core/login"
)

// listedContext is a context as a program reads it: without its token.
type listedContext struct {
	Name    string `json:"name"`
	Server  string `json:"server"`
	Current bool   `json:"current"`
	Core    bool   `json:"core,omitempty"`
	// SignedIn says that there is a token, which may have ended.
	SignedIn bool `json:"signedIn"`
}

// NewContext makes the command "context".
func NewContext(env *Env) *cobra.Command {
	g, out := &global{}, &output{}
	var remove bool
	cmd := family(env, &cobra.Command{
		Use:     "context [CONTEXT]",
		Short:   "See where you are signed in, and go there",
		Example: "  towline context\n  towline context cd.example.com\n  towline context cd.example.com --delete",
		Aliases: []string{"ctx"},
	})
	cmd.Args = arguments
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		book, err := env.Logins.Read(g.servers.config)
		if err != nil {
			return err
		}
		if len(args) == 0 {
			return listContexts(env, book, out)
		}
		t, known := book.Find(args[0])
		if !known {
			return usagef("there is no context %q; %q shows those that there are", args[0], "towline context")
		}
		said := "Switched to context '%s'\n"
		if remove {
			book, _ = book.Without(t.Name)
			said = "Context '%s' deleted\n"
		} else {
			book.Current = t.Name
		}
		if err := env.Logins.Write(g.servers.config, book); err != nil {
			return err
		}
		fmt.Fprintf(env.Out, said, clean(t.Name))
		return nil
	}
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		book, err := env.Logins.Read(g.servers.config)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []cobra.Completion
		for _, c := range book.Contexts {
			names = append(names, c.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	g.register(cmd, env)
	out.register(cmd, outputJSON, outputYAML, outputName)
	cmd.Flags().BoolVar(&remove, "delete", false, "forget the context and its login")
	return cmd
}

func listContexts(env *Env, book login.Book, out *output) error {
	all := make([]listedContext, len(book.Contexts))
	for i, c := range book.Contexts {
		t, _ := book.Find(c.Name)
		all[i] = listedContext{
			Name: c.Name, Server: c.Server, Current: c.Name == book.Current, Core: t.Server.Core, SignedIn: !t.Token.Empty(),
		}
	}
	switch {
	case out.structured():
		return out.encode(env.Out, all)
	case out.form == outputName:
		for _, c := range all {
			fmt.Fprintln(env.Out, clean(c.Name))
		}
		return nil
	case len(all) == 0:
		fmt.Fprintln(env.Err, "You are signed in nowhere: commands talk to the cluster with your kubeconfig.")
		return nil
	}
	t := &table{head: []string{"CURRENT", "NAME", "SERVER"}, palette: palette{on: wantColour(env.colour, env.OutIsTerminal, env.Getenv)}}
	for _, c := range all {
		mark, server := "", c.Server
		if c.Current {
			mark = "*"
		}
		if c.Core {
			server = "(the cluster of your kubeconfig)"
		}
		t.row(word(mark), word(c.Name), word(server))
	}
	return t.write(env.Out, true)
}
