package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSetKeys: every key about ApplicationSets is honoured, or named with what
// does the same.
func TestSetKeys(t *testing.T) {
	const prefix = "applicationsetcontroller."
	params := map[string]string{"controller.log.level": "debug"}
	for key, value := range map[string]string{
		"policy": "create-update", "enable.policy.override": "true", "namespaces": "team-*, /^x$/", "enable.progressive.syncs": "false",
		"requeue.after": "3m", "enable.new.git.file.globbing": "true", "allowed.scm.providers": "https://a, https://b",
		"enable.scm.providers": "true", "enable.tokenref.strict.mode": "true", "scm.root.ca.path": "/ca.pem", "dryrun": "true",
		"global.preserved.annotations": "a/b,c", "global.preserved.labels": "d", "status.max.resources.count": "7",
		"concurrent.reconciliations.max": "3",
		// Those that ask for what happens anyway.
		"log.level": "info", "enable.leader.election": "true", "enable.git.submodule": "true", "debug": "",
		// Those that do nothing.
		"log.format": "json", "webhook.parallelism.limit": "50", "repo.server.plaintext": "true", "of.tomorrow": "1",
	} {
		params[prefix+key] = value
	}
	got := parse(nil, params)
	want := Sets{
		Policy: "create-update", Override: true, Namespaces: []string{"team-*", "/^x$/"}, Workers: 3, StrictGlobs: true,
		Requeue: 3 * 60e9, DryRun: true, Annotations: []string{"a/b", "c"}, Labels: []string{"d"}, MaxListed: 7,
		Forges: []string{"https://a", "https://b"}, StrictTokens: true, RootCA: "/ca.pem",
	}
	if d := cmp.Diff(want, got.Sets); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	named := []string{
		prefix + "log.format (towline run --log-format)", prefix + "of.tomorrow", prefix + "repo.server.plaintext (there is no repository server)",
		prefix + "webhook.parallelism.limit (what a push changes is looked at in the queue of sets)",
	}
	if d := cmp.Diff(named, got.NotHonoured); d != "" {
		t.Errorf("named (-want +got):\n%s", d)
	}
	if len(got.Problems) > 0 {
		t.Errorf("problems are %q", got.Problems)
	}
}

// TestSetProblems: what cannot be read is named, and never read as the widest.
func TestSetProblems(t *testing.T) {
	const prefix = "applicationsetcontroller."
	got := parse(nil, map[string]string{
		prefix + "policy": "everything", prefix + "dryrun": "maybe", prefix + "status.max.resources.count": "-1", prefix + "namespaces": "team",
	})
	if got.Sets.Policy != "create-only" || got.Sets.MaxListed != 0 {
		t.Errorf("got %+v", got.Sets)
	}
	for _, want := range []string{"policy: ", "dryrun: ", "status.max.resources.count: ", "allowed.scm.providers"} {
		if !strings.Contains(strings.Join(got.Problems, "\n"), want) {
			t.Errorf("%q is not in %q", want, got.Problems)
		}
	}
}
