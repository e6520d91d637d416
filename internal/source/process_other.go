//go:build !unix

package source

import (
	"os"
	"os/exec"
	"time"
)

func endWithChildren(command *exec.Cmd) {
	command.WaitDelay = 2 * time.Second
}

func endGroup(*exec.Cmd) {}

func lockFile(*os.File) error { return nil }
