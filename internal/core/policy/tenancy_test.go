package policy_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/test/story"
)

// tenants is what a story about projects begins with.
type tenants struct {
	tenancy  policy.Tenancy
	projects map[string]*v1alpha1.AppProject
	// first is the project that is asked, and globals those whose rules it has too.
	first   *v1alpha1.AppProject
	globals []*v1alpha1.AppProject
	// owned is what secrets say is for one project, by its name.
	owned map[string]policy.Owned
}

// Each file is a story: given projects (the first is the one that is asked, the others may be global) and what an
// installation says of them, when something is asked, then this is the verdict. A question is one of
//
//	repo URL | to SERVER NAME NAMESPACE | write GROUP/KIND NAMESPACE/NAME on SERVER NAME [of PROJECT]
//	as SERVER DESTINATION NAMESPACE | app NAMESPACE | windows | faults
//
// with "-" for what is empty; a name without a namespace is of a cluster-scoped object.
func TestTenancy(t *testing.T) {
	story.Play(t, "testdata/tenancy/*.txtar", func(t *testing.T, part map[string][]byte) string {
		in := read(t, part)
		names, faults := in.tenancy.GlobalsOf(in.first)
		for _, name := range names {
			if g, ok := in.projects[name]; ok {
				in.globals = append(in.globals, g)
			}
		}
		p := policy.Effective(in.first, in.globals, in.owned[in.first.Name])
		p.SharesClusters, p.DenyAllowsRest = in.tenancy.ByLetter, in.tenancy.ByLetter
		var out strings.Builder
		if len(names) > 0 {
			fmt.Fprintf(&out, "global projects: %s\n", strings.Join(names, ", "))
		}
		for _, f := range faults {
			fmt.Fprintf(&out, "fault: %s\n", f)
		}
		for line := range strings.Lines(string(part["when"])) {
			fmt.Fprintf(&out, "%s\n", strings.TrimSpace(line))
			for _, said := range in.ask(t, p, strings.Fields(line)) {
				fmt.Fprintf(&out, "    %s\n", said)
			}
		}
		return out.String()
	})
}

func read(t *testing.T, part map[string][]byte) tenants {
	t.Helper()
	in := tenants{projects: map[string]*v1alpha1.AppProject{}, owned: map[string]policy.Owned{}}
	for document := range bytes.SplitSeq(part["given"], []byte("---\n")) {
		p := &v1alpha1.AppProject{}
		if err := yaml.UnmarshalStrict(document, p); err != nil {
			t.Fatal(err)
		}
		if in.first == nil {
			in.first = p
		}
		in.projects[p.Name] = p
	}
	for name, into := range map[string]any{"installation": &in.tenancy, "owned": &in.owned} {
		if err := yaml.UnmarshalStrict(part[name], into); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

func (in tenants) ask(t *testing.T, p policy.Project, words []string) []string {
	t.Helper()
	for i, w := range words {
		if w == "-" {
			words[i] = ""
		}
	}
	verdict := func(v policy.Verdict) []string {
		word := "refused: "
		if v.Allowed {
			word = "allowed: "
		}
		return []string{strings.TrimSuffix(word+v.Why(), ": ")}
	}
	switch words[0] {
	case "repo":
		return verdict(policy.Source(p, words[1]))
	case "to":
		return verdict(policy.DestinationOf(p, words[1], words[2], words[3]))
	case "write":
		group, kind, _ := strings.Cut(words[1], "/")
		namespace, name, namespaced := strings.Cut(words[2], "/")
		if !namespaced {
			namespace, name = "", namespace
		}
		at := policy.Place{Server: words[4], Name: words[5]}
		if i := slices.Index(words, "of"); i > 0 {
			at.Project = words[i+1]
		}
		return verdict(policy.Write(p, at, object.Key{Group: group, Kind: kind, Namespace: namespace, Name: name}, namespaced))
	case "as":
		user, v := policy.Identity(p, in.tenancy, policy.Seat{Server: words[1], Destination: words[2], Namespace: words[3]})
		return append(verdict(v), fmt.Sprintf("user %q", user))
	case "app":
		return verdict(policy.SourceNamespace(p, "argocd", words[1]))
	case "windows":
		var out []string
		for _, w := range policy.EffectiveWindows(in.first, in.globals) {
			out = append(out, w.String())
		}
		return out
	case "faults":
		var out []string
		for _, f := range policy.Faults(in.first) {
			out = append(out, fmt.Sprintf("%s %s: %s", f.Severity, f.Reason, f.Message))
		}
		return out
	}
	t.Fatalf("nobody knows the question %q", words)
	return nil
}
