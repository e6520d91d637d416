package server

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/towline-cd/towline/internal/core/manifest"
)

// TypedQuery is YAML that somebody typed.
type TypedQuery struct {
	Text string `json:"text"`
}

// Typed is what the YAML stands for, or what is wrong with it.
type Typed struct {
	Objects []json.RawMessage `json:"objects"`
	// Problem is a mistake of whoever typed, and so no error of the request.
	Problem string `json:"problem,omitempty"`
}

// mostTyped is how long the text may be: no object could be larger.
const mostTyped = 3 << 20

func (s *Server) typedRoutes() []*Route {
	return []*Route{{
		Method: http.MethodPost, Pattern: "/api/v1/yaml", Summary: "The objects that YAML stands for, read as kubectl reads it",
		Without: "it tells what the caller says", Handle: readTyped, In: TypedQuery{}, Out: Typed{}, Reads: true, Limit: mostTyped,
	}}
}

// readTyped has one reader of YAML for the whole of the product: a browser's own would read some texts otherwise than the
// cluster does.
func readTyped(req *Request) (any, error) {
	var q TypedQuery
	if err := req.Body(&q); err != nil {
		return nil, err
	}
	out := Typed{Objects: []json.RawMessage{}}
	read, err := manifest.Read("the text", []byte(q.Text))
	if err != nil {
		out.Problem = err.Error()
		return out, nil
	}
	out.Problem = strings.Join(read.Skipped, "; ")
	for _, u := range read.Objects {
		data, err := u.MarshalJSON()
		if err != nil {
			return nil, err
		}
		out.Objects = append(out.Objects, data)
	}
	return out, nil
}
