// Package internal holds the engine; this page is the tour, and the package itself never contains code.
//
// A commit travels from the top of the list to the bottom: something wakes a controller, the controller calls the
// engine, the engine gathers facts from the parts, core decides, and the engine carries the decision out. Imports run
// the same way and never back; arch_test.go beside this page holds the rules, each with its reason.
//
// # Who wakes the engine
//
//   - controller: queues and polling that turn events into calls of the engine.
//   - server: the HTTP API of Argo CD, and routes of our own: one table says who may use what, one door hides what is secret.
//   - cli: the commands, one file each, that show or ask for what the engine does.
//   - server/catalog: the index of applications in memory that lists and streams are answered from.
//   - server/listing: lists of applications over HTTP: Argo CD's, and pages with search, orders and counts.
//   - server/stream: changes told to clients over HTTP while they happen, bounded, resumable, filtered by permission.
//   - server/fields: JSON cut down to the fields that a client asked for.
//
// # Use cases
//
//   - engine: refresh, sync, delete; the only place that puts reads, decisions and writes in an order.
//
// # Parts that touch the world
//
// Each satisfies small interfaces that the engine declares, and knows neither the engine nor another part.
//
//   - source: Git turned into an immutable tree named by its content.
//   - source/chart: Helm repositories and OCI registries turned into such trees.
//   - source/archive: the bytes of an archive turned into a tree in memory, under bounds.
//   - source/blob: bytes kept on disk under the digest of their content, within a quota.
//   - source/web: HTTP with rules on where a login may go and what content may choose.
//   - render: trees and parameters turned into manifests, by a process that has neither files nor network; render/helm and
//     render/kustomize do so with the libraries of those tools.
//   - plugin: config management plugins, which run beside us, asked over their sockets.
//   - cluster: a target cluster: its live objects, what it serves, dry-run, apply and delete.
//   - cluster/fleet: all clusters: opened when needed, reached by the present credentials, left alone while silent.
//   - cluster/eks: signing in to clusters of Amazon EKS.
//   - settings: the config maps and secrets of the installation turned into one immutable value.
//   - script: what users write in jq and Lua, compiled once and run under limits; Lua in a worker process.
//   - worker: how this program runs itself as a process that is not trusted; what render and script have in common.
//   - hub: typed access to the Applications, ApplicationSets and AppProjects of the cluster that Towline runs in.
//   - forge: GitHub, GitLab, Gitea and services of users asked for what the generators of ApplicationSets want to know.
//   - registrar: clusters and repositories put on the hub's lists and taken off: their secrets there, the account that a
//     cluster gives us, and whom to trust.
//   - client: the API of a server as the command line asks it, with answers as the hub would give them.
//   - identity: who is calling: tokens and passwords of local accounts checked and made, sessions ended, guesses limited.
//   - sso: people signed in at the login provider of the installation, for the server and for the command line.
//   - leader: which of several replicas acts; a fence before the writes of the others, and a way for them to pass on what
//     only the acting one can answer.
//   - rival: Argo CD's own controllers beside us: whether they run, and how they are stopped and started again.
//   - event: transitions turned into Kubernetes Events on their Application; drift read back from them.
//   - herald: applications that changed turned into messages to people, each sent once; herald/channel carries one message over
//     one service.
//   - trace: how long the parts of the work take, told to a collector of OpenTelemetry.
//   - ledger: what was decided and done, kept in files that tell when they were tampered with.
//   - metric: transitions and the cached Applications turned into metrics, with Argo CD's names.
//   - shelf: sealed bytes on disk, kept for the next process; what was rendered is on it.
//   - pairs: the pairs of manifest and live object that the server has confirmed, kept on disk for the next process.
//
// # Decisions
//
// Everything under core is pure: no I/O, no clock, no logger, no context. The same input gives the same output, so a
// decision can be replayed from a file and tested without a cluster.
//
//   - core/object: the identity of an object, ordered sets of them, tracking, digests and the redaction of secrets.
//   - core/finding: what a user should know about their own manifests, as data and not as an error.
//   - core/fault: the classes of errors: try again, wait for something, or give up until a person acts.
//   - core/manifest: what a renderer is asked and answers; YAML and JSON text turned into objects.
//   - core/reads: what a render read, and which applications a push concerns.
//   - core/environment: the variables that may stand in the fields of a source.
//   - core/secret: text that must not be seen.
//   - core/destination: what is known of the clusters that are deployed to, and which of them is meant; the one reading of
//     a cluster secret.
//   - core/address: how near to us a network address is, and which ones nobody may have us call.
//   - core/repository: what is known of a place that content comes from, secrets among it.
//   - core/slug: a text turned into a name that a DNS label can hold.
//   - core/roster: the hub's list of clusters: what the secret of one says, and how it is written.
//   - core/backup: what an installation keeps as one text, and what to write so that one is as a text says.
//   - core/chart: what charts say of themselves: which version is meant, and which dependencies are missing.
//   - core/diff: desired, live and predicted objects turned into a verdict and the fields that differ.
//   - core/repair: manifests that client-side apply took turned into such as server-side apply takes.
//   - core/frame: what an API server sends, read in as few passes as that takes, and as client-go reads it.
//   - core/flow: how many requests of one application a cluster has room for, and when it steps back behind others.
//   - core/field: what managedFields say: which fields a manager owns, where they are, and who else owns them.
//   - core/health: an object turned into its health, by kind and by the conventions for conditions.
//   - core/action: what can be done with an object, and the changes that it stands for.
//   - core/appset: an ApplicationSet turned into Applications, and these into what to write.
//   - core/policy: what a project allows.
//   - core/login: the file in which the command line keeps where it has signed in.
//   - core/lint: the text of manifests turned into what people should write differently.
//   - core/takeover: how Towline takes the place of a running Argo CD and gives it back, and whether both act.
//   - core/doctor: what is known of an installation turned into what is wrong with it.
//   - core/webhook: what forges and registries send turned into hints of what to look at, once its signature holds.
//   - core/rbac: the lines of argocd-rbac-cm and the roles of projects turned into answers, each with the line that decided.
//   - core/sso: what the installation says of signing in elsewhere, and whom a token of the login provider stands for.
//   - core/account: what is known of the local accounts, and whether the claims of a token hold.
//   - core/plan: the heart: which questions to ask, what to do in which order, and the next step of a running sync.
//   - core/wish: what people ask of an application by hand: why it cannot be, and what is to be written.
//   - core/draft: an application as flags describe it: which there are, and what each makes of a spec.
//   - core/tree: facts turned into the resource tree of an application, by owners and by what objects say of each other.
//   - core/notice: argocd-notifications-cm and an application turned into the messages that are due, and what they say.
//   - core/transition: two states of an application turned into what changed between them.
//   - core/journal: who did what and why: records that are chained to each other, and what can be read from them.
//   - core/status: a plan and its progress turned into the status that people and scripts read.
package internal
