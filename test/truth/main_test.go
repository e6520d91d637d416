// Package truth_test asks the real server, in many small situations, whether
// what Towline says is true. Each file of testdata is a situation: how an
// object came to be, what Git says, what happened, and what Towline has to
// say and to do about it. The package must not reach into the engine: it
// looks at what a user sees, and compares it with what the server says.
package truth_test

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/test/workshop"
)

var (
	update  = flag.Bool("update", false, "write what was seen into testdata; read the difference before you believe it")
	program = flag.String("towline", "", "a towline to test, instead of building one")
)

// part is which of how many parts of the situations are played, such as 1/3;
// all of them without it. CI plays another part for each commit, since all take
// as long as everything else together.
var part = os.Getenv("TOWLINE_TRUTH_PART")

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	if testing.Short() {
		// Nothing here runs without the control plane; do not build for it.
		return m.Run()
	}
	return workshop.Run("truth", func(dir string) (code int, err error) {
		if *program == "" {
			if *program, err = workshop.Towline(context.Background(), dir); err != nil {
				return 1, err
			}
		}
		return controlplane.Main(m, controlplane.Options{Name: "truth", Nodes: 1, Audit: controlplane.AuditMetadata}), nil
	})
}
