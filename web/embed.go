//go:build !noui

// Package web is the browser's side of Towline: the pages, built by `make ui` and carried in the binary. It must not hold
// any Go but what embeds them.
package web

import (
	"embed"
	"io/fs"
)

// built has the page that stands in for the UI, and below app the UI itself where somebody has built it. Going without
// node is no mistake, so nothing here needs it.
//
//go:embed all:dist
var built embed.FS

// Files are the pages, or the one page that says how they are built.
func Files() fs.FS {
	if _, err := fs.Stat(built, "dist/app/index.html"); err == nil {
		return below("dist/app")
	}
	return below("dist/unbuilt")
}

func below(folder string) fs.FS {
	files, err := fs.Sub(built, folder)
	if err != nil {
		return nil
	}
	return files
}
