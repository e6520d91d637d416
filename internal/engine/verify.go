package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/manifest"
	"github.com/towline-cd/towline/internal/core/policy"
)

// verify checks what the project demands of the commits at hand. One that is not
// signed as it should be is not compared with: nothing of it reaches a cluster.
func (e *Engine) verify(ctx context.Context, o *observation, project policy.Project) error {
	if len(o.look.manifests) > 0 {
		return nil
	}
	for i, s := range o.content.Sources {
		if s.Chart != "" || strings.HasPrefix(s.RepoURL, "oci://") {
			continue
		}
		demand := policy.Integrity(project, s.RepoURL)
		if demand.Mode == v1alpha1.SourceIntegrityGPGModeNone {
			continue
		}
		why := "cannot be checked for a signature here"
		if e.Verifier != nil {
			var err error
			if why, err = e.Verifier.Verify(ctx, manifest.OriginOf(o.app, s), o.content.Revisions[i], demand); err != nil {
				return fmt.Errorf("checking the signature of %s: %w", o.described(i), err)
			}
		}
		if why == "" {
			continue
		}
		o.findings = append(o.findings, finding.Finding{
			Reason: finding.Comparison, Severity: finding.Error,
			Message: fmt.Sprintf("project %q wants the commits of %s signed, and %s %s",
				o.app.ProjectName(), policy.Address(s.RepoURL), short(o.content.Revisions[i]), why),
		})
	}
	return nil
}
