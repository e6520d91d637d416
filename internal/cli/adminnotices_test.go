package cli_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/notice"
)

// TestNoticesOffline tries triggers and templates on files, without a cluster.
func TestNoticesOffline(t *testing.T) {
	files := map[string]string{
		"cm.yaml": `
data:
  service.webhook.hook: "{url: 'http://example.com', headers: [{name: X, value: $token}]}"
  trigger.on-sync-failed: |
    - when: app.status.operationState.phase == 'Failed'
      oncePer: app.status.operationState.syncResult.revision
      send: [failed]
  template.failed: |
    message: "{{.app.metadata.name}} failed"
    webhook: {hook: {body: '{{.secrets.token | toString}}'}}
  nonsense: x
`,
		"secret.yaml": "stringData: {token: hush}",
		"app.yaml":    "metadata: {name: shop}\nstatus: {operationState: {phase: Failed, syncResult: {revision: abc}}}",
	}
	var sent []string
	run := func(args ...string) (out, errs string, err error) {
		var o, e bytes.Buffer
		env := &cli.Env{
			Out: &o, Err: &e, Getenv: func(string) string { return "" }, Now: func() time.Time { return today },
			ReadFile: func(name string) ([]byte, error) {
				text, ok := files[strings.TrimPrefix(name, "./")]
				if !ok {
					return nil, errors.New("there is no such file")
				}
				return []byte(text), nil
			},
			Notices: cli.Notices{
				Parse: notice.Parse,
				Send: func(_ context.Context, s notice.Service, to notice.Destination, c notice.Content) error {
					sent = append(sent, s.Type+" "+to.Recipient+" "+c.Message+" "+s.Options.Reveal())
					return nil
				},
			},
		}
		root := rootOf(env)
		root.SetArgs(append([]string{"admin", "notifications"}, args...))
		err = root.ExecuteContext(t.Context())
		return o.String(), e.String(), err
	}
	offline := []string{"--config-map", "cm.yaml", "--secret", "secret.yaml"}
	tests := map[string]struct {
		args []string
		want string
	}{
		"a trigger": {
			args: []string{"trigger", "run", "on-sync-failed", "./app.yaml"},
			want: "CONDITION                                    RESULT  ONCE PER\napp.status.operationState.phase == 'Failed'  true    abc\n",
		},
		"triggers": {
			args: []string{"trigger", "get"},
			want: "NAME            TEMPLATE  CONDITION\non-sync-failed  failed    app.status.operationState.phase == 'Failed'\n",
		},
		"templates by name": {args: []string{"template", "get", "-o", "name"}, want: "failed\n"},
		"a message": {
			args: []string{"template", "notify", "failed", "./app.yaml"},
			want: "message: shop failed\nwebhook:\n  hook:\n    body: hush\n",
		},
		"a message that is sent": {
			args: []string{"template", "notify", "failed", "./app.yaml", "--recipient", "hook:x"}, want: "sent to hook:x\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out, errs, err := run(append(test.args, offline...)...)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, out); d != "" {
				t.Errorf("it shows something else (-want +got):\n%s", d)
			}
			if !strings.Contains(errs, "Warning: nonsense: nothing is known by this name") {
				t.Errorf("it does not say what cannot be used: %q", errs)
			}
		})
	}
	if d := cmp.Diff([]string{`webhook x shop failed {"headers":[{"name":"X","value":"hush"}],"url":"http://example.com"}`}, sent); d != "" {
		t.Errorf("what was sent (-want +got):\n%s", d)
	}
	if _, _, err := run(append([]string{"trigger", "run", "on-x", "./app.yaml"}, offline...)...); err == nil || !strings.Contains(err.Error(), "there are on-sync-failed") {
		t.Errorf("a trigger that is not there: %v", err)
	}
}
