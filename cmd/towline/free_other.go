//go:build !linux

package main

import "errors"

// freeMiB is how much room a folder has, which only Linux is asked for.
func freeMiB(string) (int64, error) {
	return 0, errors.New("the room of a folder is only known on Linux")
}
