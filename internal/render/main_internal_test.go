package render

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
)

const (
	workerArgument = "render-worker"
	coldArgument   = "cold-worker"
	probeArgument  = "render-probe"
)

// coldWarmUps are for workers that need not know Helm and kustomize: under the race detector those take a second to warm
// up, and most tests start several workers.
func coldWarmUps() map[string]manifest.Request {
	return map[string]manifest.Request{"plain": warmUps()["plain"]}
}

func TestMain(m *testing.M) {
	tools[v1alpha1.SourceTypePlugin] = testTool
	if len(os.Args) > 1 {
		ctx := context.Background()
		switch os.Args[1] {
		case workerArgument, coldArgument:
			first := warmUps()
			if os.Args[1] == coldArgument {
				first = coldWarmUps()
			}
			if err := work(ctx, os.Stdin, os.Stdout, first); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case probeArgument:
			probe(ctx, os.Args[2], os.Args[3])
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// testHost has workers that render plain manifests, and what the tests' own tool makes.
func testHost(t *testing.T, o HostOptions) *Host {
	t.Helper()
	return hostWith(t, coldArgument, o)
}

// warmHost has workers that are ready for everything, as the product's are.
func warmHost(t *testing.T, o HostOptions) *Host {
	t.Helper()
	return hostWith(t, workerArgument, o)
}

func hostWith(t *testing.T, argument string, o HostOptions) *Host {
	t.Helper()
	o.Command = []string{os.Args[0], argument}
	h := NewHost(o)
	t.Cleanup(h.Close)
	return h
}

// plugin asks the test's own tool for something.
func plugin(what string) manifest.Request {
	return manifest.Request{Source: v1alpha1.ApplicationSource{Plugin: &v1alpha1.ApplicationSourcePlugin{Name: what}}}
}

func configMap(name string, data any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": data,
	}}
}

// testTool does what the name of the plugin says; much of it is harm.
func testTool(_ context.Context, trees manifest.Trees, req manifest.Request) (manifest.Result, error) {
	result := manifest.Result{Files: 1}
	switch what := req.Source.Plugin.Name; what {
	case "loop":
		for n := 0; ; n++ {
			if n < 0 {
				return result, nil
			}
		}
	case "repeat":
		result.Objects = append(result.Objects, configMap("a", string(bytes.Repeat([]byte("x"), 1<<30))))
	case "grow":
		var all [][]byte
		for {
			all = append(all, bytes.Repeat([]byte("x"), 1<<20))
			if len(all) > 1<<30 {
				return result, nil
			}
		}
	case "recursion":
		return result, fmt.Errorf("%d", endless(1))
	case "panic":
		result.Objects[len(req.App.Name)] = nil
	case "objects":
		for range 50_001 {
			result.Objects = append(result.Objects, configMap("a", nil))
		}
	case "output":
		text := strings.Repeat("x", 1<<20)
		for range 101 {
			result.Objects = append(result.Objects, configMap("a", text))
		}
	case "wide":
		list := make([]any, 14<<20)
		result.Objects = append(result.Objects, configMap("a", list))
	case "exit":
		os.Exit(0)
	case "chatter":
		fmt.Println("this is no message")
	case "read":
		tree, ok := trees[""].(*tree)
		for n := 0; ok; n++ {
			if _, err := tree.ReadFile(fmt.Sprintf("file-%d", n)); err != nil && !strings.Contains(err.Error(), "not exist") {
				return result, err
			}
		}
	case "kube":
		result.Objects = append(result.Objects, configMap("a", map[string]any{"version": req.Kube.Version, "apis": fmt.Sprint(req.Kube.APIs)}))
	default:
		result.Objects = append(result.Objects, configMap(what, map[string]any{"pid": int64(os.Getpid())}))
	}
	return result, nil
}

func endless(n int) int {
	if n == 0 {
		return 0
	}
	return endless(n+1) + endless(n+2)
}
