package server

import (
	"fmt"
	"net/http"
	"os"
)

// Version is what is told of this program, in the words of Argo CD.
type Version struct {
	Version          string `json:"Version"`
	BuildDate        string `json:"BuildDate,omitempty"`
	GitCommit        string `json:"GitCommit,omitempty"`
	GitTreeState     string `json:"GitTreeState,omitempty"`
	GoVersion        string `json:"GoVersion,omitempty"`
	Compiler         string `json:"Compiler,omitempty"`
	Platform         string `json:"Platform,omitempty"`
	KustomizeVersion string `json:"KustomizeVersion,omitempty"`
	HelmVersion      string `json:"HelmVersion,omitempty"`
	KubectlVersion   string `json:"KubectlVersion,omitempty"`
	JsonnetVersion   string `json:"JsonnetVersion,omitempty"`
	ExtraBuildInfo   string `json:"ExtraBuildInfo,omitempty"`
}

// version tells strangers no more than they need.
func (s *Server) version(req *Request) (any, error) {
	if !req.SignedIn {
		return Version{Version: s.Version.Version}, nil
	}
	return s.Version, nil
}

func text(body string) *Raw { return &Raw{Type: "text/plain; charset=utf-8", Body: []byte(body)} }

func (s *Server) healthz(*Request) (any, error) { return text("ok\n"), nil }

func (s *Server) readyz(*Request) (any, error) {
	if err := s.Ready(); err != nil {
		return nil, &Fault{Code: Unavailable, Message: "not ready: " + err.Error(), cause: err}
	}
	return text("ok\n"), nil
}

// swagger is the document of the API.
func (s *Server) swagger(*Request) (any, error) {
	return &Raw{Type: "application/json", Body: s.openAPI}, nil
}

// download gives this very program away.
func (s *Server) download(*Request) (any, error) {
	if s.Binary == "" {
		return nil, absent("the program")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(s.Binary)
		if err != nil {
			http.Error(w, "the program cannot be read", http.StatusInternalServerError)
			return
		}
		defer func() { _ = f.Close() }()
		info, err := f.Stat()
		if err != nil {
			http.Error(w, "the program cannot be read", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", info.Name()))
		http.ServeContent(w, r, "", info.ModTime(), f)
	}), nil
}

// nothing is the answer to what has none.
type nothing struct{}
