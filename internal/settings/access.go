package settings

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/rbac"
)

// Access is how permissions are asked for.
type Access struct {
	// Inherit says that whoever may update or delete an application may do so
	// with its objects.
	Inherit bool
	// Rollback says that a rollback is a right of its own, and not that of a
	// sync.
	Rollback bool
	// Revision says that syncing to another revision than the application's own
	// is a right of its own.
	Revision bool
}

// accessKeys are the keys of argocd-cm that parseAccess reads.
var accessKeys = []string{
	v1alpha1.KeyDisableFineGrainedInherit, v1alpha1.KeyRBACRollbackEnforce, v1alpha1.KeyRequireOverrideForRevision,
}

// parseAccess reads what argocd-cm says about permissions. What cannot be read
// leaves fewer rights.
func parseAccess(data map[string]string) (Access, []string) {
	var problems []string
	strict := func(key string, silent bool) bool {
		text := data[key]
		if text == "" {
			return silent
		}
		on, err := strconv.ParseBool(text)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %q is neither true nor false; using true", key, text))
			return true
		}
		return on
	}
	return Access{
		Inherit:  !strict(v1alpha1.KeyDisableFineGrainedInherit, true),
		Rollback: strict(v1alpha1.KeyRBACRollbackEnforce, false),
		Revision: strict(v1alpha1.KeyRequireOverrideForRevision, false),
	}, problems
}

// policyStore keeps the compiled permissions.
type policyStore struct {
	current atomic.Pointer[rbac.Table]
	changed func(*rbac.Table)
	last    rbac.Config
}

// set compiles what argocd-rbac-cm says, if it says something else. The new
// table holds from now on: a right that was taken away is gone with the event.
func (p *policyStore) set(ctx context.Context, data map[string]string, access Access) {
	config, problems := readPolicy(data, access)
	if p.current.Load() != nil && reflect.DeepEqual(p.last, config) {
		return
	}
	table, bad := rbac.Compile(config)
	for _, problem := range append(problems, bad...) {
		slog.WarnContext(ctx, "a permission could not be read", "configMap", v1alpha1.ConfigMapRBAC, "problem", problem.String())
	}
	p.last = config
	p.current.Store(table)
	if p.changed != nil {
		p.changed(table)
	}
}

func readPolicy(data map[string]string, access Access) (rbac.Config, []rbac.Problem) {
	config, problems := rbac.Read(data)
	config.Inherit = access.Inherit
	return config, problems
}

// Policy is who may do what, as it stands; nil before the first reading, which
// refuses all.
func (s *Store) Policy() *rbac.Table { return s.policy.current.Load() }

// ReadPolicy reads who may do what once.
func ReadPolicy(ctx context.Context, config *rest.Config, namespace string) (rbac.Config, []rbac.Problem, error) {
	s, err := Read(ctx, config, namespace)
	if err != nil {
		return rbac.Config{}, nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return rbac.Config{}, nil, fmt.Errorf("making a client for the settings: %w", err)
	}
	cm, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, v1alpha1.ConfigMapRBAC, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return rbac.Config{}, nil, fmt.Errorf("reading config map %q: %w", v1alpha1.ConfigMapRBAC, err)
	}
	var data map[string]string
	if err == nil {
		data = cm.Data
	}
	out, problems := readPolicy(data, s.Access)
	return out, problems, nil
}
