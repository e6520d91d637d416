package object_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/object"
)

func TestColumns(t *testing.T) {
	pod := func(rest string) string {
		return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"nodeName":"n1","initContainers":[{}],"containers":[{},{}]},"status":` + rest + `}`
	}
	cases := map[string]struct{ in, want string }{
		"a pod that runs": {
			pod(`{"phase":"Running","containerStatuses":[{"ready":true,"restartCount":2,"state":{"running":{}}},{"ready":true,"restartCount":1}]}`),
			"status=Running ready=2/2 restarts=3 node=n1",
		},
		"a pod that cannot start": {
			pod(`{"phase":"Pending","containerStatuses":[{"state":{"running":{}}},{"state":{"waiting":{"reason":"ImagePullBackOff"}}}]}`),
			"status=ImagePullBackOff ready=0/2 restarts=0 node=n1",
		},
		"a pod whose image is not there": {
			`{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"a","image":"x:1"},{"name":"b","image":"web:2"}]},"status":{"phase":"Pending",
				"containerStatuses":[{"name":"b","image":"docker.io/library/web:2","state":{"waiting":{"reason":"ErrImagePull"}}}]}}`,
			"status=ErrImagePull image=web:2 ready=0/2 restarts=0",
		},
		"a pod whose first step fails": {
			pod(`{"phase":"Pending","initContainerStatuses":[{"state":{"terminated":{"exitCode":1,"reason":"Error"}}}],
				"containerStatuses":[{"state":{"waiting":{"reason":"PodInitializing"}}}]}`),
			"status=Init:Error ready=0/2 restarts=0 node=n1",
		},
		"a pod whose first step is done": {
			pod(`{"phase":"Running","initContainerStatuses":[{"state":{"terminated":{"exitCode":0,"reason":"Completed"}}}]}`),
			"status=Running ready=0/2 restarts=0 node=n1",
		},
		"a container that ended without a reason": {
			pod(`{"phase":"Failed","containerStatuses":[{"state":{"terminated":{"exitCode":3}}}]}`), "status=ExitCode:3 ready=0/2 restarts=0 node=n1",
		},
		"a pod that was put out":               {pod(`{"phase":"Failed","reason":"Evicted"}`), "status=Evicted ready=0/2 restarts=0 node=n1"},
		"a reason with a space":                {pod(`{"phase":"Failed","reason":"Not Nice"}`), "status=Not_Nice ready=0/2 restarts=0 node=n1"},
		"a service":                            {`{"apiVersion":"v1","kind":"Service","spec":{"type":"LoadBalancer"}}`, "type=LoadBalancer"},
		"replicas":                             {`{"apiVersion":"apps/v1","kind":"StatefulSet","spec":{"replicas":3},"status":{"readyReplicas":2}}`, "ready=2/3"},
		"replicas by default":                  {`{"apiVersion":"apps/v1","kind":"Deployment","spec":{}}`, "ready=0/1"},
		"no replicas":                          {`{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":0}}`, "ready=0/0"},
		"a daemon set":                         {`{"apiVersion":"apps/v1","kind":"DaemonSet","status":{"numberReady":1,"desiredNumberScheduled":4}}`, "ready=1/4"},
		"a job":                                {`{"apiVersion":"batch/v1","kind":"Job","spec":{"completions":5},"status":{"succeeded":2}}`, "done=2/5"},
		"a kind of another group of that name": {`{"apiVersion":"example.com/v1","kind":"Pod","spec":{"nodeName":"x"}}`, ""},
		"wrong types":                          {`{"apiVersion":"v1","kind":"Pod","spec":"x","status":[1]}`, "ready=0/0 restarts=0"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := object.FactOf(decode(t, c.in), "m").Columns
			if string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	if got := object.Columns("status=Running ready=1/2").Get("ready"); got != "1/2" {
		t.Errorf("ready is %q", got)
	}
	if got := object.Columns("").Get("ready"); got != "" {
		t.Errorf("ready is %q", got)
	}
}

func TestLabelsMatch(t *testing.T) {
	labels := object.NewLabels(map[string]string{"app": "web", "tier": "front", "x": ""})
	for selector, want := range map[string]bool{
		"": false, "app=web": true, "tier=front": true, "app=web,tier=front": true, "x=": true,
		"app=we": false, "pp=web": false, "app=web,tier=back": false, "app=webs": false, "tier=front,zone=a": false,
	} {
		if got := labels.Match(object.Labels(selector)); got != want {
			t.Errorf("%q matches %q: %v", labels, selector, got)
		}
	}
}

func TestInternedFactSaysTheSame(t *testing.T) {
	u := decode(t, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"shop","generation":4,"creationTimestamp":"1970-01-01T00:01:00Z",
		"ownerReferences":[{"apiVersion":"apps/v1","kind":"A","name":"a","uid":"u","controller":true}]},"spec":{"type":"ClusterIP","selector":{"a":"b"},"containers":[{"image":"i"}]}}`)
	f := object.FactOf(u, "m")
	before := object.FactOf(u, "m")
	asked := map[string]int{}
	got := f.Interned(func(s string) string { asked[s]++; return strings.Clone(s) })
	if d := gocmp.Diff(f, got); d != "" {
		t.Errorf("it says something else (-before +after):\n%s", d)
	}
	f.Interned(func(string) string { return "changed" })
	if d := gocmp.Diff(before, f); d != "" {
		t.Errorf("the fact itself was changed:\n%s", d)
	}
	if f.Generation != 4 || f.Created != 60 || !f.Owners[0].Controller || len(f.Refs) != 1 || asked["shop"] == 0 {
		t.Errorf("got %+v", f)
	}
}
