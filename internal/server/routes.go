package server

import (
	"net/http"
	"slices"
	"strings"
)

// openRoutes are all routes that are for everybody. It is a closed list: a route that is open and not here is a mistake.
var openRoutes = []string{
	"GET /healthz",
	"GET /readyz",
	"GET /api/version",
	"GET /swagger.json",
	"GET /api/openapi.json",
	"GET /download/{file}",
	"GET /api/v1/settings",
	"GET /api/v1/session/userinfo",
	"POST /api/v1/session",
	"POST /api/webhook",
	"GET /",
	"GET /assets/{file}",
	"GET /login",
	"GET /applications",
	"GET /applications/{page...}",
	"GET /applicationsets",
	"GET /applicationsets/{page...}",
	"GET /projects",
	"GET /projects/{page...}",
	"GET /settings",
	"GET /settings/{page...}",
	"GET /user-info",
	"GET /help",
	"GET /auth/login",
	"GET /auth/callback",
	"GET /pkce/verify",
	"GET /auth/logout",
	"GET /api/dex/{path...}",
	"POST /api/dex/{path...}",
}

// exclusion is a path of Argo CD that this version does not serve, and why.
type exclusion struct {
	Path string
	Why  string
}

// excluded are the paths that Argo CD reads by and that are not here, each with the reason that the caller is told.
var excluded = []exclusion{
	{"/api/v1/write-repositories", "repositories to write to are for the source hydrator, which this version does not have"},
	{"/api/v1/write-repocreds", "credentials to write with are for the source hydrator, which this version does not have"},
	{"/api/v1/applications/*/server-side-diff", "every comparison here is the server's own; ask for managed-resources, or for plan"},
	{"/api/v1/applications/manifestsWithFiles", "manifests of local files are rendered by the towline command itself"},
	{"/api/badge", "badges are not served by this version"},
	{"/terminal", "terminals are not part of this version; use kubectl exec"},
	{"/extensions", "extensions are not part of this version"},
	{"/swagger-ui", "there is no page for the document; it is served at /swagger.json"},
}

func (e exclusion) fits(path string) bool {
	want, got := strings.Split(e.Path, "/"), strings.Split(path, "/")
	if len(got) < len(want) {
		return false
	}
	for i, w := range want {
		if w != "*" && w != got[i] {
			return false
		}
	}
	return true
}

// The parameters that many routes have.
var (
	appParams = []Param{
		{"appNamespace", "string", "namespace of the application; the control namespace without it"},
		{"project", "string", "project that the application must be in"},
	}
	resourceParams = append(slices.Clone(appParams),
		Param{"group", "string", "API group of the object"}, Param{"version", "string", "version of its kind"},
		Param{"kind", "string", "its kind"}, Param{"namespace", "string", "its namespace"},
		Param{"resourceName", "string", "its name"})
	revisionParams = append(slices.Clone(appParams),
		Param{"revision", "string", "revision instead of the application's own"},
		Param{"revisions", "array", "the same for each of several sources"},
		Param{"sourcePositions", "array", "which sources the revisions are for, counted from one"})
	sourceParams = append(slices.Clone(appParams),
		Param{"sourceIndex", "integer", "which of several sources, counted from zero"},
		Param{"versionId", "integer", "entry of the history whose sources are meant"})
	logParams = append(slices.Clone(resourceParams),
		Param{"container", "string", "container of the pod"}, Param{"follow", "boolean", "go on with what is written"},
		Param{"tailLines", "integer", "how many lines from the end"}, Param{"sinceSeconds", "integer", "how old lines may be"},
		Param{"sinceTime", "string", "the time from which on"}, Param{"untilTime", "string", "the time until which"},
		Param{"filter", "string", "text that lines must hold, or with ! before it must not"},
		Param{"matchCase", "boolean", "whether letter case counts for filter"}, Param{
			"previous", "boolean",
			"those of the container before a restart",
		})
	fieldsParam = Param{"fields", "string", "fields to leave in the answer, or with - before them to leave out"}
)

