package destination_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/destination"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/secret"
)

const own = v1alpha1.InClusterServer

func names(list []destination.Cluster) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Name+"="+c.Server)
	}
	return out
}

func TestKey(t *testing.T) {
	same := []string{
		"https://ABC.gr7.us-east-1.eks.amazonaws.com", "https://abc.gr7.us-east-1.eks.amazonaws.com/",
		" HTTPS://abc.gr7.us-east-1.eks.amazonaws.com:443// ",
	}
	for _, server := range same {
		if got := destination.Key(server); got != "https://abc.gr7.us-east-1.eks.amazonaws.com" {
			t.Errorf("Key(%q) = %q", server, got)
		}
	}
	for _, server := range []string{"https://abc:6443", "http://abc", "https://abc/k8s/clusters/One", "abc"} {
		if got := destination.Key(server); got != server {
			t.Errorf("Key(%q) = %q", server, got)
		}
	}
}

func TestFind(t *testing.T) {
	set := destination.NewSet([]destination.Cluster{
		{Secret: "a", Name: "prod", Server: "https://Prod.example.com"},
		{Secret: "b", Name: "twin", Server: "https://one.example.com"},
		{Secret: "c", Name: "twin", Server: "https://two.example.com"},
		{Secret: "d", Name: "late", Server: "https://prod.example.com/"},
	}, true)
	if d := cmp.Diff([]string{
		"in-cluster=" + own, "prod=https://Prod.example.com", "twin=https://one.example.com", "twin=https://two.example.com",
	}, names(set.All())); d != "" {
		t.Errorf("the clusters differ (-want +got):\n%s", d)
	}
	cases := map[string]struct {
		to     v1alpha1.ApplicationDestination
		want   string
		class  fault.Class
		reason string
		says   string
	}{
		"by server":         {to: v1alpha1.ApplicationDestination{Server: "https://prod.example.com/"}, want: "prod"},
		"by name":           {to: v1alpha1.ApplicationDestination{Name: "prod"}, want: "prod"},
		"our own":           {to: v1alpha1.ApplicationDestination{Name: "in-cluster"}, want: "in-cluster"},
		"our own, by URL":   {to: v1alpha1.ApplicationDestination{Server: own + "/"}, want: "in-cluster"},
		"one of two":        {to: v1alpha1.ApplicationDestination{Server: "https://two.example.com"}, want: "twin"},
		"which of the two?": {to: v1alpha1.ApplicationDestination{Name: "twin"}, class: fault.Waiting, reason: destination.Ambiguous, says: "2 clusters have the name \"twin\": https://one"},
		"nobody": {
			to: v1alpha1.ApplicationDestination{Name: "gone"}, class: fault.Terminal, reason: destination.Unknown,
			says: `cluster "gone" is not known; known are "in-cluster" (https://kubernetes.default.svc), "prod"`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := set.Find(c.to)
			if c.reason == "" {
				if err != nil || got.Name != c.want {
					t.Errorf("found %v, %v", got, err)
				}
				return
			}
			if fault.ReasonOf(err) != c.reason || fault.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	if p := set.Problems(); len(p) != 1 || !strings.Contains(p[0], `secret "d"`) || !strings.Contains(p[0], `secret "a"`) {
		t.Errorf("the problems are %q", p)
	}
}

func TestOwnCluster(t *testing.T) {
	renamed := []destination.Cluster{{Secret: "hub", Name: "hub", Server: own + "/", Labels: map[string]string{"stage": "hub"}}}
	set := destination.NewSet(renamed, true)
	if d := cmp.Diff([]string{"hub=" + own + "/"}, names(set.All())); d != "" {
		t.Error(d)
	}
	if c, ok := set.Get(own); !ok || !c.Own() || c.Labels["stage"] != "hub" {
		t.Errorf("it is %+v", c)
	}
	if _, err := set.Find(v1alpha1.ApplicationDestination{Name: "in-cluster"}); fault.ReasonOf(err) != destination.Unknown {
		t.Errorf("its old name means %v", err)
	}
	signed := renamed[0]
	signed.Config.BearerToken = secret.New("t")
	if signed.Own() {
		t.Error("who signs in with a token is not ourselves")
	}
	off := destination.NewSet(renamed, false)
	if len(off.All()) != 0 || len(off.Problems()) != 1 {
		t.Errorf("turned off, there are %v, %q", off.All(), off.Problems())
	}
	if _, err := off.Find(v1alpha1.ApplicationDestination{Server: own}); err == nil || !strings.Contains(err.Error(), v1alpha1.KeyInClusterEnabled) {
		t.Errorf("the error is %v", err)
	}
}

func TestChanged(t *testing.T) {
	base := destination.Cluster{Secret: "a", Name: "prod", Server: "https://prod", Config: destination.Config{BearerToken: secret.New("one")}}
	change := func(f func(*destination.Cluster)) *destination.Set {
		c := base
		f(&c)
		return destination.NewSet([]destination.Cluster{c}, true)
	}
	both := []v1alpha1.ApplicationDestination{{Name: "prod"}, {Server: "https://prod"}}
	cases := map[string]struct {
		now  *destination.Set
		want []v1alpha1.ApplicationDestination
	}{
		"nothing":     {change(func(*destination.Cluster) {}), nil},
		"a label":     {change(func(c *destination.Cluster) { c.Labels = map[string]string{"a": "b"} }), nil},
		"a shard":     {change(func(c *destination.Cluster) { c.Shard = new(1) }), nil},
		"its token":   {change(func(c *destination.Cluster) { c.Config.BearerToken = secret.New("two") }), both},
		"a namespace": {change(func(c *destination.Cluster) { c.Namespaces = []string{"a"} }), both},
		"skipped":     {change(func(c *destination.Cluster) { c.Skip = true }), both},
		"renamed": {change(func(c *destination.Cluster) { c.Name = "live" }), []v1alpha1.ApplicationDestination{
			{Name: "live"}, {Name: "prod"}, {Server: "https://prod"},
		}},
		"gone": {destination.NewSet(nil, true), both},
		"our own is off": {destination.NewSet([]destination.Cluster{base}, false), []v1alpha1.ApplicationDestination{
			{Name: "in-cluster"}, {Server: own},
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, destination.Changed(change(func(*destination.Cluster) {}), c.now)); d != "" {
				t.Errorf("the changes differ (-want +got):\n%s", d)
			}
		})
	}
}

func TestConnectionCoversEveryField(t *testing.T) {
	env := map[string]secret.Text{"A": secret.New("1")}
	full := func() destination.Cluster {
		return destination.Cluster{Config: destination.Config{AWS: &destination.AWS{Env: env}, Exec: &destination.Exec{Env: env}}}
	}
	changes := map[string]func(*destination.Cluster){
		"server":      func(c *destination.Cluster) { c.Server = "x" },
		"username":    func(c *destination.Cluster) { c.Config.Username = "x" },
		"password":    func(c *destination.Cluster) { c.Config.Password = secret.New("x") },
		"token":       func(c *destination.Cluster) { c.Config.BearerToken = secret.New("x") },
		"insecure":    func(c *destination.Cluster) { c.Config.TLS.Insecure = true },
		"server name": func(c *destination.Cluster) { c.Config.TLS.ServerName = "x" },
		"authority":   func(c *destination.Cluster) { c.Config.TLS.CAData = "x" },
		"certificate": func(c *destination.Cluster) { c.Config.TLS.CertData = "x" },
		"key":         func(c *destination.Cluster) { c.Config.TLS.KeyData = secret.New("x") },
		"proxy":       func(c *destination.Cluster) { c.Config.ProxyURL = "x" },
		"compression": func(c *destination.Cluster) { c.Config.DisableCompression = true },
		"no AWS":      func(c *destination.Cluster) { c.Config.AWS = nil },
		"role":        func(c *destination.Cluster) { c.Config.AWS.RoleARN = "x" },
		"AWS env":     func(c *destination.Cluster) { c.Config.AWS.Env = map[string]secret.Text{"A": secret.New("2")} },
		"command":     func(c *destination.Cluster) { c.Config.Exec.Command = "x" },
		"args":        func(c *destination.Cluster) { c.Config.Exec.Args = []string{"x"} },
		"env":         func(c *destination.Cluster) { c.Config.Exec.Env = map[string]secret.Text{"A": secret.New("2")} },
	}
	seen := map[string]string{full().Connection(): "nothing"}
	for name, change := range changes {
		c := full()
		change(&c)
		if other, taken := seen[c.Connection()]; taken {
			t.Errorf("%s looks like %s", name, other)
		}
		seen[c.Connection()] = name
	}
	c := full()
	c.Config.Password, c.Config.TLS.KeyData = secret.New("hunter2"), secret.New("hunter2")
	c.Config.Exec.Env["PASSWORD"] = secret.New("hunter2")
	if told := fmt.Sprintf("%v %+v", c, c.Config.Exec); strings.Contains(told, "hunter2") {
		t.Errorf("a secret is told: %s", told)
	}
}
