package account

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// ProjectTokens are the tokens of a role: those that the status has, and those
// that somebody wrote into the role itself.
func ProjectTokens(p *v1alpha1.AppProject, role string) []v1alpha1.JWTToken {
	out := slices.Clone(p.Status.JWTTokensByRole[role].Items)
	if i := roleIndex(p, role); i >= 0 {
		for _, t := range p.Spec.Roles[i].JWTTokens {
			if !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out
}

func roleIndex(p *v1alpha1.AppProject, role string) int {
	return slices.IndexFunc(p.Spec.Roles, func(r v1alpha1.ProjectRole) bool { return r.Name == role })
}

// AddProjectToken writes a token into the status of a project; what Git says
// of the role stays as it is.
func AddProjectToken(p *v1alpha1.AppProject, role string, t Token) error {
	if roleIndex(p, role) < 0 {
		return fmt.Errorf("project %q has no role %q", p.Name, role)
	}
	if slices.ContainsFunc(ProjectTokens(p, role), func(have v1alpha1.JWTToken) bool { return have.ID == t.ID }) {
		return fmt.Errorf("role %q of project %q has a token with the id %q already; choose another, or delete that one first",
			role, p.Name, t.ID)
	}
	if p.Status.JWTTokensByRole == nil {
		p.Status.JWTTokensByRole = map[string]v1alpha1.JWTTokens{}
	}
	list := p.Status.JWTTokensByRole[role]
	list.Items = append(slices.Clone(list.Items), v1alpha1.JWTToken{ID: t.ID, IssuedAt: t.IssuedAt, ExpiresAt: t.ExpiresAt})
	p.Status.JWTTokensByRole[role] = list
	return nil
}

// RemoveProjectToken takes a token off both lists, by its id or, if that is
// empty, by the time of its issue.
func RemoveProjectToken(p *v1alpha1.AppProject, role string, t Token) (found bool) {
	is := func(have v1alpha1.JWTToken) bool {
		if t.ID != "" {
			return have.ID == t.ID
		}
		return have.IssuedAt == t.IssuedAt
	}
	if list, ok := p.Status.JWTTokensByRole[role]; ok {
		rest := slices.DeleteFunc(slices.Clone(list.Items), is)
		found = len(rest) < len(list.Items)
		list.Items = rest
		p.Status.JWTTokensByRole[role] = list
	}
	if i := roleIndex(p, role); i >= 0 {
		list := p.Spec.Roles[i].JWTTokens
		rest := slices.DeleteFunc(slices.Clone(list), is)
		found = found || len(rest) < len(list)
		p.Spec.Roles[i].JWTTokens = rest
	}
	return found
}

// matchesOld says that an entry of a project stands for a token by the time of
// its issue alone: older entries have that in place of an id, or no id at all.
func matchesOld(entry Token, issued time.Time) bool {
	old := entry.ID == "" || entry.ID == strconv.FormatInt(entry.IssuedAt, 10)
	return old && entry.IssuedAt == issued.Unix()
}