// routes is the table. There is no way to the server but these.
func (s *Server) routes() []*Route {
	return slices.Concat(s.generalRoutes(), s.peopleRoutes(), s.appRoutes(), s.ownRoutes(), s.streamRoutes(),
		s.setRoutes(), s.projectRoutes(),
		s.placeRoutes(), s.typedRoutes(), s.writeRoutes(), s.hookRoutes(), s.signOnRoutes(), s.profileRoutes(), s.pageRoutes())
}

func (s *Server) generalRoutes() []*Route {
	get := func(pattern, summary string, handle func(*Request) (any, error), out any) *Route {
		return &Route{Method: http.MethodGet, Pattern: pattern, Summary: summary, Open: true, Handle: handle, Out: out}
	}
	healthz, readyz := get("/healthz", "Whether the process lives", s.healthz, nil), get("/readyz", "Whether it can answer", s.readyz, nil)
	healthz.Probe, readyz.Probe = true, true
	signed := func(pattern, summary string, handle func(*Request) (any, error), out any) *Route {
		return &Route{
			Method: http.MethodGet, Pattern: pattern, Summary: summary, Without: "it is the same for everybody who signed in",
			Handle: handle,
			Out:    out,
		}
	}
	return []*Route{
		healthz, readyz,
		get("/api/version", "The version of the server", s.version, Version{}),
		get("/swagger.json", "This document", s.swagger, nil),
		get("/api/openapi.json", "This document", s.swagger, nil),
		get("/download/{file}", "The towline program, whatever the file is called", s.download, nil),
		get("/api/v1/settings", "The settings of the installation; more of them for those who signed in", s.settings, SettingsAnswer{}),
		signed("/api/v1/settings/plugins", "The config management plugins", s.plugins, PluginList{}),
		signed("/api/v1/notifications/services", "The services that notifications go through",
			s.noticeList(func(n Notices) []string { return n.Services }), Items[PluginName]{}),
		signed("/api/v1/notifications/templates", "The templates of notifications",
			s.noticeList(func(n Notices) []string { return n.Templates }), Items[PluginName]{}),
		signed("/api/v1/notifications/triggers", "The triggers of notifications",
			s.noticeList(func(n Notices) []string { return n.Triggers }), Items[PluginName]{}),
	}
}

func (s *Server) peopleRoutes() []*Route {
	const own = "everybody may do so with their own account; for others the rules are asked about accounts"
	return []*Route{
		{
			Method: http.MethodGet, Pattern: "/api/v1/session/userinfo", Summary: "Who the caller is", Open: true, Handle: s.userInfo,
			Out: UserInfo{},
		},
		{
			Method: http.MethodPost, Pattern: "/api/v1/session", Summary: "Sign in", Open: true, Handle: s.login,
			In: Credentials{}, Out: Session{},
			Limit: 16 << 10,
		},
		{
			Method: http.MethodDelete, Pattern: "/api/v1/session", Summary: "Sign out", Without: "it ends the caller's own session",
			Handle: s.logout, Out: Session{},
		},
		{
			Method: http.MethodGet, Pattern: "/api/v1/account", Summary: "The local accounts", Without: "each account is asked for",
			Handle: s.listAccounts, Out: Items[AccountAnswer]{},
		},
		{
			Method: http.MethodGet, Pattern: "/api/v1/account/{name}", Summary: "A local account", Without: own, Handle: s.getAccount,
			Out: AccountAnswer{},
		},
		{
			Method: http.MethodGet, Pattern: "/api/v1/account/can-i/{resource}/{action}/{subresource...}",
			Summary: "Whether the caller may do something, and by which line", Without: "it tells of the caller alone", Handle: s.canI,
			Out: CanI{},
		},
		{
			Method: http.MethodPut, Pattern: "/api/v1/account/password", Summary: "Change a password", Without: own, Handle: s.setPassword,
			In: PasswordQuery{}, Out: nothing{}, Limit: 16 << 10,
		},
		{
			Method: http.MethodPost, Pattern: "/api/v1/account/{name}/token", Summary: "Make a token", Without: own, Handle: s.createToken,
			In: TokenQuery{}, Out: Session{}, Limit: 16 << 10,
		},
		{
			Method: http.MethodDelete, Pattern: "/api/v1/account/{name}/token/{id}", Summary: "Take a token away", Without: own,
			Handle: s.deleteToken, Out: nothing{},
		},
		{
			Method: http.MethodPost, Pattern: "/api/v1/projects/{name}/roles/{role}/token", Summary: "Make a token for a role of a project",
			Resource: "projects", Verb: "update", Find: s.findProject, Handle: s.createRoleToken, In: RoleTokenQuery{}, Out: Session{},
			Limit: 16 << 10,
		},
		{
			Method: http.MethodDelete, Pattern: "/api/v1/projects/{name}/roles/{role}/token/{iat}",
			Summary: "Take a token of a role away, by the time of its issue, or by its id", Resource: "projects", Verb: "update",
			Find: s.findProject, Handle: s.deleteRoleToken, Out: nothing{}, Query: []Param{{"id", "string", "id of the token"}},
		},
	}
}

