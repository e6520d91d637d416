package render

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/towline-cd/towline/internal/core/environment"
	"github.com/towline-cd/towline/internal/core/manifest"
)

// renderPlugin has a config management plugin render the source. A worker cannot reach one: it says what has to be asked,
// as a need, and reads what came of it, under the limits of every render.
func renderPlugin(_ context.Context, trees manifest.Trees, req manifest.Request) (manifest.Result, error) {
	if req.Source.Chart != "" {
		req.Source.Path = "" // nobody wrote one
	}
	variables, notes, err := environment.Plugin(req)
	if err != nil {
		return manifest.Result{}, err
	}
	name := req.Source.Plugin.Name
	need := manifest.Need{Kind: manifest.NeedPlugin, URL: name, Variables: strings.Join(variables, "\x00"), Why: "plugin of the source"}
	// It is told the revision and the APIs, and nobody knows what it makes of them.
	result := manifest.Result{UsesRevision: true, UsesAPIs: true, Notes: notes}
	made, ok := trees[need.ID()]
	if !ok {
		result.Needs = []manifest.Need{need}
		return result, nil
	}
	if known, ok := made.(*tree); ok {
		if err := known.whole("."); err != nil {
			return manifest.Result{}, fmt.Errorf("reading what the plugin made: %w", err)
		}
	}
	entries, err := fs.ReadDir(made, ".")
	if err != nil {
		return manifest.Result{}, fmt.Errorf("reading what the plugin made: %w", err)
	}
	for i, entry := range entries {
		text, err := fs.ReadFile(made, entry.Name())
		if err != nil {
			return manifest.Result{}, fmt.Errorf("reading what the plugin made: %w", err)
		}
		read, err := manifest.ReadOutput(fmt.Sprintf("manifest %d of the plugin", i+1), text)
		if err != nil {
			return manifest.Result{}, err
		}
		result.Objects = append(result.Objects, read.Objects...)
		result.Notes = append(result.Notes, read.Notes...)
		result.Files++
	}
	return result, nil
}
