package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// allOptions say which scenarios are run, and how.
type allOptions struct {
	quick      bool
	only, skip []string
	argocd     string
}

// allCommand runs the scenarios one after the other, each as a process of its
// own, so that none leaves anything to the next.
func allCommand() *cobra.Command {
	var o allOptions
	cmd := &cobra.Command{
		Use: "all", Short: "Run every scenario, one after the other", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.quick, "quick", false, "at reduced sizes")
	f.StringSliceVar(&o.only, "only", nil, "these scenarios and no others")
	f.StringSliceVar(&o.skip, "skip", nil, "all scenarios but these")
	f.StringVar(&o.argocd, "argocd", "", "path of an argocd binary that does the same beside us, where that is provided for")
	return cmd
}

func (o allOptions) run(ctx context.Context) error {
	var lines []string
	codes := map[int]bool{}
	begin := time.Now()
	for _, s := range scenarios() {
		if len(o.only) > 0 && !slices.Contains(o.only, s.name) || slices.Contains(o.skip, s.name) {
			continue
		}
		line, code, err := runOne(ctx, o.args(s))
		if err != nil {
			return err
		}
		codes[code], lines = true, append(lines, line)
	}
	fmt.Fprintf(os.Stdout, "\n%d scenarios in %s\n%s\n", len(lines), time.Since(begin).Round(time.Second), strings.Join(lines, "\n"))
	switch {
	case codes[exitRefused]:
		return errors.New("not every scenario could be reported")
	case codes[exitNo]:
		return errGoalMissed
	}
	return nil
}

func (o allOptions) args(s scenario) []string {
	args := []string{s.name}
	if o.quick {
		args = append(args, "--quick")
	}
	if s.peer && o.argocd != "" {
		args = append(args, "--argocd", o.argocd)
	}
	return args
}

// runOne runs one scenario and returns its last line.
func runOne(ctx context.Context, args []string) (line string, code int, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", 0, fmt.Errorf("finding this program: %w", err)
	}
	fmt.Fprintf(os.Stdout, "\n== %s\n", strings.Join(args, " "))
	begin := time.Now()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(os.Stdout, &out), os.Stderr
	// An interrupt lets it take its control plane down.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err = cmd.Run()
	if ctx.Err() != nil {
		return "", 0, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", 0, fmt.Errorf("running %s: %w", args[0], err)
	}
	code = cmd.ProcessState.ExitCode()
	fmt.Fprintf(os.Stdout, "took %s\n", time.Since(begin).Round(time.Second))
	if code != exitYes && code != exitNo {
		return args[0] + " pass=refused", exitRefused, nil
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return lines[len(lines)-1], code, nil
}
