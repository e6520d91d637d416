//go:build unix

package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFolder takes the folder for this process alone, until the file is closed.
func lockFolder(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the store of charts: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("opening the store of charts %q: another process has it open, give each its own folder: %w", dir, err)
	}
	return file, nil
}
