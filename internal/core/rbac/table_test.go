package rbac_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/rbac"
)

func TestNothingReadIsNothingAllowed(t *testing.T) {
	q := rbac.Question{Resource: rbac.Applications, Action: rbac.Get, Object: "shop/web"}
	admin := rbac.Subject{Name: "admin"}
	var rights *rbac.Rights
	var table *rbac.Table
	for name, v := range map[string]rbac.Verdict{"rights": rights.Decide(admin, q), "table": table.Decide(admin, q)} {
		if v.Allowed || !strings.Contains(v.Why, "not read yet") {
			t.Errorf("without %s: %+v", name, v)
		}
	}
	if rights.Allowing(admin, q.Resource, q.Action)(q.Object) || table.Allowing(admin, q.Resource, q.Action)(q.Object) {
		t.Error("objects are allowed before anything was read")
	}
}

func TestATooLargePolicyAllowsNothing(t *testing.T) {
	text := strings.Repeat("p, role:a, applications, get, */*, allow\n", 300_000)
	table, problems := rbac.Compile(rbac.Config{Documents: []rbac.Document{{Name: "policy.csv", Text: text}}})
	if len(problems) != 1 || !strings.Contains(problems[0].String(), "bytes") {
		t.Fatalf("the problems are %v", problems)
	}
	v := table.Decide(rbac.Subject{Name: "role:a"}, rbac.Question{Resource: rbac.Applications, Action: rbac.Get, Object: "shop/web"})
	if v.Allowed {
		t.Errorf("allowed by %s", v.Line)
	}
}

func project(name string, policies ...string) *v1alpha1.AppProject {
	return &v1alpha1.AppProject{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.AppProjectSpec{Roles: []v1alpha1.ProjectRole{{Name: "ci", Policies: policies, Groups: []string{"devs"}}}},
	}
}

// Rights never change; what changes is which ones are asked.
func TestRightsAreReplaced(t *testing.T) {
	table, _ := rbac.Compile(rbac.Config{})
	bob := rbac.Subject{Name: "bob", Groups: []string{"devs"}}
	q := rbac.Question{Resource: rbac.Applications, Action: rbac.Sync, Object: "shop/web"}
	none := rbac.NewRights(table)
	p := project("shop", "p, proj:shop:ci, applications, sync, shop/*, allow")
	one, problems := none.With(p)
	if problems != nil {
		t.Fatal(problems)
	}
	p.Spec.Roles[0].Policies[0] = "p, proj:shop:ci, applications, sync, shop/*, deny"
	two, _ := one.With(p)
	gone := two.Without("shop")
	regex, _ := rbac.Compile(rbac.Config{Mode: rbac.Regex})
	other, problems := one.On(regex)
	same, _ := one.On(table)
	var got []bool
	for _, r := range []*rbac.Rights{none, one, two, gone, other, same} {
		got = append(got, r.Decide(bob, q).Allowed)
	}
	if d := cmp.Diff([]bool{false, true, false, false, true, true}, got); d != "" {
		t.Errorf("who may (-want +got):\n%s", d)
	}
	if len(problems) != 0 {
		t.Errorf("problems in the other mode: %v", problems)
	}
	starred, _ := none.With(project("shop", "p, proj:shop:ci, applications, *, shop/*, allow"))
	if !starred.Decide(bob, q).Allowed {
		t.Error("a star is not read as a glob")
	}
	if starred, problems = starred.On(regex); starred.Decide(bob, q).Allowed || len(problems) != 1 {
		t.Errorf("a star is read as a regular expression: %v", problems)
	}
}

// fleet is many applications in many projects, and somebody with many groups.
func fleet(tb testing.TB) (*rbac.Rights, rbac.Subject, []string) {
	tb.Helper()
	var policy strings.Builder
	who := rbac.Subject{Name: "bob"}
	var projects []*v1alpha1.AppProject
	for i := range 500 {
		fmt.Fprintf(&policy, "p, role:team-%d, applications, get, team-%d/*, allow\ng, group-%d, role:team-%d\n", i, i, i, i)
		projects = append(projects, project(fmt.Sprintf("team-%d", i), fmt.Sprintf("p, proj:team-%d:ci, applications, sync, team-%d/*, allow", i, i)))
		if i < 100 {
			who.Groups = append(who.Groups, fmt.Sprintf("group-%d", i))
		}
	}
	table, problems := rbac.Compile(rbac.Config{Documents: []rbac.Document{{Name: "policy.csv", Text: policy.String()}}})
	if problems != nil {
		tb.Fatal(problems)
	}
	rights, problems := rbac.NewRights(table).With(projects...)
	if problems != nil {
		tb.Fatal(problems)
	}
	objects := make([]string, 50_000)
	for i := range objects {
		objects[i] = fmt.Sprintf("team-%d/app-%d", i%500, i)
	}
	return rights, who, objects
}

func TestManyObjects(t *testing.T) {
	rights, who, objects := fleet(t)
	may := rights.Allowing(who, rbac.Applications, rbac.Get)
	count := 0
	for _, o := range objects {
		if may(o) {
			count++
		}
	}
	if count != len(objects)/5 {
		t.Errorf("%d of %d applications are seen", count, len(objects))
	}
}

func BenchmarkAllowing50000(b *testing.B) {
	rights, who, objects := fleet(b)
	for b.Loop() {
		may := rights.Allowing(who, rbac.Applications, rbac.Get)
		for _, o := range objects {
			may(o)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	rights, who, _ := fleet(b)
	q := rbac.Question{Resource: rbac.Applications, Action: rbac.Get, Object: "team-99/app"}
	for b.Loop() {
		rights.Decide(who, q)
	}
}
