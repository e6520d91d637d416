package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/internal/core/repository"
)

// Certificates are the hosts that an installation believes to be who they say.
type Certificates interface {
	Certificates(ctx context.Context) ([]repository.Certificate, error)
	AddCertificates(ctx context.Context, list []repository.GivenCertificate, upsert bool) ([]repository.Certificate, error)
	// RemoveCertificates takes those away that fit: a name may have a star, and what is empty fits all.
	RemoveCertificates(ctx context.Context, of repository.Certificate) ([]repository.Certificate, error)
}

var aCertificate = thing{one: "certificate", kind: "ConfigMaps", list: "towline cert list"}

// NewCert makes the command "cert" with everything below it.
func NewCert(env *Env) *cobra.Command {
	g := &global{}
	cmd := family(env, &cobra.Command{
		Use:   "cert",
		Short: "See and change which hosts are trusted",
		Long:  "See and change which hosts of repositories are trusted: keys of SSH servers, and authorities of TLS servers.",
	}, newCertList(env, g), newCertAddSSH(env, g), newCertAddTLS(env, g), newCertRemove(env, g))
	g.register(cmd, env)
	return cmd
}

// trusting is a command about trust under way.
type trusting struct {
	*session
	certificates Certificates
}

func (g *global) certificates(ctx context.Context, env *Env) (*trusting, error) {
	s, _, err := g.connect(ctx, env, nil)
	if err != nil {
		return nil, err
	}
	all, err := env.Certificates(ctx, s.flags)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", s.flags.where(), err)
	}
	return &trusting{session: s, certificates: all}, nil
}

func newCertList(env *Env, g *global) *cobra.Command {
	var o output
	var kind, pattern, order string
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the hosts that are trusted", Args: none,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			switch {
			case !slices.Contains([]string{"", repository.CertSSH, repository.CertHTTPS}, kind):
				return usagef("--cert-type is ssh or https, not %q", kind)
			case order != "" && order != "hostname" && order != "type":
				return usagef("--sort is hostname or type, not %q", order)
			}
			c, err := g.certificates(cmd.Context(), env)
			if err != nil {
				return err
			}
			all, err := c.certificates.Certificates(cmd.Context())
			if err != nil {
				return c.explainOf(aCertificate, "", err)
			}
			all = slices.DeleteFunc(all, func(e repository.Certificate) bool {
				return kind != "" && e.CertType != kind || pattern != "" && !repository.MatchesHost(pattern, e.ServerName)
			})
			slices.SortStableFunc(all, func(a, b repository.Certificate) int {
				byType := cmp.Or(cmp.Compare(a.CertType, b.CertType), cmp.Compare(a.CertSubType, b.CertSubType))
				if order != "type" {
					byType = 0
				}
				return cmp.Or(byType, cmp.Compare(a.ServerName, b.ServerName))
			})
			return c.list(all, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&kind, "cert-type", "", "only those of a type: ssh or https")
	f.StringVar(&pattern, "hostname-pattern", "", "only hosts that fit, as in *.example.com")
	f.StringVar(&order, "sort", "", "the order: hostname or type")
	fixed(cmd, "cert-type", repository.CertSSH, repository.CertHTTPS)
	fixed(cmd, "sort", "hostname", "type")
	o.register(cmd, outputJSON, outputYAML, outputWide)
	return cmd
}

func (c *trusting) list(all []repository.Certificate, o output) error {
	switch {
	case o.structured():
		return o.encode(c.env.Out, orEmpty(all))
	case len(all) == 0:
		c.note("no host is trusted by an entry of its own; servers with certificates of public authorities are")
		return nil
	}
	t := &table{head: []string{"HOSTNAME", "TYPE", "SUBTYPE", "INFO"}, palette: c.out}
	for _, e := range all {
		t.row(word(e.ServerName), word(e.CertType), word(e.CertSubType), word(e.CertInfo))
	}
	return t.write(c.env.Out, true)
}

// most is how many are sent at once.
const mostCertificates = 200

func (c *trusting) add(ctx context.Context, list []repository.GivenCertificate, upsert bool) error {
	for _, one := range list {
		if err := one.Check(); err != nil {
			return fmt.Errorf("%q: %w", one.ServerName, err)
		}
	}
	var made []repository.Certificate
	for some := range slices.Chunk(list, mostCertificates) {
		more, err := c.certificates.AddCertificates(ctx, some, upsert)
		if err != nil {
			return c.explainOf(aCertificate, some[0].ServerName, err)
		}
		made = append(made, more...)
	}
	for _, e := range made {
		c.note("trusted: %s, %s %s", e.ServerName, e.CertType, e.CertSubType)
	}
	return nil
}

