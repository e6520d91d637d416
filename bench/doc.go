// Command bench measures the product on a real control plane and says whether
// it keeps its promises; it must not be needed by anything else, and it never
// reports a run in which one of its own assertions failed.
//
//	bin/bench --list                        lists the scenarios
//	bin/bench index                         runs one at full size
//	bin/bench heal --quick                  runs one at a size for every change
//	bin/bench all --quick                   runs every one, as make bench does
//	bin/bench report                        writes docs/performance.md from the results
//	bin/bench bootstrap --argocd PATH       has a peer do the same, beside us
//
// # What a scenario leaves
//
// It prints a table and one last line, "<scenario> pass=yes|no key=value …",
// and writes the same to bench/results/<scenario>.json. It ends with 0 for
// pass=yes, 1 for pass=no, and 2 when there is nothing to report: an assertion
// about the run itself did not hold (a process lost events, an application was
// not Synced), so its numbers would be about something else.
//
// # What is measured
//
// Wall time lies on a machine that others use too. So pass is decided by
// counts (requests by verb and by user from the audit log, keys written in
// etcd with leases left out) and by ratios to a bare program: the least that
// any client must do for the same work, with the same client library, measured
// in the same run, in turn with ours. Where a goal is a time per object it is
// held to the CPU time of our process. Absolute times are printed beside them.
// Medians are over the repeats; the spread is printed as lowest–highest.
//
//   - wall: seconds of the clock.
//   - cpu: CPU seconds of the process that is measured, which does nothing else.
//     Where programs are compared (contest.go) that is with all that it starts:
//     workers that render, git.
//   - server: CPU seconds of the API server and etcd meanwhile.
//   - requests, revisions, etcd bytes: what the audit log and etcd counted.
//   - heap, rss: of that process after a forced collection whose memory was
//     given back; peak is the highest RSS that it ever had.
//
// Each measured part runs in a process of its own: this program started again
// as a child, which takes commands on its standard input and answers with its
// readings. The control plane is etcd (without fsync) and the API server alone:
// controllers would write and burn CPU beside the work that is measured.
//
// # The worlds
//
// A world is a cluster with Applications whose objects our engine has applied
// from a git repository, and other objects that nobody manages. It is made once
// (100,000 objects take minutes), saved in the cache folder, and restored from
// there for each run, so that a run may change it. A world that was made by an
// older version of this program is not used; --fresh makes it anew.
//
// The scenarios that measure the making of applications (waves, bootstrap, prune)
// have no world: they begin with an empty cluster. The scenario of lists (list)
// has no cluster at all: its child makes the applications up and serves them; that
// of the pages (ui) does the same for a browser.
// Those in which more than the engine takes part (webhook, push, poll, idle,
// fairness) start the program itself, on an empty cluster: see stage.go.
//
// What is not realistic: pods have no status (nobody runs them), and the
// network is loopback.
package main
