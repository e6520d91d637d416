package main

import (
	"context"
	"fmt"
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
	return d.command(ctx, d.path("bin", "towline"), "app", "wait", root, "--timeout", "300", "--kubeconfig", d.plane.Kubeconfig())
}

// explainExample says what to try next.
func (d *dev) explainExample() {
	fmt.Fprintf(d.out, `
Towline follows %[1]s, which is examples/%[2]s. In another terminal:

  export KUBECONFIG=%[3]s PATH=%[4]s:$PATH
  towline app list
  towline app get %[5]s

In a browser: https://%[6]s as admin, with the password of

  towline admin initial-password

and what examples/%[2]s/README.md says to try. Towline's log is %[7]s. Ctrl-C stops everything and leaves nothing behind.
`, d.git.URL(d.example), d.example, d.plane.Kubeconfig(), d.path("bin"), roots[d.example], d.page, d.path("towline.log"))
}
