// Package conformance_test holds a sync engine to what users of Argo CD rely
// on, case by case: given an application, a repository and a cluster, when
// something happens, then these writes reach the API server in this order and
// this is what the application says. Each file of testdata is a case;
// README.md there explains the format. The package must not reach into the
// engine: it starts a program, and looks at the API server and its audit log.
package conformance_test

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/towline-cd/towline/hack/cluster/controlplane"
	"github.com/towline-cd/towline/test/workshop"
)

var (
	update   = flag.Bool("update", false, "write what was seen into testdata; read the difference before you believe it")
	program  = flag.String("implementation", "", "the program to hold to the cases, instead of building towline; README.md says how it is called")
	profiles = flag.String("profiles", "towline,argocd", "the profiles in which the cases are played")
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	if testing.Short() {
		// Only the table of rows is checked without the control plane.
		return m.Run()
	}
	return workshop.Run("conformance", func(dir string) (code int, err error) {
		if *program == "" {
			if *program, err = workshop.Towline(context.Background(), dir); err != nil {
				return 1, err
			}
		} else {
			foreign = true
		}
		return controlplane.Main(m, controlplane.Options{Name: "conformance", Nodes: 1, Audit: controlplane.AuditMetadata}), nil
	})
}

// foreign says that another implementation is played: it has its own words.
var foreign bool
