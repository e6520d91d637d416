package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/field"
	"github.com/towline-cd/towline/internal/core/finding"
	"github.com/towline-cd/towline/internal/core/object"
)

// Judge is the verdict that an answer of the server stands for.
func Judge(it Item, a Answer, rules diff.Rules) diff.Verdict {
	v := diff.Verdict{Desired: it.Pair, Live: it.Live.Digest, Version: it.Live.ResourceVersion}
	if a.Problem != "" {
		v.Problem, v.Rejected = a.Problem, a.Rejected
		if a.Rejected {
			v.Problem = diff.Named(a.Problem, diff.Immutable(it.Desired.Body, a.Live, a.Problem, v1alpha1.FieldManagerApply))
		}
		if a.Rejected && a.Earlier != nil {
			// What the server refuses may be the new beside the old that was left
			// behind; a sync takes the old over first.
			leave(&v, a.Live, diff.Standing(it.Desired.Body, a.Live, a.Earlier))
		}
		return v
	}
	v.Version, v.Live = a.Live.GetResourceVersion(), judged(*it.Live, a.Live)
	live, predicted, problems := rules.For(it.Key).Strip(a.Live, a.Predicted)
	if a.Replaced {
		v.Live = object.Digest{}
		v.Changes = diff.JudgeReplaced(
			diff.Replacing{Desired: it.Desired.Body, Live: live, Predicted: predicted, Earlier: a.Earlier}, v1alpha1.FieldManagerApply)
		return explained(v, problems)
	}
	if len(a.Cleared) > 0 {
		// The prediction is a merge, which owns nothing: all that differs is ours.
		v.Changes, v.Left = diff.Compare(live, predicted), a.Cleared
		return explained(v, problems)
	}
	v.Changes, v.Confirmed = diff.Judge(live, predicted, v1alpha1.FieldManagerApply)
	if a.Webhooks {
		v.Changes, v.Confirmed = diff.Compare(live, predicted), false
	}
	if a.Earlier != nil {
		leave(&v, live, diff.Left(it.Desired.Body, live, predicted, a.Earlier))
	}
	if a.Refusal != "" && len(v.Changes) > 0 {
		v.Problem, v.Rejected = a.Refusal, true
		return v
	}
	return explained(v, problems)
}

// explained adds a rule that failed: it was followed on neither side. Where
// nothing differs it does not matter, and where something does it may be what
// the rule is about.
func explained(v diff.Verdict, problems []finding.Finding) diff.Verdict {
	if len(problems) > 0 && len(v.Changes) > 0 {
		v.Problem = problems[0].Message
	}
	return v
}

// leave adds what an earlier manifest left behind.
func leave(v *diff.Verdict, live *unstructured.Unstructured, left []field.Difference) {
	v.Changes = append(v.Changes, diff.LeftBehind(live, left, v1alpha1.FieldManagerApply)...)
	for _, l := range left {
		v.Left = append(v.Left, l.Elements)
	}
}

// judged names the reading that an answer is about by what we own of it. It
// may be a newer one than the fact, or in another version of the kind than the
// one that is watched; then only its version names it.
func judged(f object.Fact, live *unstructured.Unstructured) object.Digest {
	if live.GetResourceVersion() == f.ResourceVersion {
		return f.Digest
	}
	if live.GroupVersionKind().Version == f.Version {
		return object.LiveDigest(live, v1alpha1.FieldManagerApply)
	}
	return object.Digest{}
}

func judge(v diff.Verdict) (Action, Sync, string) {
	switch {
	case v.Rejected:
		return Update, OutOfSync, v.Problem
	case v.Problem != "":
		return Update, Unknown, v.Problem
	case v.InSync():
		return Unchanged, Synced, ""
	default:
		return Update, OutOfSync, ""
	}
}
