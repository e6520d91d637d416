package controlplane

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPinnedVersion(t *testing.T) {
	const mod = "module x\n\ntool k8s.io/kubernetes/cmd/kubectl\n\nrequire (\n\tk8s.io/kubernetes v1.36.3\n)\n\nreplace k8s.io/api => k8s.io/api v0.36.3\n"
	tests := map[string]struct {
		module, want string
		fails        bool
	}{
		"required":      {module: "k8s.io/kubernetes", want: "v1.36.3"},
		"only replaced": {module: "k8s.io/api", fails: true},
		"absent":        {module: "k8s.io/other", fails: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := pinned([]byte(mod), test.module)
			if got != test.want || (err != nil) != test.fails {
				t.Errorf("pinned(%q) = %q, %v", test.module, got, err)
			}
		})
	}
}

func TestReadAuditCountsFinishedRequestsOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	const log = `{"stage":"ResponseStarted","verb":"watch","requestURI":"/api/v1/pods?watch=1"}
{"stage":"ResponseComplete","verb":"patch","requestURI":"/api/v1/namespaces/a/pods/b?dryRun=All&fieldManager=m","user":{"username":"u"},"objectRef":{"resource":"pods","namespace":"a","name":"b","subresource":"status","apiVersion":"v1"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","verb":"delete","requ`
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadAudit(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []Event{{
		User: "u", Verb: "patch", Version: "v1", Resource: "pods", Subresource: "status", Namespace: "a", Name: "b",
		URI: "/api/v1/namespaces/a/pods/b?dryRun=All&fieldManager=m", DryRun: true, FieldManager: "m", Code: 200,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestTrailReadsEachLineOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	trail := NewTrail(path, `"username":"u"`)
	for _, step := range []struct {
		write string
		want  int
	}{
		{`{"stage":"ResponseComplete","verb":"get","user":{"username":"u"}}` + "\n" + `{"stage":"Respon`, 1},
		{`seComplete","verb":"get","user":{"username":"u"}}` + "\n", 2},
		{`{"stage":"ResponseComplete","verb":"get","user":{"username":"v"}}` + "\n", 2},
		{"", 2},
	} {
		if _, err := file.WriteString(step.write); err != nil {
			t.Fatal(err)
		}
		got, err := trail.Events()
		if err != nil || len(got) != step.want {
			t.Errorf("after %q: %d events, want %d, %v", step.write, len(got), step.want, err)
		}
	}
}

// A record may outlive its processes, and their pids may have been given to others by then.
func TestStopLeavesAnotherProcessAlone(t *testing.T) {
	stranger := exec.Command("sleep", "60")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer stranger.Wait()         //nolint:errcheck // It is killed below.
	defer stranger.Process.Kill() //nolint:errcheck // It is ours and nothing depends on it.
	identity, err := processIdentity(stranger.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	reused := &component{Name: "etcd", PID: stranger.Process.Pid, Identity: identity + "0"}
	if reused.alive() {
		t.Error("a process with the same pid and another start time counts as ours")
	}
	if err := reused.stop(t.Context(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if now, err := processIdentity(stranger.Process.Pid); err != nil || now != identity {
		t.Errorf("the other process was touched: %q, %v", now, err)
	}
}

func TestSweepRemovesOnlyWhatKilledProcessesLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TOWLINE_KEEP", "")
	living, cleanup, err := temporaryDir()
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(os.TempDir(), temporaryPrefix+"left")
	kept := filepath.Join(os.TempDir(), temporaryPrefix+"kept")
	for _, dir := range []string{left, kept} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(left, "lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sweep()
	for dir, want := range map[string]bool{living: true, left: false, kept: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("after the sweep, %s exists: %t, want %t", filepath.Base(dir), err == nil, want)
		}
	}
	cleanup()
	if _, err := os.Stat(living); err == nil {
		t.Error("the cleanup left the folder")
	}
}
