package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"k8s.io/client-go/dynamic"

	"github.com/towline-cd/towline/hack/sim"
)

// roots are the applications that the examples begin with.
var roots = map[string]string{"homelab": "root", "platform": "platform"}

// playExample serves an example, plays what its controllers would do, and boots it.
func (d *dev) playExample(ctx context.Context) error {
	root := roots[d.example]
	if root == "" {
		return fmt.Errorf("there is no example %q; EXAMPLE is homelab or platform", d.example)
	}
	e, err := sim.Load(".", d.example, d.git.URL)
	if err != nil {
		return err
	}
	if err := d.git.Create(d.example, e.Files); err != nil {
		return err
	}
	if err := d.git.Create("towline", e.Towline); err != nil {
		return err
	}
	config, err := d.plane.RESTConfig()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	playing, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Play(playing, client)
	}()
	d.plays = func() { stop(); <-done }
	if err := d.kubectl(ctx, strings.NewReader(e.Root), "apply", "-f", "-"); err != nil {
		return err
	}
	return d.await(ctx, root)
}

// await waits for a root, and then for all that it made: nothing waits for the last wave.
func (d *dev) await(ctx context.Context, root string) error {
	towline, flags := d.path("bin", "towline"), []string{"--timeout", "300", "--kubeconfig", d.plane.Kubeconfig()}
	if err := d.command(ctx, towline, append([]string{"app", "wait", root}, flags...)...); err != nil {
		return err
	}
	list, err := exec.CommandContext(ctx, towline, "app", "list", "--output", "name", "--kubeconfig", d.plane.Kubeconfig()).Output()
	if err != nil {
		return fmt.Errorf("listing the applications: %w", err)
	}
	return d.command(ctx, towline, slices.Concat([]string{"app", "wait"}, strings.Fields(string(list)), flags)...)
}

// tries are what can be tried with the examples; their own pages do not know the address of the repository.
var tries = map[string]string{
	"homelab": `Change something in the cluster, and see it healed:

  kubectl -n longhorn-system scale deployment longhorn-ui --replicas=3
  towline app drift longhorn`,
	"platform": `Ask for an environment by a commit, and see it arrive:

  examples/platform/provisioner/provision REPOSITORY agent-x gcp europe-west1
  towline app get workspaces --refresh
  kubectl -n workspaces get xagentenvironments`,
}

// explainExample says what to try next.
func (d *dev) explainExample() {
	repository := d.git.URL(d.example)
	fmt.Fprintf(d.out, `
Towline follows %[1]s, which is examples/%[2]s. In another terminal:

  export KUBECONFIG=%[3]s PATH=%[4]s:$PATH
  towline app list
  towline app get %[5]s

In a browser: https://%[6]s as admin (its certificate is made at each start), with the password of

  towline admin initial-password

%[8]s

examples/%[2]s/README.md has more. Towline's log is %[7]s. Ctrl-C stops everything and leaves nothing behind.
`, repository, d.example, d.plane.Kubeconfig(), d.path("bin"), roots[d.example], d.page, d.path("towline.log"),
		strings.ReplaceAll(tries[d.example], placeholder, repository))
}
