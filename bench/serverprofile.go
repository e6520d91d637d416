package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/discovery"
)

// serverSpan is how many seconds a profile of the API server is of; as many
// follow each other as the work takes. `go tool pprof` takes several files.
const serverSpan = "3"

// profileServer has the API server profile itself while a program works for
// it, until stop is called. The last one, which goes on beyond the work, is
// thrown away.
func (s setup) profileServer(ctx context.Context, path string) (stop func(), err error) {
	if path == "" || s.Kubeconfig == "" {
		return func() {}, nil
	}
	config, err := s.client()
	if err != nil {
		return nil, err
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	ctx, stop = context.WithCancel(ctx)
	go func() {
		for i := 1; ; i++ {
			data, err := client.RESTClient().Get().AbsPath("/debug/pprof/profile").Param("seconds", serverSpan).DoRaw(ctx)
			if err != nil {
				return
			}
			name := fmt.Sprintf("%s-server-%d.prof", strings.TrimSuffix(path, ".prof"), i)
			if os.WriteFile(name, data, 0o600) != nil {
				return
			}
		}
	}()
	return stop, nil
}
