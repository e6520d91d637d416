package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// refusedKey marks what Argo CD has and this program refuses by name, with the reason.
const refusedKey = "towline.io/refused"

// Refused says why a command is not there; empty is that it is.
func Refused(cmd *cobra.Command) string { return cmd.Annotations[refusedKey] }

// RefusedFlag says why a flag is not taken; empty is that it is.
func RefusedFlag(f *pflag.Flag) string {
	if reasons := f.Annotations[refusedKey]; len(reasons) > 0 {
		return reasons[0]
	}
	return ""
}

// refusing makes a command that says why it is not there. Nobody should find that out from a list of commands: it is for
// those who come with a script.
func refusing(use, reason string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: "Not there: " + reason, Hidden: true, DisableFlagParsing: true,
		Annotations: map[string]string{refusedKey: reason},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usagef("%q is not there: %s", cmd.CommandPath(), reason)
		},
	}
}

// refusedFlag is a flag that Argo CD has and this program does nothing with.
type refusedFlag struct {
	name, reason string
	// bare is that it comes without a value.
	bare bool
}

// refuse takes flags in order to refuse them by name, before anything is done.
func refuse(cmd *cobra.Command, flags ...refusedFlag) {
	f := cmd.Flags()
	for _, r := range flags {
		if r.bare {
			f.Bool(r.name, false, r.reason)
		} else {
			f.String(r.name, "", r.reason)
		}
		_ = f.SetAnnotation(r.name, refusedKey, []string{r.reason}) // it was made above
		_ = f.MarkHidden(r.name)
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		var err error
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if reason := RefusedFlag(f); reason != "" && err == nil {
				err = usagef("--%s is not honoured: %s", f.Name, reason)
			}
		})
		return err
	}
}
