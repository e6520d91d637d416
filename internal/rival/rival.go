// Package rival knows Argo CD's own controllers in the control namespace: whether
// they run, and how they are stopped and started again. It must not decide when:
// package takeover does, and a person.
package rival

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/takeover"
)

// Client sees and scales the workloads of one namespace.
type Client struct {
	kube      kubernetes.Interface
	namespace string
}

// NewClient makes one.
func NewClient(config *rest.Config, namespace string) (*Client, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the workloads: %w", err)
	}
	return &Client{kube: kube, namespace: namespace}, nil
}

// Workloads are all of the namespace.
func (c *Client) Workloads(ctx context.Context) ([]takeover.Workload, error) {
	sets, err := c.kube.AppsV1().StatefulSets(c.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the StatefulSets: %w", err)
	}
	deployments, err := c.kube.AppsV1().Deployments(c.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the Deployments: %w", err)
	}
	var out []takeover.Workload
	for i := range sets.Items {
		out = append(out, workload(&sets.Items[i]))
	}
	for i := range deployments.Items {
		out = append(out, workload(&deployments.Items[i]))
	}
	return out, nil
}

// workload is what is known of an object. The annotation that says how many
// there were is ours; what is not a number there is not remembered.
func workload(o any) takeover.Workload {
	var w takeover.Workload
	var meta metav1.ObjectMeta
	var replicas *int32
	var pod corev1.PodSpec
	switch o := o.(type) {
	case *appsv1.StatefulSet:
		w.Kind, meta, replicas, w.Running, pod = "StatefulSet", o.ObjectMeta, o.Spec.Replicas, o.Status.Replicas, o.Spec.Template.Spec
	case *appsv1.Deployment:
		w.Kind, meta, replicas, w.Running, pod = "Deployment", o.ObjectMeta, o.Spec.Replicas, o.Status.Replicas, o.Spec.Template.Spec
	default:
		return w
	}
	w.Namespace, w.Name, w.Labels, w.Replicas = meta.Namespace, meta.Name, meta.Labels, 1
	if replicas != nil {
		w.Replicas = *replicas
	}
	if n, err := strconv.ParseInt(meta.Annotations[v1alpha1.AnnotationReplicasBefore], 10, 32); err == nil {
		before := int32(n)
		w.Before = &before
	}
	if by := metav1.GetControllerOf(&meta); by != nil {
		w.Owner = by.Kind + " " + by.Name
	}
	if len(pod.Containers) > 0 {
		w.Image = pod.Containers[0].Image
	}
	return w
}

// Scale changes a workload. What is to be remembered is written with it, in one
// request, so that nobody is stopped whose replicas are forgotten.
func (c *Client) Scale(ctx context.Context, s takeover.Scale) error {
	var before any // null takes it away
	if s.Remember != nil {
		before = strconv.Itoa(int(*s.Remember))
	}
	metadata := map[string]any{}
	if s.Remember != nil || s.Forget {
		metadata["annotations"] = map[string]any{v1alpha1.AnnotationReplicasBefore: before}
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata, "spec": map[string]any{"replicas": s.To}})
	if err != nil {
		return fmt.Errorf("writing the change of %s: %w", s.Workload, err)
	}
	o := metav1.PatchOptions{FieldManager: "towline-migrate"}
	if s.Workload.Kind == "StatefulSet" {
		_, err = c.kube.AppsV1().StatefulSets(c.namespace).Patch(ctx, s.Workload.Name, types.MergePatchType, patch, o)
	} else {
		_, err = c.kube.AppsV1().Deployments(c.namespace).Patch(ctx, s.Workload.Name, types.MergePatchType, patch, o)
	}
	if err != nil {
		return fmt.Errorf("scaling %s to %d: %w", s.Workload, s.To, err)
	}
	return nil
}

// Gone returns when a workload has no pods any more.
func (c *Client) Gone(ctx context.Context, w takeover.Workload) error {
	watched, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{}, 1)
	factory := informers.NewSharedInformerFactoryWithOptions(c.kube, 0, informers.WithNamespace(c.namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = "metadata.name=" + w.Name }))
	informer := factory.Apps().V1().Deployments().Informer()
	if w.Kind == "StatefulSet" {
		informer = factory.Apps().V1().StatefulSets().Informer()
	}
	look := func(o any) {
		if now := workload(o); now.Running == 0 && now.Name == w.Name {
			select {
			case done <- struct{}{}:
			default:
			}
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: look, UpdateFunc: func(_, o any) { look(o) }}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return fmt.Errorf("watching %s: %w", w, err)
	}
	go informer.RunWithContext(watched)
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting until the pods of %s are gone: %w", w, context.Cause(ctx))
	}
}

