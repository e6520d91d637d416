package controlplane

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// lockFile takes an exclusive lock that the kernel drops when the process ends, however it ends. It waits until
// the lock is free and says so once.
func lockFile(ctx context.Context, path string, progress io.Writer) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	for told := false; ; told = true {
		if tryLock(file) {
			return func() { file.Close() }, nil
		}
		if !told && progress != nil {
			fmt.Fprintf(progress, "waiting for another process that holds %s\n", path)
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, fmt.Errorf("waiting for the lock %q: %w", path, context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func tryLock(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
