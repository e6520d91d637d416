package controlplane

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// noControllers as the number of nodes means an API server alone.
const noControllers = -1 << 20

// await polls a check until it passes. It ends early when a component ends, and then the end of that component's
// log is part of the error.
func (p *Plane) await(ctx context.Context, check func(context.Context) error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if dead := p.firstDead(); dead != nil {
			return fmt.Errorf("running %s: it ended (%s); the end of its log:\n%s", dead.Name, fmt.Sprint(dead.exit), dead.tail())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting: %w: %w%s", context.Cause(ctx), err, p.lastTail())
		case <-tick.C:
		}
	}
}

func (p *Plane) firstDead() *component {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, part := range p.parts {
		if !part.alive() {
			return part
		}
	}
	return nil
}

// lastTail is the log of the component that was started last, which is the one that is waited for.
func (p *Plane) lastTail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.parts) == 0 {
		return ""
	}
	last := p.parts[len(p.parts)-1]
	return fmt.Sprintf("; the end of the log of %s:\n%s", last.Name, last.tail())
}

// etcdHealthy returns the check with a client of its own, so that polling keeps one connection.
func (p *Plane) etcdHealthy() func(context.Context) error {
	client, clientErr := rest.HTTPClientFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{
		CAFile:   p.pki.file("ca.crt"),
		CertFile: p.pki.file("etcd-client.crt"),
		KeyFile:  p.pki.file("etcd-client.key"),
	}})
	url := fmt.Sprintf("https://127.0.0.1:%d/health", p.ports.Etcd)
	return func(ctx context.Context) error {
		if clientErr != nil {
			return fmt.Errorf("making a client for etcd: %w", clientErr)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("asking etcd's health: %w", err)
		}
		response, err := client.Do(request)
		if err != nil {
			return fmt.Errorf("asking etcd's health: %w", err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("asking etcd's health: %s", response.Status)
		}
		return nil
	}
}

func (p *Plane) apiServerReady(ctx context.Context) error {
	client, err := p.Client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return fmt.Errorf("asking whether the API server of %q is ready: %w", p.name, err)
	}
	return nil
}

// clusterUsable says whether a pod could be created and run now: the nodes take pods, and the controller manager
// has made the default service account, without which no pod is admitted.
func (p *Plane) clusterUsable(ctx context.Context) error {
	client, err := p.Client()
	if err != nil {
		return err
	}
	if _, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return fmt.Errorf("waiting for the default service account: %w", err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the nodes: %w", err)
	}
	for _, node := range nodes.Items {
		if !takesPods(node) {
			return fmt.Errorf("waiting for node %q: not Ready or still tainted", node.Name)
		}
	}
	return nil
}

func takesPods(node corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if strings.HasPrefix(taint.Key, "node.kubernetes.io/") {
			return false
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// createNodes makes the fake nodes that do not exist yet. kwok fills in the rest of their status.
func (p *Plane) createNodes(ctx context.Context) error {
	client, err := p.Client()
	if err != nil {
		return err
	}
	for i := range max(p.opts.Nodes, 0) {
		name := fmt.Sprintf("node-%d", i)
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: name,
				Labels: map[string]string{
					corev1.LabelHostname:   name,
					corev1.LabelOSStable:   "linux",
					corev1.LabelArchStable: "amd64",
				},
				Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			},
			Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{KubeletVersion: p.bin.KubernetesVersion}},
		}
		_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating node %q: %w", name, err)
		}
	}
	return nil
}

// forgetNodeLeases removes the leases of an earlier run. kwok gives itself a new identity with every start and
// would not touch a node, nor its pods, until the lease of its predecessor has run out after 40 seconds.
func (p *Plane) forgetNodeLeases(ctx context.Context) error {
	client, err := p.Client()
	if err != nil {
		return err
	}
	err = client.CoordinationV1().Leases(corev1.NamespaceNodeLease).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("removing the leases of an earlier run: %w", err)
	}
	return nil
}
