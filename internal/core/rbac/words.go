package rbac

import (
	"slices"
	"strings"
)

// The resources that lines are about.
const (
	Accounts          = "accounts"
	Applications      = "applications"
	ApplicationSets   = "applicationsets"
	Certificates      = "certificates"
	Clusters          = "clusters"
	Exec              = "exec"
	Extensions        = "extensions"
	GPGKeys           = "gpgkeys"
	Logs              = "logs"
	Projects          = "projects"
	Repositories      = "repositories"
	WriteRepositories = "write-repositories"
)

// The actions. Those on an object of an application go on after a slash:
// update/GROUP/KIND/NAMESPACE/NAME and action/GROUP/KIND/NAME.
const (
	Get      = "get"
	Create   = "create"
	Update   = "update"
	Delete   = "delete"
	Sync     = "sync"
	Rollback = "rollback"
	Override = "override"
	Action   = "action"
	Invoke   = "invoke"
	Debug    = "debug"
)

// actionsOf is what can be asked of each resource.
var actionsOf = map[string][]string{
	Accounts:          {Get, Create, Update},
	Applications:      {Get, Create, Update, Delete, Sync, Rollback, Override, Action},
	ApplicationSets:   {Get, Create, Update, Delete},
	Certificates:      {Get, Create, Update, Delete},
	Clusters:          {Get, Create, Update, Delete},
	Exec:              {Create, Debug},
	Extensions:        {Invoke},
	GPGKeys:           {Get, Create, Delete},
	Logs:              {Get},
	Projects:          {Get, Create, Update, Delete},
	Repositories:      {Get, Create, Update, Delete},
	WriteRepositories: {Get, Create, Update, Delete},
}

// Resources are all resources, in order.
func Resources() []string {
	out := make([]string, 0, len(actionsOf))
	for r := range actionsOf {
		out = append(out, r)
	}
	slices.Sort(out)
	return out
}

// Actions are those of a resource; none for a resource that is not known.
func Actions(resource string) []string { return slices.Clone(actionsOf[resource]) }

// Known says whether a resource has an action, which may go on after a slash
// where it is about objects of an application.
func Known(resource, action string) bool {
	head, _, longer := strings.Cut(action, "/")
	if longer && (resource != Applications || !slices.Contains([]string{Update, Delete, Action}, head)) {
		return false
	}
	return slices.Contains(actionsOf[resource], head)
}

// InApplications says whether the objects of a resource are PROJECT/APPLICATION
// or PROJECT/NAMESPACE/APPLICATION.
func InApplications(resource string) bool {
	switch resource {
	case Applications, ApplicationSets, Logs, Exec:
		return true
	}
	return false
}

// ProjectSubject is what the tokens and the groups of a project's role are
// called in lines.
func ProjectSubject(project, role string) string { return "proj:" + project + ":" + role }

// SplitProjectSubject takes such a name apart.
func SplitProjectSubject(subject string) (project, role string, ok bool) {
	rest, ok := strings.CutPrefix(subject, "proj:")
	project, role, two := strings.Cut(rest, ":")
	if !ok || !two || strings.Contains(role, ":") {
		return "", "", false
	}
	return project, role, true
}

// projectOf is the project whose roles have a say in a question; empty is none.
func projectOf(resource, object string) string {
	switch resource {
	case Projects:
		return object
	case Applications, ApplicationSets, Repositories, Clusters, Logs, Exec:
		if project, _, ok := strings.Cut(object, "/"); ok {
			return project
		}
	}
	return ""
}
