package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"html"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// pages are the paths at which the UI is: each of them is the same page, which knows by itself what to show. They are named
// one by one, so that a path that nobody has is still not found.
var pages = []string{
	"/", "/login", "/applications", "/applications/{page...}", "/applicationsets", "/applicationsets/{page...}",
	"/projects", "/projects/{page...}", "/settings", "/settings/{page...}", "/user-info", "/help",
}

// assets is where the files are that the page is made of.
const assets = "/assets/{file}"

// pageRoutes are the UI. It is the same for everybody, so nobody is asked who they are.
func (s *Server) pageRoutes() []*Route {
	if s.Pages == nil {
		return nil
	}
	out := []*Route{{
		Method: http.MethodGet, Pattern: assets, Summary: "The files of the pages", Open: true, Page: true, Handle: s.asset,
	}}
	for _, p := range pages {
		out = append(out, &Route{
			Method: http.MethodGet, Pattern: p, Summary: "The pages for people", Open: true, Page: true, Handle: s.page,
		})
	}
	return out
}

// base is the tag that says where the pages live, which the page has for the root.
var base = []byte(`<base href="/" />`)

// page is the page itself, told where it lives.
func (s *Server) page(*Request) (any, error) {
	text, err := fs.ReadFile(s.Pages, "index.html")
	if err != nil {
		return nil, absent("the page")
	}
	text = bytes.Replace(text, base, []byte(`<base href="`+html.EscapeString(s.home())+`" />`), 1)
	return file{name: "index.html", body: text, plain: true}, nil
}

// home is where the pages live, with a slash at either end.
func (s *Server) home() string {
	in := s.Settings()
	at := strings.Trim(in.BaseHref, "/")
	if at == "" {
		at = strings.Trim(in.RootPath, "/")
	}
	if at == "" {
		return "/"
	}
	return "/" + at + "/"
}

// asset is a file that the page is made of. Most are there compressed only.
func (s *Server) asset(req *Request) (any, error) {
	name := "assets/" + req.Param("file")
	if !fs.ValidPath(name) || path.Dir(name) != "assets" {
		return nil, notFound("Not Found")
	}
	if body, err := fs.ReadFile(s.Pages, name+".gz"); err == nil {
		return file{name: name, body: body}, nil
	}
	body, err := fs.ReadFile(s.Pages, name)
	if err != nil {
		return nil, notFound("Not Found")
	}
	return file{name: name, body: body, plain: true}, nil
}

// file is a file of the pages, compressed if it is not plain.
type file struct {
	name  string
	body  []byte
	plain bool
}

// hashed are names that have the digest of what is in the file: it never changes.
var hashed = regexp.MustCompile(`-[A-Za-z0-9_-]{8}\.[a-z0-9]+$`)

// ServeHTTP tells the file, or that it is still the same.
func (f file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", mediaType(f.name))
	h.Set("Cache-Control", "no-cache")
	if hashed.MatchString(f.name) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Add("Vary", "Accept-Encoding")
	digest := sha256.Sum256(f.body)
	tag := `"` + base64.RawURLEncoding.EncodeToString(digest[:12]) + `"`
	h.Set("Etag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.body
	switch {
	case f.plain:
	case accepts(r):
		h.Set("Content-Encoding", "gzip")
	default:
		var err error
		if body, err = unzip(body); err != nil {
			http.Error(w, "the file cannot be read", http.StatusInternalServerError)
			return
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// mediaType does not ask the system, which may know other types.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".json":
		return "application/json"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}

func unzip(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
