// Package doctor turns what is known of an installation into what is wrong with
// it, and what to do about that. Whoever asks gathers the facts: it must not look
// anything up, and facts that nobody could learn are no reason to worry.
package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/takeover"
)

// Level says how bad something is.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Warning Level = "warning"
	Failed  Level = "failed"
	// Unknown is that it could not be looked at.
	Unknown Level = "unknown"
)

// Result is the answer to one question.
type Result struct {
	Check   string `json:"check"`
	Level   Level  `json:"level"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// Right is one that the installation needs.
type Right struct {
	Verb      string `json:"verb"`
	Group     string `json:"group,omitempty"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	// For is what does not work without it, and Must that nothing does.
	For  string `json:"for"`
	Must bool   `json:"must,omitempty"`
	// Allowed is the answer.
	Allowed bool `json:"allowed,omitempty"`
}

// String is the right as kubectl would be asked for it.
func (r Right) String() string {
	what := r.Resource
	if r.Group != "" {
		what += "." + r.Group
	}
	where := "in all namespaces"
	if r.Namespace != "" {
		where = "in namespace " + r.Namespace
	}
	return fmt.Sprintf("%s %s %s", r.Verb, what, where)
}

// Rights are what an installation needs, without answers.
func Rights(namespace string) []Right {
	var out []Right
	add := func(must bool, purpose, group, resource, where string, verbs ...string) {
		for _, v := range verbs {
			out = append(out, Right{Verb: v, Group: group, Resource: resource, Namespace: where, For: purpose, Must: must})
		}
	}
	for _, r := range []string{v1alpha1.ApplicationResource, v1alpha1.AppProjectResource, v1alpha1.ApplicationSetResource} {
		add(true, "seeing and answering "+r, v1alpha1.Group, r, namespace, "get", "list", "watch", "patch")
	}
	add(true, "generating Applications", v1alpha1.Group, v1alpha1.ApplicationResource, namespace, "create", "delete")
	add(true, "reading the settings", "", "configmaps", namespace, "list", "watch")
	add(true, "reading credentials", "", "secrets", namespace, "list", "watch")
	add(true, "being the one that acts", "coordination.k8s.io", "leases", namespace, "get", "create", "update")
	add(false, "telling what happens, as Events", "", "events", namespace, "create")
	add(false, "noticing that Argo CD acts, too", "apps", "deployments", namespace, "list", "watch")
	add(false, "noticing that Argo CD acts, too", "apps", "statefulsets", namespace, "list", "watch")
	add(false, "seeing what is live, of every kind", "*", "*", "", "list", "watch")
	add(false, "deploying anything anywhere", "*", "*", "", "create", "patch", "delete")
	return out
}

// Kind is one of the custom resources.
type Kind struct {
	Name string `json:"name"`
	// Served is that the API server knows it.
	Served bool `json:"served"`
}

// Place is a repository or a cluster, and what is wrong with it.
type Place struct {
	Name    string `json:"name"`
	Problem string `json:"problem,omitempty"`
}

// Leader is who acts.
type Leader struct {
	Identity string `json:"identity"`
	// Silent is how long nothing was heard of it, and Patience how long that may be.
	Silent   metav1.Duration `json:"silent"`
	Patience metav1.Duration `json:"patience"`
}

