package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/towline-cd/towline/internal/core/wish"
)

// family makes a command that only holds others.
func family(env *Env, cmd *cobra.Command, members ...*cobra.Command) *cobra.Command {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	// As far apart as a slip of the finger.
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknown(cmd, args[0])
		}
		return cmd.Help()
	}
	cmd.SetIn(env.In)
	cmd.SetOut(env.Out)
	cmd.SetErr(env.Err)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; %q shows the flags", err, cmd.CommandPath()+" --help")
	})
	for _, sub := range members {
		sub.SilenceErrors, sub.SilenceUsage = true, true
		cmd.AddCommand(sub)
	}
	return cmd
}

// arguments checks the number of words by the names in the command's own usage
// line: NAME is needed, [NAME] is not, and NAME... is one or more.
func arguments(cmd *cobra.Command, args []string) error {
	least, most := 0, 0
	for _, w := range strings.Fields(cmd.Use)[1:] {
		switch {
		case strings.HasPrefix(w, "["):
			most++
		case strings.HasSuffix(w, "..."):
			least, most = least+1, 1000
		default:
			least, most = least+1, most+1
		}
	}
	if len(args) < least || len(args) > most {
		return usagef("write it as in %q, got %s", strings.TrimSuffix(cmd.UseLine(), " [flags]"), plural(len(args), "argument"))
	}
	return nil
}

// agree asks the person at the terminal. Where there is none the flag has to
// say it: a script that is wrong must not be able to do harm.
func (s *session) agree(yes bool, doing string) error {
	if yes || s.unasked {
		return nil
	}
	if !s.env.InIsTerminal {
		return usagef("%s: nobody is there to ask; add --yes if you mean it", doing)
	}
	fmt.Fprint(s.env.Err, "Type y to go on: ")
	line, err := bufio.NewReader(s.env.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if answer := strings.TrimSpace(line); strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes") {
		return nil
	}
	return fmt.Errorf("%s: not confirmed, nothing was done", doing)
}

// amending changes objects of one kind.
type amending[T any] struct {
	*session
	thing
	objects interface {
		Get(ctx context.Context, name string) (*T, error)
		Patch(ctx context.Context, name string, patch []byte, dryRun bool) (*T, error)
	}
	dryRun bool
	// refusal is what is said where there would be something to write.
	refusal error
}

// amend reads an object, has it edited, and writes what the edit changed and
// nothing else: fields that this version does not know stay. It begins anew
// while others are faster.
func (a amending[T]) amend(ctx context.Context, name string, edit func(*T) error) (changed bool, err error) {
	for attempt := 1; ; attempt++ {
		object, err := a.objects.Get(ctx, name)
		if err != nil {
			return false, a.explainOf(a.thing, name, err)
		}
		patch, err := wish.Difference(object, edit)
		if err != nil || patch == nil {
			return false, err
		}
		if a.refusal != nil {
			return false, a.refusal
		}
		_, err = a.objects.Patch(ctx, name, patch, a.dryRun)
		if err == nil || !apierrors.IsConflict(err) || attempt == maxConflicts {
			return err == nil, a.explainOf(a.thing, name, err)
		}
	}
}
