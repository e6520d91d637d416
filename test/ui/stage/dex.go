package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/towline-cd/towline/test/workshop"
)

// dex is a login provider beside, where its program was built already: the tests of the API do so. Building it here would
// make everybody wait for minutes who looks at one page.
type dex struct {
	program, port string
	process       *exec.Cmd
}

// chooseDex says where Dex will be, before towline starts.
func (s *stage) chooseDex(ctx context.Context) error {
	program, err := workshop.BuiltDex()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stage: nobody can sign in elsewhere, because Dex was not built (the tests of test/api do):", err)
		return nil
	}
	if s.dex.port, err = workshop.Port(ctx); err != nil {
		return err
	}
	s.dex.program = program
	_, err = s.kubectl(ctx, fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": {"name": "argocd-cmd-params-cm", "namespace": %q},
		"data": {"server.dex.server": "http://127.0.0.1:%s"}}`, control, s.dex.port), "apply", "-f", "-")
	return err
}

// startDex has people sign in by Dex: everybody who presses its button is let in as somebody of the group "authors".
func (s *stage) startDex(ctx context.Context) error {
	if s.dex.program == "" {
		return nil
	}
	config := fmt.Sprintf(`{"data": {"url": %q,
		"dex.config": "web: {http: '127.0.0.1:%s'}\nconnectors:\n- {type: mockCallback, id: mock, name: Mock}\n"}}`, s.URL, s.dex.port)
	if _, err := s.kubectl(ctx, "", "-n", control, "patch", "configmap/argocd-cm", "--type=merge", "--patch", config); err != nil {
		return err
	}
	text, err := s.command(ctx, "", s.binary, "admin", "dex", "config", "--namespace", control, "--kubeconfig", s.Kubeconfig)
	if err != nil {
		return err
	}
	file := s.path("dex.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	s.dex.process = exec.CommandContext(context.Background(), s.dex.program, file)
	s.dex.process.SysProcAttr = workshop.Bound()
	if err := s.dex.process.Start(); err != nil {
		return err
	}
	s.SSO = true
	return nil
}

func (d *dex) stop() {
	if d.process == nil || d.process.Process == nil {
		return
	}
	_ = d.process.Process.Signal(os.Interrupt)
	done := make(chan struct{})
	go func() {
		_ = d.process.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		_ = d.process.Process.Kill()
	}
}
