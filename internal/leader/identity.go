package leader

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Name is what a process is called that has nothing to be known by again: the
// name of its pod or host, and something that nobody else has.
func Name(host string) string { return host + "_" + strings.ToLower(rand.Text()[:12]) }

// Heir is the name that processes have in turn that use the same folder on the
// same host. The caller must have the folder for itself: then whoever had the
// name before is dead, however it died, and what it held may be taken over at
// once. A restart after a crash does not wait for a lease to run out.
func Heir(host, dir string) (string, error) {
	path := filepath.Join(dir, "identity")
	if text, err := os.ReadFile(path); err == nil {
		if name := strings.TrimSpace(string(text)); strings.HasPrefix(name, host+"_") {
			return name, nil
		}
	}
	name := Name(host)
	if err := os.WriteFile(path, []byte(name+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("writing down who holds the lease: %w", err)
	}
	return name, nil
}