func newCertAddSSH(env *Env, g *global) *cobra.Command {
	var from string
	var batch, upsert bool
	cmd := &cobra.Command{
		Use: "add-ssh", Short: "Trust the keys of SSH servers", Args: none,
		Long: "Trust the keys of SSH servers, in the lines of ssh-keyscan or of a known_hosts file: of the input with --batch, or of\n" +
			"a file with --from.",
		Example:           "  ssh-keyscan git.example.com | towline cert add-ssh --batch\n  towline cert add-ssh --from ~/.ssh/known_hosts",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case from == "" && !batch:
				return usagef("say where the keys are: --batch is the input, --from FILE a file")
			case from == "":
				from = "-"
			}
			text, err := env.read(from)
			if err != nil {
				return err
			}
			list := repository.HostKeysOf(string(text))
			if len(list) == 0 {
				return fmt.Errorf("there is no key in it: a line is HOST TYPE KEY, as ssh-keyscan prints it; hashed names cannot be read")
			}
			c, err := g.certificates(cmd.Context(), env)
			if err != nil {
				return err
			}
			if err := c.add(cmd.Context(), list, upsert); err != nil {
				return err
			}
			fmt.Fprintf(env.Out, "Successfully created %d SSH known host entries\n", len(list))
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&batch, "batch", false, "read the keys from the input")
	f.StringVar(&from, "from", "", "file with the keys; - is the input")
	f.BoolVar(&upsert, "upsert", false, "take the place of other keys of the same hosts")
	return cmd
}

func newCertAddTLS(env *Env, g *global) *cobra.Command {
	var from []string
	var upsert bool
	cmd := &cobra.Command{
		Use: "add-tls SERVERNAME", Short: "Trust authorities for a TLS server", Args: arguments,
		Long:              "Trust the certificates of PEM files for a server, by its name; without --from they are read from the input.",
		Example:           "  towline cert add-tls git.example.com --from ca.pem",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(from) == 0 {
				from = []string{"-"}
			}
			var texts []string
			for _, file := range from {
				text, err := env.read(file)
				if err != nil {
					return err
				}
				texts = append(texts, strings.TrimSpace(string(text)))
			}
			c, err := g.certificates(cmd.Context(), env)
			if err != nil {
				return err
			}
			err = c.add(cmd.Context(), []repository.GivenCertificate{{
				ServerName: args[0], CertType: repository.CertHTTPS, CertData: []byte(strings.Join(texts, "\n") + "\n"),
			}}, upsert)
			if err != nil {
				return err
			}
			fmt.Fprintf(env.Out, "Created entry for repository server %s\n", clean(args[0]))
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&from, "from", nil, "PEM file with certificates; - is the input (may be repeated)")
	cmd.Flags().BoolVar(&upsert, "upsert", false, "take the place of other certificates for the same server")
	return cmd
}

func newCertRemove(env *Env, g *global) *cobra.Command {
	var of repository.Certificate
	cmd := &cobra.Command{
		Use: "rm HOSTNAME", Aliases: []string{"remove", "delete"}, Short: "Trust a host no more",
		Long:    "Trust a host no more: all of its keys and authorities, or those of a type. A * in the name fits anything.",
		Example: "  towline cert rm git.example.com\n  towline cert rm git.example.com --cert-type ssh --cert-sub-type ssh-rsa",
		Args:    arguments, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			of.ServerName = args[0]
			if !slices.Contains([]string{"", repository.CertSSH, repository.CertHTTPS}, of.CertType) {
				return usagef("--cert-type is ssh or https, not %q", of.CertType)
			}
			c, err := g.certificates(cmd.Context(), env)
			if err != nil {
				return err
			}
			gone, err := c.certificates.RemoveCertificates(cmd.Context(), of)
			if err != nil {
				return c.explainOf(aCertificate, args[0], err)
			}
			if len(gone) == 0 {
				fmt.Fprintln(env.Out, "No certificates were removed (none matched the given pattern)")
				return nil
			}
			for _, e := range gone {
				fmt.Fprintf(env.Out, "Removed cert for '%s' of type '%s' (subtype '%s')\n",
					clean(e.ServerName), clean(e.CertType), clean(e.CertSubType))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&of.CertType, "cert-type", "", "only those of a type: ssh or https")
	cmd.Flags().StringVar(&of.CertSubType, "cert-sub-type", "", "only those of a type of key, as in ssh-rsa")
	fixed(cmd, "cert-type", repository.CertSSH, repository.CertHTTPS)
	return cmd
}
