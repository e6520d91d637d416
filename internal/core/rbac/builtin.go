package rbac

import "strings"

// builtinName is the document of the roles that are always there.
const builtinName = "built-in"

// Builtin is what role:readonly and role:admin may do, and that the account
// admin has the latter. They are globs in either mode.
func Builtin() Document {
	var out strings.Builder
	grant := func(role, resource string, actions ...string) {
		object := "*"
		if InApplications(resource) {
			object = "*/*"
		}
		for _, action := range actions {
			out.WriteString(strings.Join([]string{"p", role, resource, action, object, "allow"}, ", ") + "\n")
		}
	}
	const readonly, admin = "role:readonly", "role:admin"
	for _, resource := range Resources() {
		if Known(resource, Get) {
			grant(readonly, resource, Get)
		}
	}
	change := []string{Create, Update, Delete}
	grant(admin, Applications, Create, Update, Update+"/*", Delete, Delete+"/*", Sync, Rollback, Override, Action+"/*")
	for _, resource := range []string{ApplicationSets, Certificates, Clusters, Repositories, WriteRepositories, Projects} {
		grant(admin, resource, change...)
	}
	grant(admin, Accounts, Update)
	grant(admin, GPGKeys, Create, Delete)
	grant(admin, Exec, Create, Debug)
	out.WriteString("g, " + admin + ", " + readonly + "\n")
	out.WriteString("g, admin, " + admin + "\n")
	return Document{Name: builtinName, Text: out.String()}
}