// appRoute is a route about one application.
func (s *Server) appRoute(path, summary string, handle func(*Request) (any, error), r Route) *Route {
	r.Method, r.Pattern, r.Summary, r.Handle = http.MethodGet, "/api/v1/applications/{name}"+path, summary, handle
	r.Resource, r.Verb, r.Find = "applications", "get", s.findApp
	if r.Query == nil {
		r.Query = appParams
	}
	return &r
}

func (s *Server) appRoutes() []*Route {
	logs := []Need{{"logs", "get"}}
	return []*Route{
		{
			Method: http.MethodGet, Pattern: "/api/v1/applications", Summary: "The applications that the caller may see",
			Without: "each application is asked for", Handle: s.listing, Out: List[Application]{},
			Query: []Param{
				{"projects", "array", "projects that they must be in"},
				{"selector", "string", "labels that they must have"},
				{"repo", "string", "repository that they must use"},
				{"name", "string", "their name"},
				{"appNamespace", "string", "their namespace"},
				{"resourceVersion", "string", "taken and not needed"},
				fieldsParam,
			},
		},
		s.appRoute("", "An application; refresh has it looked at first", s.getApp, Route{
			Out: Application{}, Query: append(slices.Clone(appParams), Param{"refresh", "string", "normal or hard"}, fieldsParam),
		}),
		s.appRoute("/resource-tree", "The objects of an application and what came from them", s.resourceTree,
			Route{Out: Tree{}, Live: true}),
		s.appRoute("/managed-resources", "The objects as Git has them and as they are", s.managedResources, Route{
			Out: Items[ManagedResource]{}, Query: resourceParams, Live: true,
		}),
		s.appRoute("/manifests", "What the sources render to", s.manifests, Route{Out: Manifests{}, Query: revisionParams, Live: true}),
		s.appRoute("/resource", "One live object", s.resource, Route{Out: Resource{}, Query: resourceParams, Live: true}),
		s.appRoute("/resource/actions", "What can be done with an object", s.actions, Route{
			Out:   Actions{},
			Query: resourceParams, Live: true,
		}),
		s.appRoute("/resource/links", "The installation's links for an object", s.resourceLinks, Route{
			Out: Items[Link]{}, Query: resourceParams, Live: true,
		}),
		s.appRoute("/links", "The installation's links for an application", s.appLinks, Route{Out: Items[Link]{}}),
		s.appRoute("/events", "The events about an application or one of its objects", s.appEvents, Route{
			Out: List[Event]{}, Live: true, Query: append(slices.Clone(appParams), Param{"resourceName", "string", "name of an object"},
				Param{"resourceNamespace", "string", "its namespace"}, Param{"resourceUID", "string", "its UID"}),
		}),
		s.appRoute("/logs", "What the pods write, as lines of JSON", s.logs, Route{
			Out: LogEntry{}, Also: logs, Live: true, Query: append(slices.Clone(logParams), Param{"podName", "string", "name of a pod"}),
		}),
		s.appRoute("/pods/{podName}/logs", "What a pod writes, as lines of JSON", s.logs, Route{
			Out: LogEntry{}, Also: logs, Live: true, Query: logParams,
		}),
		s.appRoute("/syncwindows", "What the sync windows mean for an application", s.appWindows, Route{Out: AppWindows{}, Live: true}),
		s.appRoute("/revisions/{revision}/metadata", "Author, date, message and tags of a commit", s.revisionMetadata, Route{
			Out: RevisionMetadata{}, Query: sourceParams, Live: true,
		}),
		s.appRoute("/revisions/{revision}/chartdetails", "What a chart says of itself", s.chartDetails, Route{
			Out: ChartDetails{}, Query: sourceParams, Live: true,
		}),
		s.appRoute("/revisions/{revision}/ocimetadata", "What an artifact says of itself", s.ociMetadata, Route{
			Out: OCIMetadata{}, Query: sourceParams, Live: true,
		}),
	}
}

