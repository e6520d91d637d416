package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/fault"
	"github.com/towline-cd/towline/internal/core/lint"
	"github.com/towline-cd/towline/internal/core/takeover"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/leader"
	"github.com/towline-cd/towline/internal/rival"
)

// withMigration lets the commands look after the way from Argo CD and back.
func withMigration(e *cli.Env) {
	e.Checkup = checkup
	e.Inventory = inventory
	e.Rival = func(_ context.Context, f cli.Flags) (cli.Rival, error) { return openRival(f) }
	e.Shadow = func(ctx context.Context, f cli.Flags, data string) (cli.Shadow, error) {
		return openShadow(ctx, f, data)
	}
}

func openRival(f cli.Flags) (*rival.Client, error) {
	config, err := restConfig(f.Kubeconfig, f.Context)
	if err != nil {
		return nil, err
	}
	return rival.NewClient(config, f.Namespace)
}

// inventory reads an installation of Argo CD. Of secrets only what is not
// honoured is kept.
func inventory(ctx context.Context, f cli.Flags) (takeover.Installation, error) {
	out := takeover.Installation{Namespace: f.Namespace, Settings: lintSettings}
	config, err := restConfig(f.Kubeconfig, f.Context)
	if err != nil {
		return out, err
	}
	workloads, err := rival.NewClient(config, f.Namespace)
	if err != nil {
		return out, err
	}
	if out.Workloads, err = workloads.Workloads(ctx); err != nil {
		return out, err
	}
	all, err := openBackup(ctx, f, cli.Namespaces{})
	if err != nil {
		return out, err
	}
	objects, err := all.Read(ctx)
	if err != nil {
		return out, err
	}
	for _, u := range objects {
		if u.GetKind() == "Secret" {
			continue
		}
		if err := note(&out, u); err != nil {
			return out, err
		}
	}
	if out.Repositories, err = unheeded(ctx, f); err != nil {
		return out, err
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return out, err
	}
	out.Autoscaled, err = autoscaled(ctx, kube)
	return out, err
}

func lintSettings(data map[string]string) (problems, notHonoured []string) {
	s := checkSettings(data)
	return s.Problems, s.NotHonoured
}

