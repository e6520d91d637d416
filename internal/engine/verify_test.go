package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/policy"
)

// notary knows which commits are signed.
type notary map[string]string

func (n notary) Verify(_ context.Context, _ manifest.Origin, commit string, d policy.Demand) (string, error) {
	if n[commit] == d.Keys[0] {
		return "", nil
	}
	return "is not signed", nil
}

// TestACommitThatIsNotSignedReachesNobody: where the project wants it signed.
func TestACommitThatIsNotSignedReachesNobody(t *testing.T) {
	w := newWorld(shop())
	w.project.Spec.SignatureKeys = []v1alpha1.SignatureKey{{KeyID: "4AEE18F83AFDEB23"}}
	w.commits["c1"], w.head = earlier, "c1"
	e := w.engine()
	for name, verifier := range map[string]Verifier{"nobody who could tell": nil, "not signed": notary{"c2": "4AEE18F83AFDEB23"}} {
		e.Verifier = verifier
		w.idle(t, e, -1)
		if len(w.applied) != 0 || len(w.app.Status.Conditions) == 0 || !strings.Contains(w.app.Status.Conditions[0].Message, "signed") {
			t.Fatalf("%s: applied %v, conditions %v", name, w.applied, w.app.Status.Conditions)
		}
	}
	e.Verifier = notary{"c1": "4AEE18F83AFDEB23"}
	e.quiet = newQuiet()
	w.idle(t, e, -1)
	if w.app.Status.Sync.Status != v1alpha1.SyncStatusCodeSynced {
		t.Errorf("signed: %s, %v", w.app.Status.Sync.Status, w.app.Status.Conditions)
	}
}