// ownRoutes are those that Argo CD does not have.
func (s *Server) ownRoutes() []*Route {
	return []*Route{
		s.appRoute("/plan", "What a sync would do, in waves, with reasons", s.plan, Route{
			Out: Plan{}, Live: true, Query: append(slices.Clone(revisionParams), Param{"all", "boolean", "also what is unchanged"}),
		}),
		s.appRoute("/explain", "What differs, field by field: who holds it, and the rule that would leave it to them", s.explain, Route{
			Out: Explanation{}, Live: true, Query: append(slices.Clone(resourceParams), Param{
				"revision", "string",
				"revision instead of its own",
			}),
		}),
		s.appRoute("/drift", "What somebody changed in the cluster and was set right", s.drift, Route{Out: Items[DriftEpisode]{}}),
		s.appRoute("/timeline", "The running sync or the last one, and those before", s.timeline, Route{Out: Timeline{}}),
		s.appRoute("/why", "Why the caller can do something with the application, or can not", s.why, Route{
			Out: Why{}, Live: true,
			Query: append(slices.Clone(appParams), Param{
				"action", "string",
				"an action of the rules, such as sync; autosync is the controller's",
			}),
		}),
	}
}

func (s *Server) streamRoutes() []*Route {
	stream := func(pattern, summary string, h http.Handler) *Route {
		return &Route{
			Method: http.MethodGet, Pattern: pattern, Summary: summary, Without: "each event is asked for", Out: nothing{},
			Handle: func(*Request) (any, error) {
				if h == nil {
					return nil, absent("this stream")
				}
				return h, nil
			},
		}
	}
	tree := stream("/api/v1/stream/applications/{name}/resource-tree",
		"The resource tree of an application, again and again", s.Streams.Tree)
	tree.Resource, tree.Verb, tree.Find, tree.Without, tree.Live = "applications", "get", s.findApp, "", true
	return []*Route{
		stream("/api/v1/stream/applications", "Changes of applications", s.Streams.Applications),
		stream("/api/v1/stream/applicationsets", "Changes of ApplicationSets", s.Streams.Sets),
		stream("/api/v1/stream/events", "Changes of all that a page shows, in one stream", s.Streams.Events),
		tree,
	}
}

// listing answers lists of applications.
func (s *Server) listing(req *Request) (any, error) {
	if s.Listing != nil {
		return compressed{s.Listing}, nil
	}
	return s.listApps(req)
}

func (s *Server) setRoutes() []*Route {
	one := func(path, summary string, handle func(*Request) (any, error), out any) *Route {
		return &Route{
			Method: http.MethodGet, Pattern: "/api/v1/applicationsets/{name}" + path, Summary: summary, Handle: handle, Out: out,
			Resource: "applicationsets", Verb: "get", Find: s.findSet, Query: []Param{{
				"appsetNamespace", "string",
				"namespace of the set",
			}},
		}
	}
	return []*Route{
		{
			Method: http.MethodGet, Pattern: "/api/v1/applicationsets", Summary: "The ApplicationSets that the caller may see",
			Without: "each set is asked for", Handle: s.listSets, Out: List[ApplicationSet]{},
			Query: []Param{
				{"projects", "array", "projects that they must be in"},
				{"selector", "string", "labels that they must have"},
				fieldsParam,
			},
		},
		one("", "An ApplicationSet", s.getSet, ApplicationSet{}),
		one("/resource-tree", "A set and the applications that it made", s.setTree, Tree{}),
		one("/events", "The events about a set", s.setEvents, List[Event]{}),
		{
			Method: http.MethodPost, Pattern: "/api/v1/applicationsets/generate", Summary: "The applications that a set would make",
			Resource: "applicationsets", Verb: "create", Find: s.findGiven, Handle: s.generate, In: GenerateQuery{},
			Out: Generated{}, Live: true, Reads: true,
		},
	}
}