// note keeps an object as text, without what a server adds.
func note(into *takeover.Installation, u *unstructured.Unstructured) error {
	u = u.DeepCopy()
	if u.GetKind() == v1alpha1.ApplicationKind {
		app := &v1alpha1.Application{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, app); err == nil {
			into.Applications = append(into.Applications, app)
		}
	}
	delete(u.Object, "status")
	delete(u.Object, "operation")
	u.SetManagedFields(nil)
	text, err := yaml.Marshal(u.Object)
	if err != nil {
		return fmt.Errorf("writing down %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	into.Objects = append(into.Objects, lint.File{Name: u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName(), Text: text})
	return nil
}

// unheeded are the repositories whose secrets have keys that nothing comes of.
func unheeded(ctx context.Context, f cli.Flags) ([]takeover.Place, error) {
	book, err := readRepositories(ctx, f)
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []takeover.Place
	one, many := book.Entries()
	for _, r := range slices.Concat(one, many) {
		p := takeover.Place{Name: "Repository " + r.URL}
		for _, key := range r.NotHonoured {
			p.Problems = append(p.Problems, "the key "+key+" of its secret is not honoured by this version")
		}
		if len(p.Problems) > 0 {
			out = append(out, p)
		}
	}
	return out, nil
}

// autoscaled are the workloads of this cluster that an autoscaler changes and a
// manifest does, too.
func autoscaled(ctx context.Context, kube kubernetes.Interface) ([]takeover.Autoscaled, error) {
	list, err := kube.AutoscalingV2().HorizontalPodAutoscalers(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the autoscalers: %w", err)
	}
	var out []takeover.Autoscaled
	for i := range list.Items {
		hpa := &list.Items[i]
		managed, err := replicasManaged(ctx, kube, hpa)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		if managed {
			target := hpa.Spec.ScaleTargetRef
			out = append(out, takeover.Autoscaled{
				Kind: target.Kind, Namespace: hpa.Namespace, Name: target.Name,
				By: "HorizontalPodAutoscaler " + hpa.Namespace + "/" + hpa.Name,
			})
		}
	}
	return out, nil
}

// replicasManaged says that whoever deploys a target has its replicas in the
// manifest, which its managed fields and kubectl's record tell.
func replicasManaged(ctx context.Context, kube kubernetes.Interface, hpa *autoscalingv2.HorizontalPodAutoscaler) (bool, error) {
	var meta metav1.ObjectMeta
	switch target := hpa.Spec.ScaleTargetRef; target.Kind {
	case "Deployment":
		o, err := kube.AppsV1().Deployments(hpa.Namespace).Get(ctx, target.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		meta = o.ObjectMeta
	case "StatefulSet":
		o, err := kube.AppsV1().StatefulSets(hpa.Namespace).Get(ctx, target.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		meta = o.ObjectMeta
	default:
		return false, nil
	}
	return takeover.WritesReplicas(meta.ManagedFields, meta.Annotations[v1alpha1.AnnotationLastAppliedByKubectl]), nil
}

// shadow is the parts of a controller that cannot write.
type shadow struct {
	engine *engine.Engine
	parts  *parts
	end    context.CancelFunc
	wg     sync.WaitGroup
	dir    string
}

// openShadow starts all that looking takes. Every client is made from one way,
// through a fence that nobody ever opens: what would write is refused before it
// leaves this process.
func openShadow(ctx context.Context, f cli.Flags, data string) (*shadow, error) {
	// What a controller would note is not what somebody who compares wants to read.
	if err := logging("text", "warn"); err != nil {
		return nil, err
	}
	s := &shadow{}
	if data == "" {
		dir, err := os.MkdirTemp("", "towline-shadow-")
		if err != nil {
			return nil, fmt.Errorf("making a folder to fetch into: %w", err)
		}
		s.dir, data = dir, dir
	}
	config, err := restConfig(f.Kubeconfig, f.Context)
	if err != nil {
		return nil, errors.Join(err, s.clean())
	}
	if err := s.open(ctx, config, runOptions{
		kubeconfig: f.Kubeconfig, context: f.Context, namespace: f.Namespace, data: data, workers: 1,
		lease: leader.UsualTimes(), role: role{controller: true},
	}); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *shadow) open(ctx context.Context, config *rest.Config, o runOptions) error {
	fence := leader.NewFence(o.lease)
	fenced, err := fence.Through(config)
	if err != nil {
		return err
	}
	if s.parts, err = o.build(ctx, ways{fenced: fenced, open: fenced, fence: fence}); err != nil {
		return err
	}
	running, end := context.WithCancel(ctx)
	s.end = end
	p := s.parts
	problems := make(chan error, 1)
	s.wg.Go(func() { p.hub.Run(running) })
	s.wg.Go(func() { problems <- p.settings.Run(running) })
	s.wg.Go(func() { p.fleet.Run(running) })
	if !p.hub.WaitReady(running) || !p.settings.WaitReady(running) {
		return interruptedOr(ctx, <-problems)
	}
	select {
	case <-p.fleet.Ready(v1alpha1.InClusterServer):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.complete.Store(true)
	s.engine = p.newShift(o).engine
	return nil
}

// shadowPatience is how long a cluster may take until its objects are known.
const shadowPatience = 2 * time.Minute

// Judge says what Towline would write.
func (s *shadow) Judge(ctx context.Context, app *v1alpha1.Application) (v1alpha1.ApplicationStatus, error) {
	limited, cancel := context.WithTimeout(ctx, shadowPatience)
	defer cancel()
	// A cluster is read when somebody asks for it first. What is wrong with a destination is said by the look.
	if _, entry, err := s.parts.fleet.For(app.Spec.Destination); err == nil || fault.ClassOf(err) == fault.Waiting {
		select {
		case <-s.parts.fleet.Ready(entry.Server):
		case <-limited.Done():
		}
	}
	return s.engine.Judge(limited, app)
}

// Close ends all of it.
func (s *shadow) Close() {
	if s.end != nil {
		s.end()
	}
	s.wg.Wait()
	if s.parts != nil {
		s.parts.close()
	}
	_ = s.clean()
}

func (s *shadow) clean() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}