// Facts are what is known of an installation. A part that could not be learned
// is named in Unknown with the reason, by the name of its check.
type Facts struct {
	Version     string            `json:"version"`
	Server      string            `json:"server"`
	Kubernetes  string            `json:"kubernetes"`
	Unreachable string            `json:"unreachable,omitempty"`
	Namespace   string            `json:"namespace"`
	NoNamespace bool              `json:"noNamespace,omitempty"`
	Kinds       []Kind            `json:"kinds,omitempty"`
	Rights      []Right           `json:"rights,omitempty"`
	As          string            `json:"as,omitempty"`
	Skew        metav1.Duration   `json:"skew"`
	Leader      *Leader           `json:"leader,omitempty"`
	Problems    []string          `json:"problems,omitempty"`
	NotHonoured []string          `json:"notHonoured,omitempty"`
	Settings    map[string]string `json:"settings,omitempty"`
	// Webhooks are the senders whose secret is set.
	Webhooks     []string `json:"webhooks,omitempty"`
	Repositories []Place  `json:"repositories,omitempty"`
	Clusters     []Place  `json:"clusters,omitempty"`
	// CacheFolder is where things are kept here, with what is free there.
	CacheFolder  string `json:"cacheFolder,omitempty"`
	CacheProblem string `json:"cacheProblem,omitempty"`
	CacheFreeMiB int64  `json:"cacheFreeMiB,omitempty"`
	Sandbox      string `json:"sandbox,omitempty"`
	// DefaultProject is nil where there is none.
	DefaultProject *v1alpha1.AppProjectSpec `json:"defaultProject,omitempty"`
	AdminEnabled   bool                     `json:"adminEnabled,omitempty"`
	InitialAdmin   bool                     `json:"initialAdmin,omitempty"`
	Anonymous      bool                     `json:"anonymous,omitempty"`
	Workloads      []takeover.Workload      `json:"workloads,omitempty"`
	Unknown        map[string]string        `json:"unknown,omitempty"`
}

// Examine answers all questions, in an order in which they are mended.
func Examine(f Facts) []Result {
	if f.Unreachable != "" {
		return []Result{{
			Check: "connection", Level: Failed, Message: "the API server is not reached: " + f.Unreachable,
			Fix: "set --kubeconfig or --context; \"kubectl version\" tells whether it is reached at all",
		}}
	}
	out := []Result{{Check: "connection", Level: OK, Message: fmt.Sprintf("%s, Kubernetes %s", f.Server, f.Kubernetes)}}
	for _, ask := range []struct {
		check string
		of    func(Facts) []Result
	}{
		{"namespace", namespace},
		{"kinds", kinds},
		{"versions", versions},
		{"permissions", permissions},
		{"clock", clock},
		{"controllers", controllers},
		{"settings", settings},
		{"webhooks", webhooks},
		{"repositories", repositories},
		{"clusters", clusters},
		{"cache", cache},
		{"sandbox", sandbox},
		{"default-project", project},
		{"admin", admin},
	} {
		if why, ok := f.Unknown[ask.check]; ok {
			out = append(out, Result{
				Check: ask.check, Level: Unknown, Message: "not known: " + why, Fix: "ask again with an account that may read it",
			})
			continue
		}
		for _, r := range ask.of(f) {
			r.Check = ask.check
			out = append(out, r)
		}
	}
	return out
}

// Sick reports whether something failed.
func Sick(all []Result) bool {
	return slices.ContainsFunc(all, func(r Result) bool { return r.Level == Failed })
}

func fine(format string, args ...any) []Result {
	return []Result{{Level: OK, Message: fmt.Sprintf(format, args...)}}
}

func namespace(f Facts) []Result {
	if f.NoNamespace {
		return []Result{{
			Level: Failed, Message: fmt.Sprintf("there is no namespace %q", f.Namespace),
			Fix: "name the one of the installation with --namespace, or install Towline",
		}}
	}
	return fine("%s", f.Namespace)
}

func kinds(f Facts) []Result {
	var missing []string
	for _, k := range f.Kinds {
		if !k.Served {
			missing = append(missing, k.Name)
		}
	}
	if len(missing) > 0 {
		return []Result{{
			Level: Failed, Message: "the cluster does not know " + strings.Join(missing, ", "),
			Fix: "kubectl apply --server-side -k config/crd",
		}}
	}
	return fine("the cluster knows Applications, ApplicationSets and AppProjects")
}

// Oldest is the first version of Kubernetes that everything works with.
const oldest = 30

