package server

import (
	"net/http"
	"slices"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// writeRoutes are those by which something is changed. All of them are for whoever leads: it knows the clusters, and of
// several replicas one writes.
func (s *Server) writeRoutes() []*Route {
	out := slices.Concat(s.appWrites(), s.objectWrites(), s.projectWrites(), s.setWrites(), s.clusterWrites(), s.repositoryWrites(),
		s.trustWrites())
	for _, r := range out {
		r.Live = true
	}
	return out
}

var (
	upsertParam   = Param{"upsert", "boolean", "change one that is there"}
	appDryParam   = Param{"dryRun", "boolean", "ask only whether it could be"}
	validateParam = Param{"validate", "boolean", "taken and not needed: what is stored is always looked at first"}
)

// mostApp is how large the body of an application may be: no more could be stored.
const mostApp = 2 << 20

func (s *Server) appWrites() []*Route {
	one := func(method, path, summary string, handle func(*Request) (any, error), r Route) *Route {
		r.Method, r.Pattern, r.Summary, r.Handle = method, "/api/v1/applications/{name}"+path, summary, handle
		r.Resource, r.Limit = "applications", mostApp
		if r.Find == nil {
			r.Find = s.findApp
		}
		if r.Query == nil {
			r.Query = appParams
		}
		return &r
	}
	return []*Route{
		{
			Method: http.MethodPost, Pattern: "/api/v1/applications", Summary: "Make an application, or with upsert change one",
			Resource: "applications", Verb: "create", Find: s.findGivenApp, Handle: s.createApp, In: Application{}, Out: Application{},
			Query: []Param{upsertParam, validateParam, appDryParam}, Limit: mostApp,
		},
		one(http.MethodPut, "", "Make an application what the body says", s.updateApp, Route{
			Verb: "update", Find: s.findPutApp, In: Application{}, Out: Application{},
			Query: append(slices.Clone(appParams), validateParam, appDryParam),
		}),
		one(http.MethodPut, "/spec", "Make the spec of an application what the body says", s.updateSpec, Route{
			Verb: "update", In: v1alpha1.ApplicationSpec{}, Out: v1alpha1.ApplicationSpec{},
			Query: append(slices.Clone(appParams), validateParam),
		}),
		one(http.MethodPatch, "", "Change an application by a patch", s.patchApp, Route{
			Verb: "update", Finer: s.patchVerbs, Find: s.findAskedApp, In: PatchQuery{}, Out: Application{},
		}),
		one(http.MethodDelete, "", "Delete an application", s.deleteApp, Route{
			Verb: "delete", Out: nothing{}, Query: append(slices.Clone(appParams),
				Param{"cascade", "boolean", "whether its objects go too; they do without it"},
				Param{"propagationPolicy", "string", "foreground or background"},
				Param{"uid", "string", "the very one that is meant; without cascade its finalizers stay as they are"}),
		}),
		one(http.MethodPost, "/sync", "Sync an application", s.sync, Route{
			Verb: "sync", Finer: s.syncVerbs, Find: s.findAskedApp, In: SyncQuery{}, Out: Application{},
		}),
		one(http.MethodPost, "/rollback", "Go back to what was deployed before", s.rollback, Route{
			Verb: "sync", Finer: s.rollbackVerbs, Find: s.findAskedApp, In: RollbackQuery{}, Out: Application{},
		}),
		one(http.MethodDelete, "/operation", "End the operation that runs", s.terminate, Route{Verb: "sync", Out: nothing{}}),
	}
}

func (s *Server) objectWrites() []*Route {
	one := func(method, path, summary string, handle func(*Request) (any, error), r Route) *Route {
		r.Method, r.Pattern, r.Summary, r.Handle = method, "/api/v1/applications/{name}/resource"+path, summary, handle
		r.Resource, r.Limit = "applications", mostApp
		if r.Find == nil {
			r.Find = s.findApp
		}
		if r.Query == nil {
			r.Query = resourceParams
		}
		return &r
	}
	return []*Route{
		one(http.MethodPost, "", "Change a live object by a patch, which the body is as a text", s.patchResource, Route{
			Verb: "update", Finer: objectVerb("update"), In: "", Out: Resource{},
			Query: append(slices.Clone(resourceParams), Param{"patchType", "string", mergePatchType + " or " + jsonPatchType}),
		}),
		one(http.MethodDelete, "", "Delete a live object", s.deleteResource, Route{
			Verb: "delete", Finer: objectVerb("delete"), Out: nothing{}, Query: append(slices.Clone(resourceParams),
				Param{"force", "boolean", "give it no time to end"}, Param{"orphan", "boolean", "leave what it owns"}),
		}),
		one(http.MethodPost, "/actions", "Do something with a live object; the body is the name of the action", s.runAction, Route{
			Verb: "action", Finer: s.actionVerbs, Find: s.findActedApp, In: "", Out: nothing{},
		}),
		one(http.MethodPost, "/actions/v2", "Do something with a live object", s.runAction, Route{
			Verb: "action", Finer: s.actionVerbs, Find: s.findActedApp, In: ActionQuery{}, Out: nothing{}, Query: appParams,
		}),
	}
}

func (s *Server) projectWrites() []*Route {
	return []*Route{
		{
			Method: http.MethodPost, Pattern: "/api/v1/projects", Summary: "Make a project, or with upsert change one",
			Resource: "projects", Verb: "create", Find: s.findGivenProject, Handle: s.createProject, In: ProjectQuery{}, Out: Project{},
		},
		{
			Method: http.MethodPut, Pattern: "/api/v1/projects/{name}", Summary: "Make a project what the body says", Resource: "projects",
			Verb: "update", Find: s.findProject, Handle: s.updateProject, In: ProjectQuery{}, Out: Project{},
		},
		{
			Method: http.MethodDelete, Pattern: "/api/v1/projects/{name}", Summary: "Delete a project that has no applications",
			Resource: "projects", Verb: "delete", Find: s.findProject, Handle: s.deleteProject, Out: nothing{},
		},
	}
}

func (s *Server) setWrites() []*Route {
	return []*Route{
		{
			Method: http.MethodPost, Pattern: "/api/v1/applicationsets", Summary: "Make an ApplicationSet, or with upsert change one",
			Resource: "applicationsets", Verb: "create", Find: s.findGivenSet, Handle: s.createSet, In: ApplicationSet{},
			Out:   ApplicationSet{},
			Query: []Param{upsertParam, {"dryRun", "boolean", "ask only whether it could be"}},
		},
		{
			Method: http.MethodDelete, Pattern: "/api/v1/applicationsets/{name}", Summary: "Delete an ApplicationSet",
			Resource: "applicationsets", Verb: "delete", Find: s.findSet, Handle: s.deleteSet, Out: nothing{},
			Query: []Param{{"appsetNamespace", "string", "namespace of the set"}},
		},
	}
}

func (s *Server) clusterWrites() []*Route {
	one := func(method, path, summary, verb string, handle func(*Request) (any, error)) *Route {
		return &Route{
			Method: method, Pattern: "/api/v1/clusters/{id}" + path, Summary: summary, Handle: handle, Resource: "clusters", Verb: verb,
			Find: s.findCluster, Query: []Param{{"id.type", "string", "url, name, url_escaped or name_escaped"}}, Out: Cluster{},
		}
	}
	update := one(http.MethodPut, "", "Change a cluster; a login that is not sent stays", "update", s.updateCluster)
	update.In = GivenCluster{}
	update.Query = append(update.Query, Param{"updatedFields", "array", "the fields that change; all without it"})
	remove := one(http.MethodDelete, "", "Take a cluster off the list", "delete", s.deleteCluster)
	remove.Out = nothing{}
	return []*Route{
		{
			Method: http.MethodPost, Pattern: "/api/v1/clusters", Summary: "Add a cluster, after signing in to it", Resource: "clusters",
			Verb: "create", Find: s.findGivenCluster, Handle: s.createCluster, In: GivenCluster{}, Out: Cluster{},
			Query: []Param{upsertParam},
		},
		update, remove,
		one(http.MethodPost, "/rotate-auth", "Not served: the answer says how a new login is made", "update", s.rotateAuth),
		one(http.MethodPost, "/invalidate-cache", "Have a cluster read anew", "update", s.invalidateCache),
	}
}

func (s *Server) repositoryWrites() []*Route {
	type handler = func(*Request) (any, error)
	type finder = func(*Request) (Target, error)
	one := func(method, pattern, summary, verb string, find finder, handle handler) *Route {
		r := &Route{
			Method: method, Pattern: pattern, Summary: summary, Resource: "repositories", Verb: verb, Find: find, Handle: handle,
			In: GivenRepository{}, Out: Repository{},
		}
		switch method {
		case http.MethodDelete:
			r.In, r.Out = nil, nothing{}
		case http.MethodPost:
			r.Query = []Param{upsertParam}
		}
		return r
	}
	project := []Param{{"appProject", "string", "project whose entry is meant"}}
	repo, creds := "/api/v1/repositories/{repo}", "/api/v1/repocreds/{url}"
	update := one(http.MethodPut, repo, "Change a repository; a login that is not sent stays", "update", s.findPutRepository,
		s.updateRepository)
	remove := one(http.MethodDelete, repo, "Take a repository off the list", "delete", s.findDropRepository, s.deleteRepository)
	update.Query, remove.Query = project, project
	try := one(http.MethodPost, repo+"/validate", "Sign in to a repository, and write nothing down", "create", s.findTried,
		s.validateRepository)
	try.Query, try.Out, try.Reads = []Param{{"type", "string", "git, helm or oci"}, {"project", "string", "its project"}}, nothing{}, true
	return []*Route{
		one(http.MethodPost, "/api/v1/repositories", "Add a repository, after signing in to it", "create", s.findGivenRepository,
			s.createRepository),
		update, remove, try,
		one(http.MethodPost, "/api/v1/repocreds", "Add an entry for many repositories", "create", s.findGivenRepository, s.createRepoCreds),
		one(http.MethodPut, creds, "Change an entry for many repositories; a login that is not sent stays", "update", s.findPutCreds,
			s.updateRepoCreds),
		one(http.MethodDelete, creds, "Take an entry for many repositories off the list", "delete", s.findDropCreds, s.deleteRepoCreds),
	}
}

func (s *Server) trustWrites() []*Route {
	return []*Route{
		{
			Method: http.MethodPost, Pattern: "/api/v1/certificates", Summary: "Trust hosts", Without: "each host is asked for",
			Handle: s.createCertificates, In: Items[GivenCertificate]{}, Out: List[Certificate]{}, Query: []Param{upsertParam},
		},
		{
			Method: http.MethodDelete, Pattern: "/api/v1/certificates", Summary: "Trust hosts no more", Without: "each host is asked for",
			Handle: s.deleteCertificates, Out: List[Certificate]{}, Query: []Param{
				{"hostNamePattern", "string", "the hosts; * fits anything"},
				{"certType", "string", "ssh or https"},
				{"certSubType", "string", "type of the key"},
			},
		},
		{
			Method: http.MethodPost, Pattern: "/api/v1/gpgkeys", Summary: "Trust keys that commits may be signed with",
			Without: "each key is asked for", Handle: s.createGPGKeys, In: GivenKey{}, Out: CreatedKeys{}, Query: []Param{upsertParam},
		},
		{
			Method: http.MethodDelete, Pattern: "/api/v1/gpgkeys", Summary: "Trust a key no more", Resource: "gpgkeys", Verb: "delete",
			Find: s.findDropKey, Handle: s.deleteGPGKey, Out: nothing{}, Query: []Param{{"keyID", "string", "the key"}},
		},
	}
}
