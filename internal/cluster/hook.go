package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	selection "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/core/object"
)

// Release takes the hook finalizer off an object, if it is still the one that
// the fact is about. The server takes it only for the reading that it was
// computed from.
func (c *Client) Release(ctx context.Context, f object.Fact) error {
	r, err := c.resource(f.Key.GroupKind().WithVersion(f.Version), f.Key.Namespace)
	if err != nil {
		return err
	}
	u, err := r.Get(ctx, f.Key.Name, metav1.GetOptions{})
	if err != nil {
		return classify(err)
	}
	if string(u.GetUID()) != f.UID || !slices.Contains(u.GetFinalizers(), v1alpha1.FinalizerHook) {
		return nil
	}
	left := slices.DeleteFunc(u.GetFinalizers(), func(s string) bool { return s == v1alpha1.FinalizerHook })
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": u.GetResourceVersion(), "uid": f.UID, "finalizers": left,
	}})
	if err != nil {
		return fmt.Errorf("encoding finalizers: %w", err)
	}
	u, err = r.Patch(ctx, f.Key.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: v1alpha1.FieldManagerApply})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return classify(err)
	}
	if u.GetDeletionTimestamp() == nil {
		c.known.index.written(c.known.fact(u))
	}
	return nil
}

// checkSuffix makes a name that no object has.
const checkSuffix = "-towline-check"

// Creatable asks whether the server would take the manifest for a new object.
// It is asked under another name, since its own is taken.
func (c *Client) Creatable(ctx context.Context, body *unstructured.Unstructured) error {
	u := body.DeepCopy()
	name := u.GetName()
	u.SetName(name[:min(len(name), 63-len(checkSuffix))] + checkSuffix)
	k := object.KeyOf(u)
	r, err := c.resource(u.GroupVersionKind(), k.Namespace)
	if err != nil {
		return err
	}
	_, err = r.Create(ctx, u, metav1.CreateOptions{
		FieldManager: v1alpha1.FieldManagerApply, DryRun: []string{metav1.DryRunAll},
	})
	if err != nil {
		return classify(err)
	}
	return nil
}

// tailLines is how much of a log is worth a place in a message.
const tailLines = 10

// Tail is the end of what the pods of an object wrote, or empty: a log that
// cannot be had is no reason to stop.
func (c *Client) Tail(ctx context.Context, f object.Fact) string {
	pods := []*object.Fact{&f}
	if f.Key.Kind != "Pod" {
		pods = c.known.index.children(f.UID)
	}
	for _, pod := range pods {
		if pod.Key.Kind != "Pod" || pod.Key.Group != "" {
			continue
		}
		if text := c.log(ctx, pod.Key); text != "" {
			return text
		}
	}
	return ""
}

func (c *Client) log(ctx context.Context, k object.Key) string {
	lines, bytes := int64(tailLines), int64(2048)
	stream, err := c.pods.Pods(k.Namespace).GetLogs(k.Name, &corev1.PodLogOptions{TailLines: &lines, LimitBytes: &bytes}).Stream(ctx)
	if err != nil {
		return ""
	}
	defer func() { _ = stream.Close() }()
	text, err := io.ReadAll(io.LimitReader(stream, bytes))
	if err != nil {
		return ""
	}
	return string(text)
}

// mostEvents bounds how many events of an object are read.
const mostEvents = 500

// Events are those about an object that the cluster keeps. They live in the object's namespace, and those of what has
// none in the default one.
func (c *Client) Events(ctx context.Context, k object.Key, uid string) ([]corev1.Event, error) {
	namespace := k.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	about := selection.Set{"involvedObject.name": k.Name, "involvedObject.kind": k.Kind}
	if uid != "" {
		about["involvedObject.uid"] = uid
	}
	list, err := c.events.Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: about.String(), Limit: mostEvents})
	if err != nil {
		return nil, classify(err)
	}
	return list.Items, nil
}

// Logs is what a container of a pod writes, until it is closed.
func (c *Client) Logs(ctx context.Context, pod object.Key, o *corev1.PodLogOptions) (io.ReadCloser, error) {
	stream, err := c.pods.Pods(pod.Namespace).GetLogs(pod.Name, o).Stream(ctx)
	if err != nil {
		return nil, classify(err)
	}
	return stream, nil
}
