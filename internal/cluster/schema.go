package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/towline-cd/towline/internal/core/fault"
)

// schemas are the shapes of kinds as the server publishes them. They are read
// once for each API group version, when a manifest of it is first checked.
type schemas struct {
	mu sync.Mutex
	// view is the one that the paths were read at.
	view  uint64
	paths map[string]openapi.GroupVersion
	known map[string]managedfields.TypeConverter
}

// Fits asks whether a manifest has the shape of its kind, without asking the
// server about the object. It is the check that an apply begins with; what the
// shape does not say (required fields, values) only the server knows. Where the
// shape cannot be had nothing is said against the manifest.
func (c *Cluster) Fits(ctx context.Context, body *unstructured.Unstructured) error {
	converter, err := c.shapes.of(c, body.GroupVersionKind().GroupVersion())
	if err != nil {
		slog.DebugContext(ctx, "schemas cannot be read", "groupVersion", body.GroupVersionKind().GroupVersion(), "error", err)
		return nil
	}
	if converter == nil {
		return nil
	}
	if _, err := converter.ObjectToTyped(body); err != nil && !isUnknownKind(err) {
		return fault.Terminalf("Rejected", "%w", err)
	}
	return nil
}

// isUnknownKind says that there is no shape for a kind; the library's error for
// that has no name outside of it.
func isUnknownKind(err error) bool { return strings.Contains(err.Error(), "no corresponding type") }

func (s *schemas) of(c *Cluster, gv schema.GroupVersion) (managedfields.TypeConverter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := c.View().Version; s.paths == nil || s.view != v {
		paths, err := c.discovery.OpenAPIV3().Paths()
		if err != nil {
			return nil, fmt.Errorf("listing the schemas: %w", err)
		}
		s.paths, s.view = paths, v
	}
	path := "apis/" + gv.String()
	if gv.Group == "" {
		path = "api/" + gv.Version
	}
	at, ok := s.paths[path]
	if !ok {
		return nil, nil
	}
	// The address names the content.
	name := at.ServerRelativeURL()
	if known, ok := s.known[name]; ok {
		return known, nil
	}
	raw, err := at.Schema(runtime.ContentTypeJSON)
	if err != nil {
		return nil, fmt.Errorf("reading the schemas of %s: %w", gv, err)
	}
	converter, err := converterOf(raw)
	if err != nil {
		return nil, fmt.Errorf("understanding the schemas of %s: %w", gv, err)
	}
	if s.known == nil || len(s.known) > 200 {
		s.known = map[string]managedfields.TypeConverter{}
	}
	s.known[name] = converter
	return converter, nil
}

func converterOf(raw []byte) (managedfields.TypeConverter, error) {
	var document struct {
		Components struct {
			Schemas map[string]*spec.Schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, fmt.Errorf("decoding: %w", err)
	}
	return managedfields.NewTypeConverter(document.Components.Schemas, false)
}
