package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// disturbance is everything that a fair engine keeps away from the others.
type disturbance struct {
	*fairness
	stop     context.CancelFunc
	group    *errgroup.Group
	silent   net.Listener
	mu       sync.Mutex
	waiting  []net.Conn
	slow     *httptest.Server
	asked    atomic.Int64
	complete atomic.Int64
}

const (
	disturbed     = "disturbed"
	bigRepository = "big"
	// failingApps and silentApps are how many fail, and how many are on a
	// cluster that does not answer.
	failingApps = 50
	silentApps  = 20
	// slowFor is how long the admission webhook takes.
	slowFor = 5 * time.Second
)

func (d *disturbance) rounds() int64 { return d.complete.Load() }
func (d *disturbance) slowed() int64 { return d.asked.Load() }
func (d *disturbance) held() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.waiting)
}

// end stops it all. What was interrupted is not an error.
func (d *disturbance) end() error {
	d.stop()
	var err error
	if d.group != nil {
		err = d.group.Wait()
	}
	if d.silent != nil {
		err = errors.Join(err, d.silent.Close())
		d.mu.Lock()
		for _, c := range d.waiting {
			_ = c.Close()
		}
		d.mu.Unlock()
	}
	if d.slow != nil {
		d.slow.CloseClientConnections()
		d.slow.Close()
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// failing makes applications whose manifests the API server refuses, and that
// try again every second.
func (d *disturbance) failing(ctx context.Context) error {
	if err := d.namespace(ctx, disturbed); err != nil {
		return err
	}
	if err := d.git.Create("failing", map[string]string{"web/all.yaml": configMapText("Not_A_Name", "0")}); err != nil {
		return err
	}
	return each(ctx, failingApps, func(ctx context.Context, i int) error {
		app := d.app(place{name: fmt.Sprintf("failing-%02d", i), repo: "failing", path: "web", namespace: disturbed})
		if spec, ok := app["spec"].(map[string]any); ok {
			spec["syncPolicy"] = map[string]any{
				"automated": map[string]any{},
				"retry": map[string]any{
					"limit": int64(-1), "backoff": map[string]any{"duration": "1s", "factor": int64(1), "maxDuration": "1s"},
				},
			}
		}
		return d.create(ctx, app)
	})
}

// silence registers a cluster that takes connections and never says a word, and
// applications that go there.
func (d *disturbance) silence(ctx context.Context) (err error) {
	if d.silent, err = (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	go func() {
		for {
			c, err := d.silent.Accept()
			if err != nil {
				return
			}
			d.mu.Lock()
			d.waiting = append(d.waiting, c)
			d.mu.Unlock()
		}
	}()
	server := "https://" + d.silent.Addr().String()
	if err := create(ctx, d.client.Resource(secretKind).Namespace(controlNamespace), map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata":   map[string]any{"name": "silent", "labels": map[string]any{v1alpha1.LabelSecretType: v1alpha1.SecretTypeCluster}},
		"stringData": map[string]any{"name": "silent", "server": server, "config": `{"tlsClientConfig":{"insecure":true}}`},
	}); err != nil {
		return err
	}
	return each(ctx, silentApps, func(ctx context.Context, i int) error {
		app := d.app(place{name: fmt.Sprintf("silent-%02d", i), repo: repository, path: appName(i), namespace: disturbed})
		if spec, ok := app["spec"].(map[string]any); ok {
			spec["destination"] = map[string]any{"server": server, "namespace": disturbed}
		}
		return d.create(ctx, app)
	})
}

// slowObjects is how many objects the slow webhook is asked about with each
// push.
const slowObjects = 5

func slowText(word string) string {
	var docs []string
	for i := range slowObjects {
		docs = append(docs, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: slow-%d, labels: {slow: \"yes\"}}\n"+
			"data: {level: %q}\n", i, word))
	}
	return strings.Join(docs, "---\n")
}

var admissionKind = schema.GroupVersionResource{
	Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations",
}

// slowness makes an admission webhook that thinks for long, and an application
// of objects that it is asked about.
func (d *disturbance) slowness(ctx context.Context) error {
	d.slow = httptest.NewTLSServer(http.HandlerFunc(d.admit))
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: d.slow.Certificate().Raw})
	if err := create(ctx, d.client.Resource(admissionKind), map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": "slow"},
		"webhooks": []any{map[string]any{
			"name": "slow.bench.towline.dev", "sideEffects": "None", "admissionReviewVersions": []any{"v1"},
			"timeoutSeconds": int64(2 * slowFor / time.Second),
			"objectSelector": map[string]any{"matchLabels": map[string]any{"slow": "yes"}},
			"clientConfig":   map[string]any{"url": d.slow.URL, "caBundle": base64.StdEncoding.EncodeToString(authority)},
			"rules": []any{map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"},
				"operations": []any{"CREATE", "UPDATE"},
			}},
		}},
	}); err != nil {
		return err
	}
	if err := d.git.Create("slow", map[string]string{"web/all.yaml": slowText("0")}); err != nil {
		return err
	}
	return d.create(ctx, d.app(place{name: "slow", repo: "slow", path: "web", namespace: disturbed}))
}

// admit says yes, late.
func (d *disturbance) admit(w http.ResponseWriter, r *http.Request) {
	var review struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Request    struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &review) != nil {
		http.Error(w, "not a review", http.StatusBadRequest)
		return
	}
	d.asked.Add(1)
	select {
	case <-time.After(slowFor):
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": review.APIVersion, "kind": review.Kind, "response": map[string]any{"uid": review.Request.UID, "allowed": true},
	})
}

func bigText(objects int, word string) string {
	docs := make([]string, objects)
	for i := range docs {
		docs[i] = configMapText(fmt.Sprintf("big-%05d", i), word)
	}
	return strings.Join(docs, "---\n")
}

// big makes the application of many objects.
func (d *disturbance) big(ctx context.Context) error {
	if err := d.git.Create(bigRepository, map[string]string{"web/all.yaml": bigText(d.scale.objects, "0")}); err != nil {
		return err
	}
	return d.create(ctx, d.app(place{name: "big", repo: bigRepository, path: "web", namespace: disturbed}))
}

// pushBig changes all the objects of the big application, again and again.
func (d *disturbance) pushBig(ctx context.Context) error {
	for n := 1; ; n++ {
		word, last := fmt.Sprintf("big %d", n), fmt.Sprintf("big-%05d", d.scale.objects-1)
		if err := d.pushAndWait(ctx, pushed{bigRepository, bigText(d.scale.objects, word), last, word}); err != nil {
			return err
		}
		d.complete.Add(1)
	}
}

// pushSlow changes what the slow webhook is asked about, again and again.
func (d *disturbance) pushSlow(ctx context.Context) error {
	for n := 1; ; n++ {
		word := fmt.Sprintf("slow %d", n)
		if err := d.pushAndWait(ctx, pushed{"slow", slowText(word), fmt.Sprintf("slow-%d", slowObjects-1), word}); err != nil {
			return err
		}
	}
}

// pushed is a push, and the word that an object has when it was applied.
type pushed struct{ repo, text, object, word string }

func (d *disturbance) pushAndWait(ctx context.Context, p pushed) error {
	seen := d.level(disturbed+"/"+p.object, p.word)
	sha, err := d.git.Commit(p.repo, "main", "change", map[string]*string{"web/all.yaml": &p.text})
	if err != nil {
		return err
	}
	if err := d.tell(ctx, p.repo, sha); err != nil {
		return err
	}
	_, err = await(ctx, seen)
	return err
}
