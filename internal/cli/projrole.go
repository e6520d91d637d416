package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// This file is what people do to the roles of projects.

func roleOf(p *v1alpha1.AppProject, name string) (*v1alpha1.ProjectRole, error) {
	for i := range p.Spec.Roles {
		if p.Spec.Roles[i].Name == name {
			return &p.Spec.Roles[i], nil
		}
	}
	return nil, fmt.Errorf("project %q has no role %q; %q shows those that it has", p.Name, name, "towline proj role list "+p.Name)
}

func createRole(name, description string) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		if _, err := roleOf(p, name); err == nil {
			return fmt.Sprintf("role %q is there already", name), nil
		}
		p.Spec.Roles = append(p.Spec.Roles, v1alpha1.ProjectRole{Name: name, Description: description})
		return fmt.Sprintf("role %q created", name), nil
	}
}

func deleteRole(name string) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		var found bool
		p.Spec.Roles, found = without(p.Spec.Roles, func(r v1alpha1.ProjectRole) bool { return r.Name == name })
		if !found {
			return fmt.Sprintf("role %q was not there", name), nil
		}
		delete(p.Status.JWTTokensByRole, name)
		return fmt.Sprintf("role %q deleted", name), nil
	}
}

// grant is a line of the RBAC language about a project.
type grant struct{ resource, action, object, permission string }

// grantable are the resources that belong to projects.
var grantable = []string{"applications", "applicationsets", "clusters", "exec", "logs", "repositories"}

func (g grant) check() error {
	switch {
	case !slices.Contains(grantable, g.resource):
		return usagef("--resource is one of %s, not %q", strings.Join(grantable, ", "), g.resource)
	case g.action == "":
		return usagef("say what is granted with --action, as in --action sync")
	case g.object == "":
		return usagef(`say on what with --object, as in --object web or --object "*"`)
	case g.permission != "allow" && g.permission != "deny":
		return usagef("--permission is allow or deny, not %q", g.permission)
	}
	return nil
}

func (g grant) line(project, role string) string {
	return fmt.Sprintf("p, proj:%s:%s, %s, %s, %s/%s, %s", project, role, g.resource, g.action, project, g.object, g.permission)
}

func addPolicy(role string, g grant) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		r, err := roleOf(p, role)
		if err != nil {
			return "", err
		}
		line := g.line(p.Name, role)
		if slices.Contains(r.Policies, line) {
			return fmt.Sprintf("role %q has the policy already: %s", role, line), nil
		}
		r.Policies = append(r.Policies, line)
		return fmt.Sprintf("role %q has the policy: %s", role, line), nil
	}
}

func removePolicy(role string, g grant) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		r, err := roleOf(p, role)
		if err != nil {
			return "", err
		}
		line := g.line(p.Name, role)
		var found bool
		r.Policies, found = without(r.Policies, func(have string) bool { return have == line })
		if !found {
			return fmt.Sprintf("role %q did not have the policy: %s", role, line), nil
		}
		return fmt.Sprintf("role %q has the policy no more: %s", role, line), nil
	}
}

func addGroup(role, group string) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		r, err := roleOf(p, role)
		if err != nil {
			return "", err
		}
		if slices.Contains(r.Groups, group) {
			return fmt.Sprintf("group %q has the role %q already", group, role), nil
		}
		r.Groups = append(r.Groups, group)
		return fmt.Sprintf("group %q has the role %q", group, role), nil
	}
}

func removeGroup(role, group string) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		r, err := roleOf(p, role)
		if err != nil {
			return "", err
		}
		var found bool
		r.Groups, found = without(r.Groups, func(have string) bool { return have == group })
		if !found {
			return fmt.Sprintf("group %q did not have the role %q", group, role), nil
		}
		return fmt.Sprintf("group %q has the role %q no more", group, role), nil
	}
}

// tokensOf are the tokens of a role: the status has them, and older projects
// the role itself.
func tokensOf(p *v1alpha1.AppProject, r *v1alpha1.ProjectRole) []v1alpha1.JWTToken {
	out := slices.Clone(p.Status.JWTTokensByRole[r.Name].Items)
	for _, t := range r.JWTTokens {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// deleteToken takes a token off both lists: one that is on neither is refused
// at the next use.
func deleteToken(role string, issuedAt int64) projEdit {
	return func(p *v1alpha1.AppProject) (string, error) {
		r, err := roleOf(p, role)
		if err != nil {
			return "", err
		}
		issued := func(t v1alpha1.JWTToken) bool { return t.IssuedAt == issuedAt }
		if !slices.ContainsFunc(tokensOf(p, r), issued) {
			return "", fmt.Errorf("role %q of project %q has no token of %d; %q shows those that it has",
				role, p.Name, issuedAt, "towline proj role list-tokens --unixtime "+p.Name+" "+role)
		}
		r.JWTTokens = slices.DeleteFunc(slices.Clone(r.JWTTokens), issued)
		if all, ok := p.Status.JWTTokensByRole[role]; ok {
			all.Items = slices.DeleteFunc(slices.Clone(all.Items), issued)
			p.Status.JWTTokensByRole[role] = all
		}
		return fmt.Sprintf("token of %d of role %q is refused from now on", issuedAt, role), nil
	}
}
