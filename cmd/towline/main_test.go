package main

import (
	"os"
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// The program renders in workers of its own, and in tests that is this one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == renderWorker {
		os.Exit(workOnRenders())
	}
	os.Exit(m.Run())
}

// The program goes by several names, and people see the one that they typed.
func TestCalledAs(t *testing.T) {
	for path, want := range map[string][2]string{
		"/usr/bin/towline":                  {"towline", "towline"},
		"/tmp/towline-linux-amd64":          {"towline", "towline"},
		"/usr/local/bin/argocd":             {"argocd", "argocd"},
		"/usr/bin/kubectl-towline":          {"kubectl-towline", "kubectl towline"},
		"/usr/bin/kubectl_complete-towline": {"kubectl-towline", "kubectl towline"},
	} {
		if use, shown := calledAs(path); use != want[0] || shown != want[1] {
			t.Errorf("%s is called %q, shown as %q", path, use, shown)
		}
	}
}

// A project that changes for other reasons than its roles is no reason for streams to ask what they may show.
func TestRolesOfProjects(t *testing.T) {
	told := 0
	r := &rights{changed: func() { told++ }}
	project := &v1alpha1.AppProject{}
	project.Name = "web"
	for i, step := range []struct {
		change func() *v1alpha1.AppProject
		want   int
	}{
		{func() *v1alpha1.AppProject { return project }, 1},
		{func() *v1alpha1.AppProject {
			p := project.DeepCopy()
			p.Spec.Description = "the shops"
			return p
		}, 1},
		{func() *v1alpha1.AppProject {
			p := project.DeepCopy()
			p.Spec.Roles = []v1alpha1.ProjectRole{{Name: "ci", Policies: []string{"p, proj:web:ci, applications, get, web/*, allow"}}}
			return p
		}, 2},
		{func() *v1alpha1.AppProject { return nil }, 3},
		{func() *v1alpha1.AppProject { return nil }, 3},
	} {
		r.projectChanged("web", step.change())
		if told != step.want {
			t.Errorf("after step %d it was told %d times, want %d", i, told, step.want)
		}
	}
}
