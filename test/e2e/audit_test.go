package e2e_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/towline-cd/towline/internal/core/journal"
)

// TestAudit: the log tells who deleted an object and why, goes on after a kill, and a line that somebody changed is found.
func TestAudit(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", map[string]string{"shop/settings.yaml": settingsV1, "shop/extra.yaml": extra, "shop/key.yaml": key}))
	first, err := f.git.Revision("shop", "main")
	f.must(err)
	f.start()
	f.application("told", "shop", "shop", automated)
	f.await("told", "synced", synced(first))
	uid := string(f.object(configMaps, "extra").GetUID())
	f.kill()
	f.launch(program(f.T))
	second, err := f.git.Commit("shop", "main", "without extra", map[string]*string{"shop/extra.yaml": nil})
	f.must(err)
	f.refresh("told")
	f.await("told", "synced without extra", synced(second))
	f.awaitObject(configMaps, "extra", absent)
	f.stop()

	folder := filepath.Join(f.data, "audit")
	out, errOut, code := f.command("admin", "audit", "verify", folder)
	if code != 0 || !strings.Contains(out, "nothing is missing and nothing was changed") {
		t.Fatalf("verify ended with %d:\n%s%s", code, out, errOut)
	}
	t.Log(out)
	out, errOut, code = f.command("admin", "audit", "query", folder, "--deleted", "--object", "ConfigMap/extra", "-o", "json")
	var a journal.Answer
	if err := json.Unmarshal([]byte(out), &a); code != 0 || err != nil {
		t.Fatalf("query ended with %d, %v:\n%s%s", code, err, out, errOut)
	}
	if a.Deed.UID != uid || a.Deed.Proof == nil || a.Deed.Proof.Reason != journal.Undesired || a.Deed.Proof.Mark == "" || a.Deed.Before == "" ||
		a.Began == nil || !a.Began.By.Automated || strings.Join(a.Record.Revisions, " ") != second || a.Record.Tree == "" {
		t.Errorf("the answer is %s", out)
	}
	out, _, _ = f.command("admin", "audit", "query", folder, "--deleted", "--object", "ConfigMap/extra")
	t.Log(out)
	out, _, _ = f.command("admin", "audit", "query", folder, "--app", "told")
	t.Log(out)

	files, err := filepath.Glob(filepath.Join(folder, "audit-*.jsonl"))
	f.must(err)
	text, err := os.ReadFile(files[0])
	f.must(err)
	if bytes.Contains(text, []byte("hush")) || bytes.Contains(text, []byte("aHVzaA")) {
		t.Error("the log has the value of a Secret")
	}
	f.must(os.WriteFile(files[0], bytes.Replace(text, []byte(uid), []byte("00000000-0000-0000-0000-000000000000"), 1), 0o600))
	out, _, code = f.command("admin", "audit", "verify", folder)
	if code != 1 || !strings.Contains(out, "the line was changed") {
		t.Errorf("of a line that was changed it is said, with %d:\n%s", code, out)
	}
}
