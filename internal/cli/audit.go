package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/towline-cd/towline/internal/core/journal"
)

func newAudit(env *Env) *cobra.Command {
	return family(env, &cobra.Command{
		Use: "audit", Short: "Check the audit log, and ask it",
		Long: "Check the audit log, and ask it. The log is a folder of files (--audit-log of \"towline run\"), one file, or - for\n" +
			"standard input; no cluster is asked.",
	}, newAuditVerify(env), newAuditQuery(env))
}

// place is the log that is meant.
func (e *Env) place(args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	if e.JournalFolder != nil {
		if folder := e.JournalFolder(); folder != "" {
			return folder, nil
		}
	}
	return "", usagef("say which log is meant: a folder, a file, or - for standard input")
}

func newAuditVerify(env *Env) *cobra.Command {
	var heads []string
	cmd := &cobra.Command{
		Use: "verify [LOG]", Short: "Check that nothing was changed, removed, exchanged or cut off",
		Long: "Check that no record of the audit log was changed, removed, exchanged or cut off. The exit code is 1 if one was.\n\n" +
			"Whoever may write the whole folder can also write another log into it. Give --head with a head that was kept\n" +
			"elsewhere, such as in the process log, to be sure that this is the one that was written.",
		Example: "  towline admin audit verify /var/lib/towline/audit\n" +
			"  kubectl logs deploy/towline | towline admin audit verify -",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := env.place(args)
			if err != nil {
				return err
			}
			var known []journal.Head
			for _, text := range heads {
				h, err := journal.ParseHead(text)
				if err != nil {
					return usagef("--head %q: %w", text, err)
				}
				known = append(known, h)
			}
			return env.verifyAudit(path, known)
		},
	}
	cmd.Flags().StringArrayVar(&heads, "head", nil, "a head that was kept elsewhere, as NUMBER:DIGEST")
	return cmd
}

func (e *Env) verifyAudit(path string, known []journal.Head) error {
	// A head may be of a record in the middle by now.
	at := map[uint64]string{}
	for _, h := range known {
		at[h.Seq] = h.Hash
	}
	met := map[uint64]bool{}
	var last journal.Record
	check, err := e.Journal(path, func(r journal.Record) {
		if r.Seq == last.Seq+1 && at[last.Seq] != "" {
			met[last.Seq] = at[last.Seq] == r.Prev
		}
		last = r
	}, known...)
	if err != nil {
		return err
	}
	problems := check.Problems
	for _, h := range known {
		if h.Seq < check.Head.Seq && !met[h.Seq] {
			problems = append(problems, journal.Problem{Where: "--head", Seq: h.Seq, Why: "the record is not the one that is known from " +
				"elsewhere"})
		}
	}
	for _, p := range problems {
		fmt.Fprintln(e.Out, p)
	}
	if len(problems) > 0 {
		fmt.Fprintf(e.Out, "the audit log was tampered with or damaged: %d problems in %d records\n", len(problems), check.Records)
		return ErrNo
	}
	fmt.Fprintf(e.Out, "%d records, %d to %d, from %s to %s: nothing is missing and nothing was changed\nhead %s\n",
		check.Records, check.First, check.Head.Seq, check.From.Format(time.RFC3339), check.To.Format(time.RFC3339), check.Head)
	return nil
}

type auditQuery struct {
	env          *Env
	filter       journal.Filter
	deleted      bool
	since, until string
	output       output
}

func newAuditQuery(env *Env) *cobra.Command {
	q := &auditQuery{env: env}
	cmd := &cobra.Command{
		Use: "query [LOG]", Short: "Show what was decided and done, and who deleted what and why",
		Long: "Show records of the audit log, the oldest first. With --deleted each deletion is shown with who wanted it, why, and\n" +
			"the proof.",
		Example: "  towline admin audit query /var/lib/towline/audit --deleted --object ConfigMap/settings --object-namespace shop\n" +
			"  towline admin audit query --app shop --since 24h -o json\n" +
			"  towline admin audit query --by jane --kind request",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := env.place(args)
			if err != nil {
				return err
			}
			if err := q.output.check(); err != nil {
				return err
			}
			if q.filter.Since, err = q.time(q.since); err != nil {
				return err
			}
			if q.filter.Until, err = q.time(q.until); err != nil {
				return err
			}
			return q.run(path)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&q.deleted, "deleted", false, "answer who deleted what and why")
	f.StringVar(&q.filter.App, "app", "", "only about this application")
	f.StringVar(&q.filter.Object, "object", "", "only about these objects: KIND, KIND/NAME or /NAME")
	f.StringVar(&q.filter.Namespace, "object-namespace", "", "only about objects in this namespace")
	f.StringVar(&q.filter.Subject, "by", "", "only what is on behalf of this one")
	f.StringVar(&q.filter.Revision, "revision", "", "only what is of this commit")
	f.StringSliceVar(&q.filter.Kinds, "kind", nil, "only such records: request, began, ended, held, deletes, objects, released, opened, "+
		"lost, dropped")
	f.StringSliceVar(&q.filter.Actions, "action", nil, "only such deeds: create, update, unchanged, delete, patch, release, take over")
	f.StringVar(&q.since, "since", "", "only from this time on: 2026-01-02T15:04:05Z, or a duration before now such as 24h")
	f.StringVar(&q.until, "until", "", "only up to this time, likewise")
	q.output.register(cmd, outputJSON)
	return cmd
}

