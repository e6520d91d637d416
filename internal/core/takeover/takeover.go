// Package takeover decides how Towline takes the place of a running Argo CD and
// gives it back: which workloads to stop and start, what the Applications there
// would feel of it, and whether two controllers act at once. It must not read or
// write a cluster.
package takeover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Component is a part of Argo CD that acts by itself.
type Component string

// The components that are stopped. The others answer when asked, and may stay.
const (
	Applications  Component = "application-controller"
	Sets          Component = "applicationset-controller"
	Notifications Component = "notifications-controller"
)

// Workload is a Deployment or StatefulSet of the control namespace.
type Workload struct {
	Kind      string            `json:"kind"`
	Namespace string            `json:"namespace,omitempty"`
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels,omitempty"`
	// Replicas is how many are wanted, and Running how many there are.
	Replicas int32 `json:"replicas"`
	Running  int32 `json:"running,omitempty"`
	// Before is how many were wanted before a takeover; nil where nobody remembers.
	Before *int32 `json:"before,omitempty"`
	// Owner is the object that decides about this one, if there is one.
	Owner string   `json:"owner,omitempty"`
	Image string   `json:"image,omitempty"`
	Args  []string `json:"args,omitempty"`
}

// String is the workload in messages.
func (w Workload) String() string { return w.Kind + " " + w.Name }

// Component is which part of Argo CD a workload is; empty for all others. Charts
// give other names and keep the label, people's own manifests the other way round.
func (w Workload) Component() Component {
	if w.Ours() {
		return ""
	}
	for _, c := range []Component{Applications, Sets, Notifications} {
		if w.Labels["app.kubernetes.io/component"] == string(c) || strings.HasSuffix(w.Name, "argocd-"+string(c)) {
			return c
		}
	}
	return ""
}

// Ours says that a workload is Towline.
func (w Workload) Ours() bool {
	return w.Labels["app.kubernetes.io/name"] == Name || w.Name == Name
}

// Name is what Towline's own workload is called.
const Name = "towline"

// Rivals are the workloads that do what Towline does, and run or are about to:
// one that was stopped acts until its pods are gone. Notifications are sent twice
// at worst; nothing is deployed by them.
func Rivals(all []Workload) []Workload {
	var out []Workload
	for _, w := range all {
		if c := w.Component(); (c == Applications || c == Sets) && w.Replicas+w.Running > 0 {
			out = append(out, w)
		}
	}
	slices.SortFunc(out, order)
	return out
}

func order(a, b Workload) int {
	return cmp.Or(cmp.Compare(a.Component(), b.Component()), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// Passive is why this process does nothing while others act; empty if none do.
func Passive(rivals []Workload) string {
	if len(rivals) == 0 {
		return ""
	}
	var names []string
	for _, w := range rivals {
		if w.Replicas == 0 {
			names = append(names, fmt.Sprintf("%s (still ending)", w))
			continue
		}
		names = append(names, fmt.Sprintf("%s (replicas: %d)", w, w.Replicas))
	}
	return fmt.Sprintf("Argo CD acts on the same Applications: %s; \"towline migrate takeover\" stops it, or scale it to 0",
		strings.Join(names, ", "))
}

// Scale is a change of one workload.
type Scale struct {
	Workload Workload `json:"workload"`
	To       int32    `json:"to"`
	// Remember is what is written down before, and Forget takes that away.
	Remember *int32 `json:"remember,omitempty"`
	Forget   bool   `json:"forget,omitempty"`
}

// String is the change in words.
func (s Scale) String() string {
	return fmt.Sprintf("%s: %d -> %d", s.Workload, s.Workload.Replicas, s.To)
}

// Steps are what to do, in this order: those who act are stopped and gone before
// anybody else begins.
type Steps struct {
	Stop  []Scale `json:"stop,omitempty"`
	Start []Scale `json:"start,omitempty"`
	// Obstacles are why it cannot be done, each with the way out.
	Obstacles []string `json:"obstacles,omitempty"`
	// Notes are what a person has to do or to know.
	Notes []string `json:"notes,omitempty"`
}

// Take is how Towline takes over. It can be asked again after having been
// interrupted: what was remembered stays.
func Take(all []Workload) Steps {
	var out Steps
	found := false
	for _, w := range sorted(all) {
		if w.Component() == "" {
			continue
		}
		found = true
		if w.Owner != "" && w.Replicas > 0 {
			out.Obstacles = append(out.Obstacles, fmt.Sprintf("%s belongs to %s, which would start it again; stop it there", w, w.Owner))
			continue
		}
		if w.Replicas > 0 {
			out.Stop = append(out.Stop, Scale{Workload: w, Remember: &w.Replicas})
		}
	}
	if !found {
		out.Obstacles = append(out.Obstacles, "there is no controller of Argo CD in this namespace; --namespace is where it is installed")
	}
	ours := mine(all)
	if len(ours) == 0 {
		out.Notes = append(out.Notes, "Towline is not installed here: install it into the same namespace, or run \"towline run\" with it")
	}
	for _, w := range ours {
		if w.Replicas == 0 {
			out.Start = append(out.Start, Scale{Workload: w, To: remembered(w), Forget: true})
		}
	}
	return out
}

// Back is how Argo CD gets its place again.
func Back(all []Workload) Steps {
	var out Steps
	for _, w := range mine(all) {
		if w.Replicas > 0 {
			out.Stop = append(out.Stop, Scale{Workload: w, Remember: &w.Replicas})
		}
	}
	if len(mine(all)) == 0 {
		out.Notes = append(out.Notes, "Towline is not installed here as a Deployment; one that runs elsewhere goes passive by itself")
	}
	known := false
	for _, w := range sorted(all) {
		switch {
		case w.Component() == "":
		case w.Before != nil && w.Replicas == 0:
			known = true
			out.Start = append(out.Start, Scale{Workload: w, To: *w.Before, Forget: true})
		case w.Before != nil || w.Replicas > 0:
			known = true
		default:
			out.Notes = append(out.Notes, fmt.Sprintf("%s was not stopped by a takeover and stays at 0", w))
		}
	}
	if !known {
		out.Obstacles = append(out.Obstacles,
			"no controller of Argo CD here was stopped by a takeover; \"kubectl scale\" starts one whose replicas nobody remembers")
	}
	return out
}

func sorted(all []Workload) []Workload {
	out := slices.Clone(all)
	slices.SortFunc(out, order)
	return out
}

func mine(all []Workload) []Workload {
	return slices.DeleteFunc(sorted(all), func(w Workload) bool { return !w.Ours() })
}

func remembered(w Workload) int32 {
	if w.Before != nil && *w.Before > 0 {
		return *w.Before
	}
	return 1
}

// Profile is what argocd-cm should say of the profile after a takeover, and
// whether that is a change. One that somebody chose stays.
func Profile(data map[string]string) (value string, change bool) {
	if v := data[v1alpha1.KeyProfile]; v != "" {
		return v, false
	}
	return v1alpha1.ProfileArgoCD, true
}
