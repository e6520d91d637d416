package forgetest

import (
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
)

type object = map[string]any

func (f *Forge) repo(found func(Repo) bool) (Repo, bool) {
	at := slices.IndexFunc(f.Repos, found)
	if at < 0 {
		return Repo{}, false
	}
	return f.Repos[at], true
}

func (r Repo) group() string {
	if r.Group != "" {
		return r.Group
	}
	return Owner
}

// has says whether a branch has a file or a folder.
func (r Repo) has(branch, name string) bool {
	return slices.ContainsFunc(r.Paths[branch], func(p string) bool { return p == name || strings.HasPrefix(p, name+"/") })
}

// branches are in the order of their names.
func (r Repo) branches(show func(name, sha string) any) []any {
	names := make([]string, 0, len(r.Commits))
	for name := range r.Commits {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []any
	for _, name := range names {
		out = append(out, show(name, r.Commits[name]))
	}
	return out
}

// hub is the API of GitHub, and that of Gitea, which is made after it.
func (f *Forge) hub(r *http.Request, names []string) Answer {
	if len(names) == 3 && names[0] == "orgs" && names[1] == Owner && names[2] == "repos" {
		var all []any
		for _, repo := range f.Repos {
			if repo.Hidden && f.Kind == Gitea {
				all = append(all, nil) // counted, and left out of its page
			} else if !repo.Hidden {
				all = append(all, f.hubRepo(repo))
			}
		}
		return f.list(r, all, false)
	}
	if len(names) < 3 || names[0] != "repos" || names[1] != Owner {
		return refuse(http.StatusNotFound, "Not Found")
	}
	repo, ok := f.repo(func(one Repo) bool { return one.Name == names[2] })
	if !ok {
		return refuse(http.StatusNotFound, "Not Found")
	}
	if len(names) == 3 {
		return one(f.hubRepo(repo))
	}
	switch rest := names[4:]; names[3] {
	case "pulls":
		return f.hubPulls(r, repo, rest)
	case "branches":
		return f.hubBranches(r, repo, rest)
	case "contents":
		if repo.has(r.URL.Query().Get("ref"), strings.Join(rest, "/")) {
			return one([]any{})
		}
	case "labels":
		var all []any
		for i, label := range repo.Labels {
			all = append(all, object{"id": i + 1, "name": label})
		}
		return f.list(r, all, true)
	}
	return refuse(http.StatusNotFound, "Not Found")
}

func (f *Forge) hubRepo(r Repo) object {
	at := "forge.example.com"
	out := object{
		"id": r.ID, "name": r.Name, "owner": object{"login": Owner}, "default_branch": r.Default, "archived": r.Archived,
		"ssh_url": "git@" + at + ":" + Owner + "/" + r.Name + ".git", "clone_url": "https://" + at + "/" + Owner + "/" + r.Name + ".git",
		"html_url": "https://" + at + "/" + Owner + "/" + r.Name, "empty": len(r.Commits) == 0, "private": true,
	}
	if f.Kind == GitHub {
		out["topics"] = r.Labels
	}
	return out
}

func (f *Forge) hubPulls(r *http.Request, repo Repo, rest []string) Answer {
	var all []any
	for _, p := range repo.Pulls {
		shown := hubPull(p)
		if len(rest) == 1 && rest[0] == strconv.FormatInt(p.Number, 10) {
			return one(shown)
		}
		if p.State == "" || p.State == "open" {
			all = append(all, shown)
		}
	}
	if len(rest) > 0 {
		return refuse(http.StatusNotFound, "Not Found")
	}
	return f.list(r, all, false)
}

func hubPull(p Pull) object {
	var labels []any
	for i, label := range p.Labels {
		labels = append(labels, object{"id": i + 1, "name": label, "color": "ededed"})
	}
	state := p.State
	if state == "" {
		state = "open"
	}
	return object{
		"number": p.Number, "title": p.Title, "state": state, "head": object{"ref": p.Branch, "sha": p.SHA, "repo": nil},
		"base": object{"ref": p.Target}, "labels": labels, "user": object{"login": p.Author, "id": 1}, "body": strings.Repeat("text ", 100),
	}
}

func (f *Forge) hubBranches(r *http.Request, repo Repo, rest []string) Answer {
	show := func(name, sha string) any {
		commit := object{"sha": sha}
		if f.Kind == Gitea {
			commit = object{"id": sha}
		}
		return object{"name": name, "commit": commit, "protected": false}
	}
	if len(rest) == 0 {
		return f.list(r, repo.branches(show), false)
	}
	if sha, ok := repo.Commits[rest[0]]; ok {
		return one(show(rest[0], sha))
	}
	return refuse(http.StatusNotFound, "Branch not found")
}

// gitlab is the API of GitLab.
func (f *Forge) gitlab(r *http.Request, names []string) Answer {
	if len(names) == 3 && names[0] == "groups" && names[2] == "projects" {
		return f.projects(r, names[1])
	}
	if len(names) < 2 || names[0] != "projects" {
		return refuse(http.StatusNotFound, "404 Not Found")
	}
	repo, ok := f.repo(func(one Repo) bool {
		return strconv.FormatInt(one.ID, 10) == names[1] || one.group()+"/"+one.Name == names[1]
	})
	if !ok {
		return refuse(http.StatusNotFound, "404 Project Not Found")
	}
	switch rest := names[2:]; {
	case len(rest) == 0:
		return one(project(repo))
	case rest[0] == "merge_requests":
		return f.mergeRequests(r, repo, rest[1:])
	case len(rest) > 1 && rest[1] == "branches":
		return f.projectBranches(r, repo, rest[2:])
	case len(rest) > 1 && rest[1] == "tree":
		return f.tree(r, repo)
	}
	return refuse(http.StatusNotFound, "404 Not Found")
}

func (f *Forge) projects(r *http.Request, group string) Answer {
	if group != Owner && group != "7" {
		return refuse(http.StatusNotFound, "404 Group Not Found")
	}
	query := r.URL.Query()
	var all []any
	for _, repo := range f.Repos {
		switch {
		case repo.group() != Owner && !repo.Shared && query.Get("include_subgroups") != "true":
		case repo.Shared && query.Get("with_shared") != "true":
		case query.Get("topic") != "" && !slices.Contains(repo.Labels, query.Get("topic")):
		default:
			all = append(all, project(repo))
		}
	}
	return f.list(r, all, false)
}

func project(r Repo) object {
	at := "forge.example.com"
	return object{
		"id": r.ID, "path": r.Name, "name": "The " + r.Name, "namespace": object{"full_path": r.group()}, "default_branch": r.Default,
		"ssh_url_to_repo": "git@" + at + ":" + r.group() + "/" + r.Name + ".git", "topics": r.Labels, "archived": r.Archived,
		"http_url_to_repo": "https://" + at + "/" + r.group() + "/" + r.Name + ".git",
	}
}

func (f *Forge) mergeRequests(r *http.Request, repo Repo, rest []string) Answer {
	query := r.URL.Query()
	var all []any
	for _, p := range repo.Pulls {
		state := p.State
		if state == "" || state == "open" {
			state = "opened"
		}
		shown := object{
			"id": p.Number + 1000, "iid": p.Number, "title": p.Title, "state": state, "source_branch": p.Branch, "target_branch": p.Target,
			"sha": p.SHA, "labels": append([]string{}, p.Labels...), "author": object{"username": p.Author},
		}
		if len(rest) == 1 && rest[0] == strconv.FormatInt(p.Number, 10) {
			return one(shown)
		}
		missing := func(label string) bool { return label != "" && !slices.Contains(p.Labels, label) }
		lacking := slices.ContainsFunc(strings.Split(query.Get("labels"), ","), missing)
		if want := query.Get("state"); want != "" && want != state || lacking {
			continue
		}
		all = append(all, shown)
	}
	if len(rest) > 0 {
		return refuse(http.StatusNotFound, "404 Not found")
	}
	return f.list(r, all, false)
}

func (f *Forge) projectBranches(r *http.Request, repo Repo, rest []string) Answer {
	show := func(name, sha string) any { return object{"name": name, "commit": object{"id": sha}} }
	if len(rest) == 0 {
		return f.list(r, repo.branches(show), false)
	}
	if sha, ok := repo.Commits[rest[0]]; ok {
		return one(show(rest[0], sha))
	}
	return refuse(http.StatusNotFound, "404 Branch Not Found")
}

func (f *Forge) tree(r *http.Request, repo Repo) Answer {
	query := r.URL.Query()
	folder, branch := query.Get("path"), query.Get("ref")
	if folder != "" && !repo.has(branch, folder) {
		return refuse(http.StatusNotFound, "404 Tree Not Found")
	}
	seen := map[string]bool{}
	var all []any
	for _, name := range repo.Paths[branch] {
		rest := name
		if folder != "" {
			var ok bool
			if rest, ok = strings.CutPrefix(name, folder+"/"); !ok {
				continue
			}
		}
		first, _, _ := strings.Cut(rest, "/")
		if at := path.Join(folder, first); !seen[at] {
			seen[at] = true
			all = append(all, object{"name": first, "path": at})
		}
	}
	return f.list(r, all, false)
}
