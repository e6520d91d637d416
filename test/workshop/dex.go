package workshop

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

// BuiltDex is where Dex is, if it was built: its name follows the pinned version.
func BuiltDex() (program string, err error) {
	if program, err = dexPath(); err != nil {
		return "", err
	}
	_, err = os.Stat(program)
	return program, err
}

// Dex builds Dex, once for as long as its pinned version stays. That takes minutes.
var Dex = sync.OnceValues(func() (program string, err error) {
	if program, err = BuiltDex(); program == "" || err == nil {
		return program, err
	}
	// Whoever else builds it at the same time gets a whole file too.
	fresh := fmt.Sprintf("%s.%d", program, os.Getpid())
	cmd := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-o", fresh, ".")
	cmd.Dir, cmd.Env = dexSource(), append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("building Dex: %w: %s", err, out), os.RemoveAll(fresh))
	}
	return program, os.Rename(fresh, program)
})

func dexSource() string { return filepath.Join(Root(), "hack", "dex") }

func dexPath() (string, error) {
	sum := sha256.New()
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		text, err := os.ReadFile(filepath.Join(dexSource(), name))
		if err != nil {
			return "", err
		}
		sum.Write(text)
	}
	dir, err := controlplane.CacheDir("dex")
	return filepath.Join(dir, fmt.Sprintf("dex-%x", sum.Sum(nil)[:8])), err
}
