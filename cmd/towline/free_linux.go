package main

import sys "golang.org/x/sys/unix"

// freeMiB is how much room a folder has.
func freeMiB(dir string) (int64, error) {
	var s sys.Statfs_t
	if err := sys.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * s.Bsize >> 20, nil //nolint:gosec // no disk has that many blocks
}