func versions(f Facts) []Result {
	var major, minor int
	if _, err := fmt.Sscanf(strings.TrimPrefix(f.Kubernetes, "v"), "%d.%d", &major, &minor); err != nil {
		return []Result{{Level: Unknown, Message: fmt.Sprintf("the version %q of Kubernetes is not understood", f.Kubernetes)}}
	}
	if major == 1 && minor < oldest {
		return []Result{{
			Level: Warning, Message: fmt.Sprintf("Kubernetes %s is older than 1.%d, which this is tested with", f.Kubernetes, oldest),
			Fix: "upgrade the cluster",
		}}
	}
	return fine("Towline %s, Kubernetes %s", f.Version, f.Kubernetes)
}

func permissions(f Facts) []Result {
	var out []Result
	must := map[string][]string{}
	var order []string
	level := map[string]Level{}
	for _, r := range f.Rights {
		if r.Allowed {
			continue
		}
		if must[r.For] == nil {
			order = append(order, r.For)
			level[r.For] = Warning
		}
		must[r.For] = append(must[r.For], r.String())
		if r.Must {
			level[r.For] = Failed
		}
	}
	who := f.As
	if who == "" {
		who = "you"
	}
	for _, purpose := range order {
		out = append(out, Result{
			Level: level[purpose], Message: fmt.Sprintf("%s may not: %s", who, strings.Join(must[purpose], "; ")),
			Fix: "needed for " + purpose + "; give the right in a Role or ClusterRole, or know that this does not work",
		})
	}
	if len(out) == 0 {
		return fine("all %d rights that an installation needs", len(f.Rights))
	}
	return out
}

func clock(f Facts) []Result {
	skew := f.Skew.Duration
	if skew < 0 {
		skew = -skew
	}
	switch {
	case skew > time.Minute:
		return []Result{{
			Level: Failed,
			Message: fmt.Sprintf("this clock and the API server's are %s apart: sync windows, tokens and leases go by it",
				skew.Round(time.Second)),
			Fix: "set the clock by NTP, here and there",
		}}
	case skew > 5*time.Second:
		return []Result{{
			Level: Warning, Message: fmt.Sprintf("this clock and the API server's are %s apart", skew.Round(time.Second)),
			Fix: "set the clock by NTP",
		}}
	}
	return fine("within 5 s of the API server's")
}

// controllers are those who act.
func controllers(f Facts) []Result {
	rivals := takeover.Rivals(f.Workloads)
	var out []Result
	switch {
	case len(rivals) > 0 && f.Leader != nil:
		out = append(out, Result{
			Level: Failed, Message: "both Argo CD and Towline run; Towline is passive: " + takeover.Passive(rivals),
			Fix: "\"towline migrate takeover\", or \"towline migrate handback\"",
		})
	case len(rivals) > 0:
		out = append(out, Result{
			Level: Warning, Message: "Argo CD acts here, and Towline does not run: " + rivals[0].String(),
			Fix: "\"towline migrate check\" tells what taking over would mean",
		})
	case f.Leader == nil:
		out = append(out, Result{
			Level: Failed, Message: "no controller runs: nothing is synced",
			Fix: "start Towline: \"towline run\", or scale its Deployment up",
		})
	}
	if l := f.Leader; l != nil && l.Silent.Duration > l.Patience.Duration {
		out = append(out, Result{
			Level: Failed, Message: fmt.Sprintf("nothing was heard of %s for %s", l.Identity, l.Silent.Round(time.Second)),
			Fix: "look at its pod and its log; another replica takes over by itself",
		})
	} else if l != nil && len(out) == 0 {
		return fine("%s acts", l.Identity)
	}
	return out
}

func settings(f Facts) []Result {
	var out []Result
	for _, p := range f.Problems {
		out = append(out, Result{Level: Warning, Message: p, Fix: "correct it in " + v1alpha1.ConfigMapSettings})
	}
	if len(f.NotHonoured) > 0 {
		out = append(out, Result{
			Level: Warning, Message: "not honoured by this version: " + strings.Join(f.NotHonoured, ", "),
			Fix: "take them out of " + v1alpha1.ConfigMapSettings + ", or know that nothing comes of them",
		})
	}
	if len(out) == 0 {
		profile := f.Settings[v1alpha1.KeyProfile]
		if profile == "" {
			profile = v1alpha1.ProfileTowline
		}
		return fine("all are understood; profile %s", profile)
	}
	return out
}