// SetProfile writes the profile into argocd-cm, which has to be there; empty
// takes it away.
func (c *Client) SetProfile(ctx context.Context, profile string) error {
	var value any
	if profile != "" {
		value = profile
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]any{v1alpha1.KeyProfile: value}})
	if err != nil {
		return fmt.Errorf("writing the profile: %w", err)
	}
	_, err = c.kube.CoreV1().ConfigMaps(c.namespace).Patch(ctx, v1alpha1.ConfigMapSettings, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: "towline-migrate"})
	if err != nil {
		return fmt.Errorf("writing %s of %s: %w", v1alpha1.KeyProfile, v1alpha1.ConfigMapSettings, err)
	}
	return nil
}

// Watch keeps an eye on those who would act beside us.
type Watch struct {
	client *Client
	ready  chan struct{}

	mu      sync.Mutex
	known   map[string]takeover.Workload
	rivals  []takeover.Workload
	changed chan struct{}
}

// NewWatch makes one, which sees nothing until it runs.
func NewWatch(config *rest.Config, namespace string) (*Watch, error) {
	c, err := NewClient(config, namespace)
	if err != nil {
		return nil, err
	}
	return &Watch{client: c, ready: make(chan struct{}), known: map[string]takeover.Workload{}, changed: make(chan struct{})}, nil
}

// Run watches until ctx ends. An account that may not see workloads cannot know
// of others who act, and says so.
func (w *Watch) Run(ctx context.Context) {
	if err := w.permitted(ctx); err != nil {
		if ctx.Err() == nil {
			slog.WarnContext(ctx, "whether Argo CD runs beside this is not known; let the account list and watch "+
				"deployments and statefulsets of its namespace", "error", err)
		}
		close(w.ready)
		return
	}
	factory := informers.NewSharedInformerFactoryWithOptions(w.client.kube, 0, informers.WithNamespace(w.client.namespace),
		informers.WithTransform(func(o any) (any, error) { return lean(o), nil }))
	all := []cache.SharedIndexInformer{factory.Apps().V1().StatefulSets().Informer(), factory.Apps().V1().Deployments().Informer()}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: w.see, UpdateFunc: func(_, o any) { w.see(o) },
		DeleteFunc: func(o any) {
			if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			gone := workload(o)
			w.note(func() { delete(w.known, gone.String()) })
		},
	}
	var wg sync.WaitGroup
	var synced []cache.InformerSynced
	for _, i := range all {
		registered, err := i.AddEventHandler(handler)
		if err != nil {
			slog.ErrorContext(ctx, "workloads are not watched", "error", err)
			continue
		}
		synced = append(synced, registered.HasSynced)
		wg.Go(func() { i.RunWithContext(ctx) })
	}
	if cache.WaitForCacheSync(ctx.Done(), synced...) {
		close(w.ready)
	}
	wg.Wait()
}

func (w *Watch) permitted(ctx context.Context) error {
	_, err := w.client.kube.AppsV1().StatefulSets(w.client.namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err == nil {
		_, err = w.client.kube.AppsV1().Deployments(w.client.namespace).List(ctx, metav1.ListOptions{Limit: 1})
	}
	// Anything else passes, and the informers try again.
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// lean drops what nobody here looks at.
func lean(o any) any {
	switch o := o.(type) {
	case *appsv1.StatefulSet:
		o.ManagedFields, o.Spec.Template.Spec = nil, corev1.PodSpec{}
	case *appsv1.Deployment:
		o.ManagedFields, o.Spec.Template.Spec = nil, corev1.PodSpec{}
	}
	return o
}

func (w *Watch) see(o any) {
	now := workload(o)
	if now.Component() == "" {
		return
	}
	w.note(func() { w.known[now.String()] = now })
}

// note changes what is known, and tells those who wait if it makes a difference.
func (w *Watch) note(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	all := make([]takeover.Workload, 0, len(w.known))
	for _, k := range w.known {
		all = append(all, k)
	}
	rivals := takeover.Rivals(all)
	same := func(a, b takeover.Workload) bool { return a.String() == b.String() && a.Replicas == b.Replicas }
	if slices.EqualFunc(rivals, w.rivals, same) {
		return
	}
	w.rivals = rivals
	close(w.changed)
	w.changed = make(chan struct{})
}

// Passive is why this process may not act now, and a channel that is closed when
// the answer changes. It waits for the first reading.
func (w *Watch) Passive(ctx context.Context) (why string, changed <-chan struct{}, err error) {
	select {
	case <-w.ready:
	case <-ctx.Done():
		return "", nil, fault.Waitingf("Starting", "the workloads of the namespace are not read yet: %w", context.Cause(ctx))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return takeover.Passive(w.rivals), w.changed, nil
}

// Why is the same for those who only tell it.
func (w *Watch) Why() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return takeover.Passive(w.rivals)
}
