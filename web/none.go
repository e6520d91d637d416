//go:build noui

// Package web is the browser's side of Towline; this binary was built without it.
package web

import "io/fs"

// Files are none.
func Files() fs.FS { return nil }