func webhooks(f Facts) []Result {
	if len(f.Webhooks) == 0 {
		return []Result{{
			Level: Warning, Message: "no webhook has a secret: pushes are found by polling, or are believed without a signature",
			Fix: fmt.Sprintf("add webhook.github.secret (or that of your forge) to Secret %s, and the webhook URL/api/webhook there",
				v1alpha1.SecretSettings),
		}}
	}
	return fine("secrets for %s", strings.Join(f.Webhooks, ", "))
}

func places(all []Place, what, command string) []Result {
	var out []Result
	for _, p := range all {
		if p.Problem != "" {
			out = append(out, Result{Level: Failed, Message: fmt.Sprintf("%s: %s", p.Name, p.Problem), Fix: command})
		}
	}
	if len(out) == 0 {
		return fine("%d %s, all reached", len(all), what)
	}
	return out
}

func repositories(f Facts) []Result {
	return places(f.Repositories, "with an entry of their own", "correct its secret: \"towline repo add URL --upsert\" with a login")
}

func clusters(f Facts) []Result {
	return places(f.Clusters, "on the list",
		"\"towline cluster rotate-auth NAME\" makes a new token, \"towline cluster get NAME\" tells more")
}

// The least that is to be free.
const leastFree = 512

func cache(f Facts) []Result {
	switch {
	case f.CacheProblem != "":
		return []Result{{
			Level: Failed, Message: fmt.Sprintf("%s cannot be used: %s", f.CacheFolder, f.CacheProblem),
			Fix: "give \"towline run\" another folder with --data",
		}}
	case f.CacheFreeMiB < leastFree:
		return []Result{{
			Level: Warning, Message: fmt.Sprintf("%s has %d MiB left", f.CacheFolder, f.CacheFreeMiB),
			Fix: "make room, or give \"towline run\" another folder with --data",
		}}
	}
	return fine("%s, %d MiB free", f.CacheFolder, f.CacheFreeMiB)
}

func sandbox(f Facts) []Result {
	if f.Sandbox != "full" {
		return []Result{{
			Level: Warning, Message: "what renders manifests is not confined here: " + f.Sandbox,
			Fix: "run on Linux 5.13 or later with landlock, and let the pod use seccomp",
		}}
	}
	return fine("what renders manifests has neither files nor network")
}

// project is about the default project, which Argo CD makes wide open.
func project(f Facts) []Result {
	p := f.DefaultProject
	if p == nil {
		return []Result{{
			Level: Warning, Message: "there is no project \"default\"",
			Fix: "it is made when a controller starts; Applications without a project wait for it",
		}}
	}
	open := slices.Contains(p.SourceRepos, "*") && slices.ContainsFunc(p.Destinations, func(d v1alpha1.ApplicationDestination) bool {
		return d.Namespace == "*" && (d.Server == "*" || d.Name == "*")
	})
	if open {
		return []Result{{
			Level: Warning, Message: "whoever may make an Application in project \"default\" may deploy anything anywhere",
			Fix: "make a project for each team, and then: towline proj remove-source default '*'",
		}}
	}
	return fine("the project \"default\" is not wide open")
}

func admin(f Facts) []Result {
	var out []Result
	if f.Anonymous {
		out = append(out, Result{
			Level: Warning, Message: "whoever reaches the server may use it without signing in",
			Fix: "take users.anonymous.enabled out of argocd-cm",
		})
	}
	if f.AdminEnabled && f.InitialAdmin {
		out = append(out, Result{
			Level: Warning, Message: "the password that was made at the first start is still in a secret",
			Fix: fmt.Sprintf("towline account update-password, and then: kubectl delete secret %s", v1alpha1.SecretInitialAdmin),
		})
	} else if f.AdminEnabled {
		out = append(out, Result{
			Level: Warning, Message: "the local administrator may sign in, whom no login provider knows",
			Fix: "once others may sign in, set admin.enabled: \"false\" in argocd-cm",
		})
	}
	if len(out) == 0 {
		return fine("there is no local administrator")
	}
	return out
}