func (s *Server) projectRoutes() []*Route {
	one := func(path, summary string, handle func(*Request) (any, error), out any) *Route {
		return &Route{
			Method: http.MethodGet, Pattern: "/api/v1/projects/{name}" + path, Summary: summary, Handle: handle, Out: out,
			Resource: "projects", Verb: "get", Find: s.findProject,
		}
	}
	return []*Route{
		{
			Method: http.MethodGet, Pattern: "/api/v1/projects", Summary: "The projects that the caller may see",
			Without: "each project is asked for",
			Handle:  s.listProjects, Out: List[Project]{}, Query: []Param{{"name", "string", "their name"}, fieldsParam},
		},
		one("", "A project", s.getProject, Project{}),
		one("/detailed", "A project with its global projects, repositories and clusters", s.detailedProject, DetailedProject{}),
		one("/events", "The events about a project", s.projectEvents, List[Event]{}),
		one("/globalprojects", "The projects whose rules it gets too", s.globalProjects, Items[Project]{}),
		one("/syncwindows", "Its sync windows that are open", s.projectWindows, Windows{}),
		one("/links", "The installation's links for a project", s.projectLinks, Items[Link]{}),
	}
}

func (s *Server) placeRoutes() []*Route {
	list := func(pattern, summary string, handle func(*Request) (any, error), out any) *Route {
		return &Route{
			Method: http.MethodGet, Pattern: pattern, Summary: summary, Without: "each entry is asked for", Handle: handle, Out: out,
		}
	}
	inside := func(path, summary string, handle func(*Request) (any, error), out any) *Route {
		return &Route{
			Method: http.MethodGet, Pattern: "/api/v1/repositories/{repo}" + path, Summary: summary, Handle: handle, Out: out, Live: true,
			Resource: "repositories", Verb: "get", Find: s.findContent,
			Query: []Param{{"revision", "string", "revision to look at"}, {"appProject", "string", "project whose credentials are used"}},
		}
	}
	details := inside("/appdetails", "What a folder or chart of a repository is", s.appDetails, AppDetails{})
	details.Method, details.In, details.Reads = http.MethodPost, AppDetailsQuery{}, true
	clusters := list("/api/v1/clusters", "The clusters that the caller may see", s.listClusters, List[Cluster]{})
	clusters.Live = true
	return []*Route{
		clusters,
		{
			Method: http.MethodGet, Pattern: "/api/v1/clusters/{id}", Summary: "A cluster, by its server or with id.type=name by its name",
			Resource: "clusters", Verb: "get", Find: s.findCluster, Handle: s.getCluster, Out: Cluster{}, Live: true,
			Query: []Param{{"id.type", "string", "url, name, url_escaped or name_escaped"}},
		},
		list("/api/v1/repositories", "The repositories that the caller may see", s.listRepositories, List[Repository]{}),
		list("/api/v1/repocreds", "The entries for many repositories", s.listRepoCreds, List[RepoCreds]{}),
		list("/api/v1/certificates", "The keys and certificates that are trusted", s.certificates, List[Certificate]{}),
		list("/api/v1/gpgkeys", "The keys that commits may be signed with", s.gpgKeys, List[GPGKey]{}),
		{
			Method: http.MethodGet, Pattern: "/api/v1/gpgkeys/{keyID}", Summary: "A key that commits may be signed with",
			Resource: "gpgkeys",
			Verb:     "get", Find: s.findGPGKey, Handle: s.gpgKey, Out: GPGKey{},
		},
		{
			Method: http.MethodGet, Pattern: "/api/v1/repositories/{repo}", Summary: "A repository", Resource: "repositories", Verb: "get",
			Find: s.findRepository, Handle: s.getRepository, Out: Repository{},
			Query: []Param{{"appProject", "string", "project whose entry is meant"}},
		},
		inside("/refs", "The branches and tags of a repository", s.refs, Refs{}),
		inside("/oci-tags", "The tags of a repository of a registry", s.ociTags, Refs{}),
		inside("/apps", "The folders that a tool knows by their files", s.repoApps, Items[RepoApp]{}),
		inside("/helmcharts", "The charts of a Helm repository", s.helmCharts, Items[HelmChart]{}),
		details,
	}
}
