package repository

import (
	"slices"
	"strings"
)

// Place is where a repository is, whatever way leads there: its host and its path, in lower case. The URLs that a forge
// offers for HTTPS and for SSH, and the address of its page, have one place. That two URLs have the same one proves
// nothing of credentials: it is for finding out whom news of a repository may concern.
func Place(raw string) string {
	text, _ := normal(raw)
	_, rest, found := strings.Cut(text, "://")
	if !found {
		return text
	}
	rest, _, _ = strings.Cut(rest, "?")
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:colon]
	}
	// The large forges have second names that listen for SSH where firewalls let everything pass.
	for _, prefix := range []string{"altssh.", "ssh.", "vs-ssh."} {
		if short, ok := strings.CutPrefix(host, prefix); ok && strings.Contains(short, ".") {
			host = short
			break
		}
	}
	host, path = azure(host, path)
	if path == "" {
		return host
	}
	return host + "/" + path
}

// azure brings the addresses that Azure DevOps has for one repository to one: an organisation may be a part of the host,
// and the paths of SSH and HTTPS have words of their own in them.
func azure(host, path string) (at, within string) {
	organisation, old := strings.CutSuffix(host, ".visualstudio.com")
	if !old && host != "dev.azure.com" && host != "visualstudio.com" {
		return host, path
	}
	names := strings.Split(path, "/")
	if names[0] == "v3" {
		names = names[1:]
	}
	if old {
		names = append([]string{organisation}, names...)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "_git" || name == "defaultcollection" || name == "" })
	if len(names) == 2 {
		// The repository that is called as its project is written once.
		names = append(names, names[1])
	}
	return "dev.azure.com", strings.Join(names, "/")
}
