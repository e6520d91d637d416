//go:build !unix

package chart

import (
	"fmt"
	"os"
	"path/filepath"
)

// lockFolder opens the file alone: this system has no locks that end with their process.
func lockFolder(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the store of charts: %w", err)
	}
	return file, nil
}
