package server

import (
	"encoding/json"
	"maps"
	"net/url"
	"strings"
	"text/template"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Link is a link of the installation's own, made for one object.
type Link struct {
	Title       string `json:"title"`
	URL         string `json:"url"`
	Description string `json:"description,omitempty"`
	IconClass   string `json:"iconClass,omitempty"`
}

// LinkTemplate is such a link as argocd-cm has it: texts in the language of Go's templates. One with a condition is left
// out, since conditions are not understood here, and a link that should not be there is worse than one that is missing.
type LinkTemplate struct {
	Title       string `json:"title"`
	URL         string `json:"url"`
	Description string `json:"description"`
	IconClass   string `json:"icon.class"`
	If          string `json:"if"`
}

// webLink is a URL that a browser may be led to; anything else is nothing.
func webLink(text string) string {
	text = strings.TrimSpace(text)
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return ""
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return u.String()
	}
	return ""
}

// linksOf makes the links of an object from the values that templates may use.
func linksOf(templates []LinkTemplate, values map[string]any) Items[Link] {
	out := Items[Link]{Items: []Link{}}
	for _, t := range templates {
		if t.If != "" {
			continue
		}
		at := webLink(rendered(t.URL, values))
		if at == "" {
			continue
		}
		out.Items = append(out.Items, Link{
			Title: rendered(t.Title, values), URL: at, Description: rendered(t.Description, values), IconClass: t.IconClass,
		})
	}
	return out
}

// mostLink bounds what a template makes.
const mostLink = 8 << 10

// rendered is a template's text; one that does not work is nothing.
func rendered(text string, values map[string]any) string {
	if !strings.Contains(text, "{{") {
		return oneLine(text)
	}
	t, err := template.New("link").Option("missingkey=zero").Parse(text)
	if err != nil {
		return ""
	}
	var b strings.Builder
	if err := t.Execute(&bounded{to: &b, left: mostLink}, values); err != nil {
		return ""
	}
	return oneLine(b.String())
}

// bounded takes so much and no more.
type bounded struct {
	to   *strings.Builder
	left int
}

// Write fails when there is too much.
func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, badRequest("the link is too long")
	}
	return b.to.Write(p)
}

// plainValue is anything as maps and lists, with secrets hidden as in answers.
func plainValue(value any) map[string]any {
	data, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var out map[string]any
	if json.Unmarshal(withoutLogins(data), &out) != nil {
		return nil
	}
	return out
}

func (s *Server) appLinks(req *Request) (any, error) {
	return linksOf(s.Settings().ApplicationLinks, s.appValues(req, req.app())), nil
}

// appValues are what the templates of an application's links may use.
func (s *Server) appValues(req *Request, app *v1alpha1.Application) map[string]any {
	whole := plainValue(req.shower().application(app))
	values := map[string]any{"app": whole, "application": whole}
	maps.Copy(values, whole)
	if p, err := s.Hub.Project(req, app.ProjectName()); err == nil {
		values["project"] = plainValue(req.shower().project(p))
	}
	return values
}

func (s *Server) resourceLinks(req *Request) (any, error) {
	u, err := s.object(req)
	if err != nil {
		return nil, err
	}
	shown := req.shower().show(u)
	var whole map[string]any
	if json.Unmarshal([]byte(shown.text), &whole) != nil {
		return Items[Link]{Items: []Link{}}, nil
	}
	values := s.appValues(req, req.app())
	values["resource"] = whole
	maps.Copy(values, whole)
	return linksOf(s.Settings().ResourceLinks, values), nil
}

func (s *Server) projectLinks(req *Request) (any, error) {
	whole := plainValue(req.shower().project(req.project()))
	values := map[string]any{"project": whole}
	maps.Copy(values, whole)
	return linksOf(s.Settings().ProjectLinks, values), nil
}
