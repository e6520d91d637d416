package rbac_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/casbin/casbin/v2"
	"github.com/casbin/casbin/v2/model"
	"github.com/gobwas/glob"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/rbac"
)

// meaning is Argo CD's policy in the language of casbin: a role by g, three fields by patterns, an allow and no deny.
const meaning = `
[request_definition]
r = who, kind, verb, thing
[policy_definition]
p = who, kind, verb, thing, eft
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = g(r.who, p.who) && fits(r.kind, p.kind) && fits(r.verb, p.verb) && fits(r.thing, p.thing)
`

// oracle is casbin, asked in the order in which Argo CD asks it.
type oracle struct {
	base     *casbin.Enforcer
	projects map[string]*casbin.Enforcer
	standard string // the default role
}

func (d *duel) enforcer(mode rbac.Mode, lines []string) *casbin.Enforcer {
	d.Helper()
	m := d.model.Copy()
	for _, l := range lines {
		fields := fieldsOf(l)
		if err := m.AddPolicy(fields[0], fields[0], fields[1:]); err != nil {
			d.Fatal(err)
		}
	}
	e, err := casbin.NewEnforcer(m)
	if err != nil {
		d.Fatal(err)
	}
	e.AddFunction("fits", func(args ...any) (any, error) {
		text, pattern := args[0].(string), args[1].(string)
		if mode == rbac.Regex {
			return regexp.MatchString(pattern, text)
		}
		g, err := glob.Compile(pattern)
		return err == nil && g.Match(text), nil
	})
	if err := e.BuildRoleLinks(); err != nil {
		d.Fatal(err)
	}
	return e
}

// fieldsOf takes a line of this test apart: quotes are around whole fields.
func fieldsOf(line string) []string {
	var out []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			out = append(out, part)
			continue
		}
		for f := range strings.SplitSeq(strings.Trim(part, ", "), ",") {
			if f != "" {
				out = append(out, strings.TrimSpace(f))
			}
		}
	}
	return out
}

