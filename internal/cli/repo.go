package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/internal/core/repository"
)

// Repositories are what an installation knows of repositories, as it may be
// shown, and to be changed.
type Repositories interface {
	Repositories(ctx context.Context) ([]repository.View, error)
	// Templates are the entries for many repositories.
	Templates(ctx context.Context) ([]repository.Template, error)
	// PutRepository writes an entry down, after signing in there.
	PutRepository(ctx context.Context, r repository.Repository, w repository.Wish) error
	DropRepository(ctx context.Context, r repository.Repository, many bool) error
}

var aRepository = thing{one: "repository", kind: "Secrets", list: "towline repo list"}

// NewRepo makes the command "repo" with everything below it.
func NewRepo(env *Env) *cobra.Command {
	g := &global{}
	cmd := family(env, &cobra.Command{
		Use:     "repo",
		Short:   "See, add and remove the repositories that the installation knows",
		Long:    "See, add and remove the repositories that the installation knows. One secret stands for each; a login is never shown.",
		Aliases: []string{"repos", "repository", "repositories"},
	}, newRepoList(env, g), newRepoGet(env, g), newRepoAdd(env, g, false), newRepoRemove(env, g, false))
	g.register(cmd, env)
	return cmd
}

// repoWork is a command about repositories under way.
type repoWork struct {
	*session
	book Repositories
	all  []repository.View
}

// entries begins a command about repositories.
func (g *global) entries(ctx context.Context, env *Env) (*repoWork, error) {
	s, _, err := g.connect(ctx, env, nil)
	if err != nil {
		return nil, err
	}
	r, err := env.Repositories(ctx, s.flags)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", s.flags.where(), err)
	}
	return &repoWork{session: s, book: r}, nil
}

func (g *global) repositories(ctx context.Context, env *Env) (*repoWork, error) {
	c, err := g.entries(ctx, env)
	if err != nil {
		return nil, err
	}
	all, err := c.book.Repositories(ctx)
	if err != nil {
		return nil, c.explainOf(aRepository, "", err)
	}
	slices.SortStableFunc(all, func(a, b repository.View) int {
		return cmp.Or(cmp.Compare(a.Repo, b.Repo), cmp.Compare(a.Project, b.Project))
	})
	c.all = all
	return c, nil
}

const outputURL = "url"

// repoFlags are those that both commands have.
type repoFlags struct {
	output  output
	refresh string
}

func (f *repoFlags) register(cmd *cobra.Command) {
	f.output.register(cmd, outputJSON, outputYAML, outputWide, outputURL, outputName)
	cmd.Flags().StringVar(&f.refresh, "refresh", "", "taken for Argo CD's sake: a repository is asked when an application looks at it")
}

// heed says what a flag does not do here.
func (f *repoFlags) heed(c *repoWork) {
	if f.refresh != "" {
		c.note("--refresh has no effect: a repository is asked when an application looks at it; %q has one look",
			"towline app get NAME --hard-refresh")
	}
}

func newRepoList(env *Env, g *global) *cobra.Command {
	f := &repoFlags{}
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the repositories", Args: none,
		Example:           "  towline repo list\n  towline repo list -o url",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.output.check(); err != nil {
				return err
			}
			c, err := g.repositories(cmd.Context(), env)
			if err != nil {
				return err
			}
			f.heed(c)
			if f.output.structured() {
				return f.output.encode(env.Out, orEmpty(c.all))
			}
			return c.table(c.all, f.output)
		},
	}
	f.register(cmd)
	return cmd
}

func newRepoGet(env *Env, g *global) *cobra.Command {
	f := &repoFlags{}
	project := ""
	cmd := &cobra.Command{
		Use: "get URL|NAME", Short: "Show a repository", Args: arguments,
		Example:           "  towline repo get https://git.example.com/shop.git",
		ValidArgsFunction: g.completeRepository(env),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.output.check(); err != nil {
				return err
			}
			c, err := g.repositories(cmd.Context(), env)
			if err != nil {
				return err
			}
			f.heed(c)
			found := c.find(args[0], project)
			switch {
			case len(found) == 0:
				return fmt.Errorf("repository %q is not known; %q shows those that are", args[0], c.lists(aRepository))
			case f.output.structured() && len(found) == 1:
				return f.output.encode(env.Out, found[0])
			case f.output.structured():
				return f.output.encode(env.Out, found)
			}
			return c.table(found, f.output)
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&project, "project", "", "the entry of this project")
	return cmd
}

// find picks entries as people name them. One URL may have an entry for each
// project.
func (c *repoWork) find(selector, project string) []repository.View {
	return slices.DeleteFunc(slices.Clone(c.all), func(v repository.View) bool {
		return !repository.Same(v.Repo, selector) && v.Name != selector || project != "" && v.Project != project
	})
}

func (c *repoWork) table(all []repository.View, o output) error {
	switch {
	case o.form == outputURL || o.form == outputName:
		for _, v := range all {
			fmt.Fprintln(c.env.Out, clean(map[string]string{outputURL: v.Repo, outputName: v.Name}[o.form]))
		}
		return nil
	case len(all) == 0:
		c.note("no repositories are known; applications may use those that anybody can read")
		return nil
	}
	t := &table{head: []string{"TYPE", "NAME", "REPO", "INSECURE", "OCI", "LFS", "CREDS", "STATUS", "MESSAGE", "PROJECT"}, palette: c.out}
	if o.form == outputWide {
		t.head = append(t.head, "PROXY", "DEPTH")
	}
	for _, v := range all {
		t.row(repoRow(v, o.form == outputWide)...)
	}
	return t.write(c.env.Out, true)
}

func repoRow(v repository.View, wide bool) []cell {
	state := repository.Connection{Status: unasked}
	if v.ConnectionState != nil {
		state = *v.ConnectionState
	}
	paint := map[string]colour{connected: green, unconnected: red, unasked: yellow}[state.Status]
	row := []cell{
		word(v.Type), word(v.Name), word(v.Repo), word(strconv.FormatBool(v.Insecure || v.InsecureIgnoreHostKey)),
		word(strconv.FormatBool(v.EnableOCI)), word(strconv.FormatBool(v.EnableLFS)), word(creds(v)),
		{text: clean(state.Status), colour: paint},
		word(cut(state.Message, messageWidth)), word(v.Project),
	}
	if !wide {
		return row
	}
	return append(row, word(orNothing(v.Proxy)), word(strconv.Itoa(v.Depth)))
}

// creds says whether one signs in there. A server does not tell of logins.
func creds(v repository.View) string {
	switch {
	case v.InheritedCreds:
		return "inherited"
	case v.OwnCreds == nil:
		return nothing
	}
	return strconv.FormatBool(*v.OwnCreds)
}

func (g *global) completeRepository(env *Env) cobra.CompletionFunc {
	return g.completing(env, false, func(ctx context.Context, s *session) ([]string, error) {
		r, err := env.Repositories(ctx, s.flags)
		if err != nil {
			return nil, err
		}
		all, err := r.Repositories(ctx)
		return each(all, func(v repository.View) string { return v.Repo }), err
	})
}
