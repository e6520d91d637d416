package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
)

const temporaryPrefix = "towline-plane-"

// temporaryDir makes a folder that its cleanup removes. It holds a lock for as long as this process lives, by
// which later runs recognise and remove the folders of processes that were killed.
func temporaryDir() (dir string, cleanup func(), err error) {
	sweep()
	dir, err = os.MkdirTemp("", temporaryPrefix+"*")
	if err != nil {
		return "", nil, fmt.Errorf("making a temporary folder: %w", err)
	}
	if os.Getenv("TOWLINE_KEEP") == "1" {
		return dir, func() {}, nil
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock.new"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", nil, fmt.Errorf("making the lock of a temporary folder: %w", err)
	}
	tryLock(lock)
	// Only now does a sweep of another process look at the folder.
	if err := os.Rename(lock.Name(), filepath.Join(dir, "lock")); err != nil {
		return "", nil, fmt.Errorf("making the lock of a temporary folder: %w", err)
	}
	return dir, func() {
		os.RemoveAll(dir)
		lock.Close()
	}, nil
}

// sweep removes what killed processes left. A folder without a lock is being made, or was kept on purpose.
func sweep() {
	locks, err := filepath.Glob(filepath.Join(os.TempDir(), temporaryPrefix+"*", "lock"))
	if err != nil {
		return
	}
	for _, path := range locks {
		lock, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if tryLock(lock) {
			os.RemoveAll(filepath.Dir(path))
		}
		lock.Close()
	}
}
