// Package gate_test is the differential test of the verdicts: random objects,
// random edits by random managers on the real API server, and at each step
// what the gate says against what a plain dry-run says. It must not use
// anything that the gate knows to judge the gate.
package gate_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
)

var (
	duration = flag.Duration("gate.for", 20*time.Second, "how long to look for a lie")
	seed     = flag.Uint64("gate.seed", 0, "the seed of the run; 0 takes one from the clock and prints it")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(controlplane.Main(m, controlplane.Options{Name: "gate", Nodes: 1}))
}