func (o *oracle) allows(t *testing.T, s rbac.Subject, q rbac.Question) bool {
	t.Helper()
	ask := func(e *casbin.Enforcer, who string) bool {
		ok, err := e.Enforce(who, q.Resource, q.Action, q.Object)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if o.standard != "" && ask(o.base, o.standard) {
		return true
	}
	name, inside := q.Object, q.Resource == "projects"
	if !inside && slices.Contains([]string{"applications", "applicationsets", "repositories", "clusters", "logs", "exec"}, q.Resource) {
		name, _, inside = strings.Cut(q.Object, "/")
	}
	e := o.base
	if p := o.projects[name]; inside && p != nil {
		e = p
		if parts := strings.Split(s.Name, ":"); len(parts) == 3 && parts[0] == "proj" {
			return parts[1] == name && (o.standard != "" && ask(e, o.standard) || ask(e, s.Name))
		}
	}
	if o.standard != "" && ask(e, o.standard) || ask(e, s.Name) {
		return true
	}
	given, err := e.GetGroupingPolicy()
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(s.Groups, func(g string) bool {
		return slices.ContainsFunc(given, func(line []string) bool { return line[0] == g }) && ask(e, g)
	})
}

// words are what random lines and questions are made of: few enough that they meet.
var words = struct {
	callers, roles, subjects    []string
	resources, actions, objects []string
	patterns                    map[rbac.Mode][3][]string
}{
	callers:   []string{"bob", "bob", "ann", "devs", "ops", "proj:shop:ci"},
	roles:     []string{"role:a", "role:a", "role:b", "role:c"},
	subjects:  []string{"bob", "ann", "devs", "ops", "role:a", "role:b", "role:c", "role:readonly", "role:admin", "proj:shop:ci", "proj:web:ci", "admin"},
	resources: []string{"applications", "applications", "applications", "applications", "projects", "clusters", "logs"},
	actions:   []string{"get", "get", "get", "sync", "sync", "delete", "delete/apps/Deployment/ns/web", "action//Pod/kill"},
	objects:   []string{"shop/web", "shop/web", "shop/web", "shop/ns/web", "web/api-2", "shop", "web", "https://eu", "nowhere/web"},
	patterns: map[rbac.Mode][3][]string{
		rbac.Glob: {
			{"applications", "applications", "applications", "applications*", "logs", "projects", "clusters", "*", "*", "app*", `"{applications,logs}"`},
			{"get", "get", "sync", "delete", "*", "*", "*", "delete/*", "action/*", "{get}", `"{get,sync}"`, "?et", "delete/*/Deployment/*/*", "[a-g]*", "s**c"},
			{"*", "*", "*/*", "*/*", "shop/*", "shop/*", "web/*", "shop/web", "shop", "web", "*/web", "s*p/**", "[!a-m]hop/*", "?eb/*-[0-9]", `"{shop,web}/{web,ns/*}"`, `sh\op/web`, "https://*", "*/ns/*", "*e*/*e*"},
		},
		rbac.Regex: {
			{"applications", "applications", "^app", ".*", "logs|projects", "clusters", "^applications$"},
			{"get", ".*", "^(get|sync)$", "delete/.*", "[a-g]et", "update|delete", "^delete$"},
			{".*", "shop", "^shop/", "/", "^(shop|web)/[a-z]+$", "web$", "^$", "https?://", `\d`},
		},
	},
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// mostly picks from the first list, and now and then from the second.
func mostly(r *rand.Rand, first, second []string) string {
	if r.IntN(3) == 0 {
		return pick(r, second)
	}
	return pick(r, first)
}

func randomRule(r *rand.Rand, mode rbac.Mode, subject string) string {
	p := words.patterns[mode]
	effect := "allow"
	if r.IntN(6) == 0 {
		effect = "deny"
	}
	return strings.Join([]string{"p", subject, pick(r, p[0]), pick(r, p[1]), pick(r, p[2]), effect}, ", ")
}

func randomLines(r *rand.Rand, mode rbac.Mode) []string {
	var out []string
	for range 6 + r.IntN(10) {
		out = append(out, randomRule(r, mode, mostly(r, words.roles, words.subjects)))
	}
	for range 1 + r.IntN(6) {
		out = append(out, fmt.Sprintf("g, %s, %s", mostly(r, words.callers, words.subjects), mostly(r, words.roles, words.subjects)))
	}
	// Now and then a chain that may be longer than anybody follows.
	if r.IntN(20) == 0 {
		length := 8 + r.IntN(5)
		out = append(out, "g, bob, role:0")
		for i := range length {
			out = append(out, fmt.Sprintf("g, role:%d, role:%d", i, i+1))
		}
		out = append(out, randomRule(r, mode, fmt.Sprintf("role:%d", length)))
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func randomProject(r *rand.Rand, mode rbac.Mode, name string) (*v1alpha1.AppProject, []string) {
	p := &v1alpha1.AppProject{ObjectMeta: metav1.ObjectMeta{Name: name}}
	own := "proj:" + name + ":ci"
	role := v1alpha1.ProjectRole{Name: "ci"}
	lines := []string{fmt.Sprintf("p, %s, projects, get, %s, allow", own, name)}
	if mode == rbac.Regex {
		lines[0] = fmt.Sprintf("p, %s, ^projects$, ^get$, ^%s$, allow", own, name)
	}
	for range r.IntN(3) {
		role.Policies = append(role.Policies, randomRule(r, mode, own))
	}
	lines = append(lines, role.Policies...)
	for range r.IntN(3) {
		group := mostly(r, words.callers, words.subjects)
		role.Groups = append(role.Groups, group)
		lines = append(lines, fmt.Sprintf("g, %s, %s", group, own))
	}
	p.Spec.Roles = []v1alpha1.ProjectRole{role}
	return p, lines
}

// The table and casbin agree about random policies, projects and questions. What cannot be read is left out: there the
// two differ on purpose.
func TestCasbinAgrees(t *testing.T) {
	policies, shards := 10_000, 4
	if testing.Short() {
		policies = 500
	}
	base, err := model.NewModelFromString(meaning)
	if err != nil {
		t.Fatal(err)
	}
	for shard := range shards {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			d := duel{T: t, r: rand.New(rand.NewPCG(1, uint64(shard))), model: base}
			for range policies / shards {
				d.fight()
			}
			t.Logf("%d questions, %d answered with yes", d.asked, d.yes)
			// Questions that all have the same answer would prove little.
			if d.yes < d.asked/10 || d.yes > d.asked*9/10 {
				t.Errorf("%d of %d answers are yes: the random lines miss the questions", d.yes, d.asked)
			}
		})
	}
}

// duel puts the same questions to both.
type duel struct {
	*testing.T
	r          *rand.Rand
	model      model.Model
	asked, yes int
}

func (d *duel) fight() {
	config := rbac.Config{NoBuiltin: d.r.IntN(20) != 0}
	if d.r.IntN(3) == 0 {
		// Casbin would read the lines that are always there as regular expressions, which they are not.
		config.Mode, config.NoBuiltin = rbac.Regex, true
	}
	if d.r.IntN(3) == 0 {
		config.Default = pick(d.r, words.subjects)
	}
	lines := randomLines(d.r, config.Mode)
	config.Documents = []rbac.Document{{Name: "policy.csv", Text: strings.Join(lines, "\n")}}
	if !config.NoBuiltin {
		for line := range strings.Lines(rbac.Builtin().Text) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	o := &oracle{base: d.enforcer(config.Mode, lines), projects: map[string]*casbin.Enforcer{}, standard: config.Default}
	table, problems := rbac.Compile(config)
	rights, all := rbac.NewRights(table), lines
	for _, name := range []string{"shop", "web"} {
		if d.r.IntN(3) != 0 {
			continue
		}
		project, more := randomProject(d.r, config.Mode, name)
		o.projects[name] = d.enforcer(config.Mode, slices.Concat(lines, more))
		var bad []rbac.Problem
		rights, bad = rights.With(project)
		problems, all = append(problems, bad...), slices.Concat(all, []string{"in project " + name + ":"}, more)
	}
	if i := slices.IndexFunc(problems, func(p rbac.Problem) bool { return !p.Hint }); i >= 0 {
		d.Fatalf("a good line is taken for a bad one: %s (%s)", problems[i], problems[i].Line.Text)
	}
	for range 2 {
		who := rbac.Subject{Name: mostly(d.r, words.callers, words.subjects)}
		for range d.r.IntN(3) {
			who.Groups = append(who.Groups, mostly(d.r, words.callers, words.subjects))
		}
		q := rbac.Question{Resource: pick(d.r, words.resources), Action: pick(d.r, words.actions), Object: pick(d.r, words.objects)}
		want, got := o.allows(d.T, who, q), rights.Decide(who, q)
		many := rights.Allowing(who, q.Resource, q.Action)(q.Object)
		if got.Allowed != want || many != want {
			d.Fatalf("default %q, %s: may %v %s? casbin says %t, the table %t (%s), for many objects %t; the lines are\n%s",
				config.Default, config.Mode, who, q, want, got.Allowed, got.Why, many, strings.Join(all, "\n"))
		}
		d.asked++
		if want {
			d.yes++
		}
	}
}
