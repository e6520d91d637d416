package server

import (
	"io/fs"
	"strconv"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/status"
)

// RevisionMetadata is what is told of a commit.
type RevisionMetadata struct {
	Author        string    `json:"author,omitempty"`
	Date          time.Time `json:"date,omitzero"`
	Tags          []string  `json:"tags,omitempty"`
	Message       string    `json:"message,omitempty"`
	SignatureInfo string    `json:"signatureInfo,omitempty"`
}

// sourceAt is the source of an application that a revision is asked of: by its place, now or at an entry of the history.
func sourceAt(req *Request) (v1alpha1.ApplicationSource, error) {
	app := req.app()
	sources := app.Sources()
	if text := req.Text("versionId"); text != "" {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return v1alpha1.ApplicationSource{}, badRequest("versionId is not a number")
		}
		for _, h := range app.Status.History {
			if h.ID == id {
				sources = status.Deployed(h).Sources
			}
		}
	}
	at := 0
	if text := req.Text("sourceIndex"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n >= len(sources) {
			return v1alpha1.ApplicationSource{}, badRequest("sourceIndex is not that of a source of the application")
		}
		at = n
	}
	if at >= len(sources) {
		return v1alpha1.ApplicationSource{}, &Fault{Code: FailedPrecondition, Message: "the application has no source"}
	}
	return sources[at], nil
}

// origin is where a revision of the application is to be looked up.
func (s *Server) origin(req *Request) (manifest.Origin, error) {
	if s.Sources == nil {
		return manifest.Origin{}, absent("what is known of revisions")
	}
	source, err := sourceAt(req)
	if err != nil {
		return manifest.Origin{}, err
	}
	of := manifest.OriginOf(req.app(), source)
	of.Revision = req.Param("revision")
	return of, nil
}

func (s *Server) revisionMetadata(req *Request) (any, error) {
	of, err := s.origin(req)
	if err != nil {
		return nil, err
	}
	if of.Chart != "" {
		return nil, badRequest("the source is a chart, which has no commits; ask for chartdetails")
	}
	c, err := s.Sources.Commit(req, of, of.Revision)
	if err != nil {
		return nil, err
	}
	return RevisionMetadata{Author: c.Author, Date: c.Date, Tags: c.Tags, Message: c.Message}, nil
}

// ChartDetails is what a chart says of itself.
type ChartDetails struct {
	Description string   `json:"description,omitempty"`
	Maintainers []string `json:"maintainers,omitempty"`
	Home        string   `json:"home,omitempty"`
}

func (s *Server) chartDetails(req *Request) (any, error) {
	of, err := s.origin(req)
	if err != nil {
		return nil, err
	}
	if of.Chart == "" {
		return nil, badRequest("the source is no chart")
	}
	tree, err := s.Sources.Tree(req, of)
	if err != nil {
		return nil, err
	}
	defer closeTree(tree)
	data, err := fs.ReadFile(tree, "Chart.yaml")
	if err != nil {
		return nil, fault.Terminalf("NotAChart", "the chart has no Chart.yaml")
	}
	var chart struct {
		Description string `json:"description"`
		Home        string `json:"home"`
		Maintainers []struct {
			Name  string `json:"name"`
			Email string `json:"email"`
		} `json:"maintainers"`
	}
	if err := yaml.Unmarshal(data, &chart); err != nil {
		return nil, fault.Terminalf("NotAChart", "Chart.yaml cannot be read")
	}
	out := ChartDetails{Description: chart.Description, Home: webLink(chart.Home)}
	for _, m := range chart.Maintainers {
		text := m.Name
		if m.Email != "" {
			text += " <" + m.Email + ">"
		}
		out.Maintainers = append(out.Maintainers, text)
	}
	return out, nil
}

// OCIMetadata is what an artifact says of itself.
type OCIMetadata struct {
	CreatedAt   string `json:"createdAt,omitempty"`
	Authors     string `json:"authors,omitempty"`
	DocsURL     string `json:"docsUrl,omitempty"`
	SourceURL   string `json:"sourceUrl,omitempty"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
}

// ociMetadata tells the revision alone: what the manifest of an artifact says besides is not kept.
func (s *Server) ociMetadata(req *Request) (any, error) {
	of, err := s.origin(req)
	if err != nil {
		return nil, err
	}
	return OCIMetadata{Version: of.Revision}, nil
}

func closeTree(tree fs.FS) {
	if c, ok := tree.(interface{ Close() error }); ok {
		_ = c.Close()
	}
}
