package registrar

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/roster"
)

// scope is where rights are given: the whole cluster, or one namespace. Kubernetes has two kinds for each, which differ in
// nothing else.
type scope struct {
	client    kubernetes.Interface
	namespace string
}

func (t *Target) scopes(namespaces []string) []scope {
	if len(namespaces) == 0 {
		return []scope{{client: t.client}}
	}
	out := make([]scope, len(namespaces))
	for i, ns := range namespaces {
		out[i] = scope{client: t.client, namespace: ns}
	}
	return out
}

// role and binding are the objects that stand, whichever kind they are of.
type role struct {
	meta  metav1.ObjectMeta
	rules []rbacv1.PolicyRule
}

type binding struct {
	meta     metav1.ObjectMeta
	ref      rbacv1.RoleRef
	role     string
	subjects []rbacv1.Subject
}

func equalRules(a, b []rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(a, b) }

func (s scope) roleWords() string {
	if s.namespace == "" {
		return "ClusterRole " + roster.ManagerRole
	}
	return fmt.Sprintf("Role %s/%s", s.namespace, roster.ManagerRole)
}

func (s scope) bindingWords() string {
	if s.namespace == "" {
		return "ClusterRoleBinding " + roster.ManagerBinding
	}
	return fmt.Sprintf("RoleBinding %s/%s", s.namespace, roster.ManagerBinding)
}

func (s scope) role(ctx context.Context) (role, error) {
	if s.namespace == "" {
		r, err := s.client.RbacV1().ClusterRoles().Get(ctx, roster.ManagerRole, metav1.GetOptions{})
		if err != nil {
			return role{}, err
		}
		return role{r.ObjectMeta, r.Rules}, nil
	}
	r, err := s.client.RbacV1().Roles(s.namespace).Get(ctx, roster.ManagerRole, metav1.GetOptions{})
	if err != nil {
		return role{}, err
	}
	return role{r.ObjectMeta, r.Rules}, nil
}

func (s scope) makeRole(ctx context.Context, rules []rbacv1.PolicyRule) error {
	meta := metav1.ObjectMeta{Name: roster.ManagerRole, Namespace: s.namespace}
	var err error
	if s.namespace == "" {
		_, err = s.client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, by())
	} else {
		_, err = s.client.RbacV1().Roles(s.namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, by())
	}
	return err
}

func (s scope) setRole(ctx context.Context, r role) error {
	o := metav1.UpdateOptions{FieldManager: v1alpha1.FieldManagerAction}
	var err error
	if s.namespace == "" {
		_, err = s.client.RbacV1().ClusterRoles().Update(ctx, &rbacv1.ClusterRole{ObjectMeta: r.meta, Rules: r.rules}, o)
	} else {
		_, err = s.client.RbacV1().Roles(s.namespace).Update(ctx, &rbacv1.Role{ObjectMeta: r.meta, Rules: r.rules}, o)
	}
	return err
}

func (s scope) dropRole(ctx context.Context, r role) error {
	if s.namespace == "" {
		return s.client.RbacV1().ClusterRoles().Delete(ctx, r.meta.Name, only(r.meta))
	}
	return s.client.RbacV1().Roles(s.namespace).Delete(ctx, r.meta.Name, only(r.meta))
}

func (s scope) binding(ctx context.Context) (binding, error) {
	if s.namespace == "" {
		b, err := s.client.RbacV1().ClusterRoleBindings().Get(ctx, roster.ManagerBinding, metav1.GetOptions{})
		if err != nil {
			return binding{}, err
		}
		return binding{b.ObjectMeta, b.RoleRef, b.RoleRef.Name, b.Subjects}, nil
	}
	b, err := s.client.RbacV1().RoleBindings(s.namespace).Get(ctx, roster.ManagerBinding, metav1.GetOptions{})
	if err != nil {
		return binding{}, err
	}
	return binding{b.ObjectMeta, b.RoleRef, b.RoleRef.Name, b.Subjects}, nil
}

func (s scope) makeBinding(ctx context.Context, subject rbacv1.Subject) error {
	meta := metav1.ObjectMeta{Name: roster.ManagerBinding, Namespace: s.namespace}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: roster.ManagerRole}
	subjects := []rbacv1.Subject{subject}
	var err error
	if s.namespace == "" {
		b := &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
		_, err = s.client.RbacV1().ClusterRoleBindings().Create(ctx, b, by())
		return err
	}
	ref.Kind = "Role"
	b := &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
	_, err = s.client.RbacV1().RoleBindings(s.namespace).Create(ctx, b, by())
	return err
}

func (s scope) setBinding(ctx context.Context, b binding) error {
	o := metav1.UpdateOptions{FieldManager: v1alpha1.FieldManagerAction}
	var err error
	if s.namespace == "" {
		now := &rbacv1.ClusterRoleBinding{ObjectMeta: b.meta, RoleRef: b.ref, Subjects: b.subjects}
		_, err = s.client.RbacV1().ClusterRoleBindings().Update(ctx, now, o)
		return err
	}
	now := &rbacv1.RoleBinding{ObjectMeta: b.meta, RoleRef: b.ref, Subjects: b.subjects}
	_, err = s.client.RbacV1().RoleBindings(s.namespace).Update(ctx, now, o)
	return err
}

func (s scope) dropBinding(ctx context.Context, b binding) error {
	if s.namespace == "" {
		return s.client.RbacV1().ClusterRoleBindings().Delete(ctx, b.meta.Name, only(b.meta))
	}
	return s.client.RbacV1().RoleBindings(s.namespace).Delete(ctx, b.meta.Name, only(b.meta))
}