func (q *auditQuery) time(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return q.env.Now().Add(-d), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, usagef("%q is neither a time such as 2026-01-02T15:04:05Z nor a duration such as 24h", text)
	}
	return t, nil
}

func (q *auditQuery) run(path string) error {
	deletions := journal.Deletions{Filter: q.filter}
	found := 0
	see := deletions.See
	if !q.deleted {
		see = func(r journal.Record) {
			if r, ok := q.filter.Match(r); ok {
				found++
				q.show(r)
			}
		}
	}
	check, err := q.env.Journal(path, see)
	if err != nil {
		return err
	}
	if q.deleted {
		found = len(deletions.Answers)
		for _, a := range deletions.Answers {
			q.answer(a)
		}
	}
	if n := len(check.Problems); n > 0 {
		fmt.Fprintf(q.env.Err, "the log has %d problems, so this may not be all: \"admin audit verify\" tells\n", n)
	}
	if found == 0 {
		fmt.Fprintln(q.env.Err, "no record is like that")
		return ErrNo
	}
	return nil
}

// show prints one record: a line, and one for each object.
func (q *auditQuery) show(r journal.Record) {
	if q.output.structured() {
		q.line(r)
		return
	}
	words := []string{r.Time.Format(time.RFC3339), string(r.Kind)}
	if r.Asked != nil {
		words = append(words, r.Asked.Does, r.Asked.Object, fmt.Sprint(r.Asked.Status))
	}
	words = append(words, cmp.Or(r.App, r.Set))
	if r.Phase != "" {
		words = append(words, r.Phase)
	}
	if len(r.Revisions) > 0 {
		words = append(words, "at "+shortAll(r.Revisions))
	}
	if by := whoIs(r.By); by != "" {
		words = append(words, "by "+by)
	}
	words = slices.DeleteFunc(words, func(s string) bool { return s == "" })
	line := strings.Join(words, "  ")
	if r.Why != "" {
		line += ": " + r.Why
	}
	fmt.Fprintln(q.env.Out, clean(line))
	for _, d := range r.Objects {
		fmt.Fprintln(q.env.Out, clean("    "+deedLine(d)))
	}
}

func (q *auditQuery) line(v any) {
	if text, err := json.Marshal(v); err == nil {
		fmt.Fprintln(q.env.Out, string(text))
	}
}

func deedLine(d journal.Deed) string {
	words := []string{string(d.Action), d.Key().String()}
	if d.UID != "" {
		words = append(words, "uid "+d.UID)
	}
	if d.Before != "" || d.After != "" {
		words = append(words, "version "+cmp.Or(d.Before, "none")+" -> "+cmp.Or(d.After, "none"))
	}
	if d.As != "" {
		words = append(words, "as "+d.As)
	}
	if d.Proof != nil {
		words = append(words, d.Proof.Reason)
	}
	if d.Failed != "" {
		words = append(words, "FAILED: "+d.Failed)
	}
	return strings.Join(words, "  ")
}

// answer says who deleted an object, and why.
func (q *auditQuery) answer(a journal.Answer) {
	if q.output.structured() {
		q.line(a)
		return
	}
	r, d := a.Record, a.Deed
	say := func(what, text string) {
		if text != "" {
			fmt.Fprintf(q.env.Out, "  %-9s %s\n", what, clean(text))
		}
	}
	fmt.Fprintf(q.env.Out, "%s was deleted at %s\n", clean(d.Key().String()), r.Time.Format(time.RFC3339))
	say("where", r.Server)
	say("uid", d.UID)
	say("version", d.Before)
	say("by", whoWanted(a))
	say("why", d.Proof.Why())
	if a.Began != nil {
		say("sync", "of application "+r.App+" in project "+r.Project+", begun "+r.Operation+suffix(": ", a.Began.Why))
	} else if r.App != "" {
		say("for", "application "+r.App+" in project "+r.Project)
	}
	say("revision", strings.Join(r.Revisions, ", "))
	say("tree", r.Tree)
	say("as", d.As)
	say("record", fmt.Sprint(r.Seq))
}

func suffix(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// whoWanted is who asked, or that nobody had to.
func whoWanted(a journal.Answer) string {
	if a.Asked != nil {
		return whoIs(a.Asked.By) + ", by " + a.Asked.Asked.Does
	}
	if by := whoIs(a.Record.By); by != "" {
		return by
	}
	return "not known: no request over the API led to it"
}

func whoIs(w journal.Who) string {
	if w.Automated {
		return "the automated sync policy"
	}
	name := cmp.Or(w.Name, w.Subject)
	if name == "" && w.Address == "" {
		return ""
	}
	var more []string
	for _, part := range []struct{ what, text string }{
		{"from ", w.Address}, {"token ", w.Token}, {"groups ", strings.Join(w.Groups, " ")}, {"request ", w.Request},
	} {
		if part.text != "" {
			more = append(more, part.what+part.text)
		}
	}
	name = cmp.Or(name, "somebody who did not sign in")
	if len(more) == 0 {
		return name
	}
	return name + " (" + strings.Join(more, ", ") + ")"
}

func shortAll(revisions []string) string {
	out := make([]string, len(revisions))
	for i, r := range revisions {
		out[i] = short(r)
	}
	return strings.Join(out, ",")
}
