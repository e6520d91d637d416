// Package sim plays the examples where nothing runs: it makes repositories of their folders, and gives objects the status
// that their controllers would. It must not decide anything that an example is to show.
package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// What stands for repositories in the examples.
const (
	towline = "https://github.com/towline-cd/towline"
	anybody = "https://git.example.com/you/"
)

// Example is a folder of examples/, and the part of this repository that it installs.
type Example struct {
	// Name is that of the folder and of its repository.
	Name string
	// Root is the manifest that is applied by hand.
	Root  string
	Files map[string]string
	// Towline are the files of the installation, for a repository of that name.
	Towline map[string]string

	controllers []controller
}

// controller is what an object of a kind comes to.
type controller struct {
	// Kind is <resource>.<version>.<group>.
	Kind   string         `json:"kind"`
	Status map[string]any `json:"status"`
}

// Load reads an example of the repository at root. address says where a repository of a name is served; words are further
// texts to replace, in pairs.
func Load(root, name string, address func(repo string) string, words ...string) (*Example, error) {
	replace := strings.NewReplacer(append([]string{anybody + name + ".git", address(name), towline, address("towline")}, words...)...)
	e := &Example{Name: name, Towline: map[string]string{}}
	var err error
	if e.Files, err = read(filepath.Join(root, "examples", name), replace); err != nil {
		return nil, err
	}
	for _, part := range []string{"crd", "install"} {
		files, err := read(filepath.Join(root, "config", part), replace)
		if err != nil {
			return nil, err
		}
		for path, text := range files {
			e.Towline["config/"+part+"/"+path] = text
		}
	}
	e.Root = e.Files["root/sim.yaml"]
	if e.Root == "" {
		return nil, fmt.Errorf("example %s has no root/sim.yaml", name)
	}
	var plays struct{ Controllers []controller }
	if err := yaml.UnmarshalStrict([]byte(e.Files["sim.yaml"]), &plays); err != nil {
		return nil, fmt.Errorf("reading sim.yaml of example %s: %w", name, err)
	}
	e.controllers = plays.Controllers
	return e, nil
}

func read(dir string, replace *strings.Replacer) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = replace.Replace(string(data))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", dir, err)
	}
	return files, nil
}

// retry is how long to wait for a kind that the cluster does not serve yet.
const retry = 200 * time.Millisecond

// Play gives objects the status that their controllers would, until ctx ends.
func (e *Example) Play(ctx context.Context, client dynamic.Interface) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, c := range e.controllers {
		gvr, _ := schema.ParseResourceArg(c.Kind)
		if gvr == nil {
			continue
		}
		wg.Go(func() {
			for ctx.Err() == nil {
				c.play(ctx, client.Resource(*gvr))
				select {
				case <-time.After(retry):
				case <-ctx.Done():
				}
			}
		})
	}
}

// play follows the objects of a kind until the watch ends.
func (c controller) play(ctx context.Context, client dynamic.NamespaceableResourceInterface) {
	w, err := client.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	defer w.Stop()
	patch, err := json.Marshal(map[string]any{"status": c.Status})
	if err != nil {
		return
	}
	for ev := range w.ResultChan() {
		u, ok := ev.Object.(*unstructured.Unstructured)
		if !ok {
			return
		}
		if status, _, _ := unstructured.NestedMap(u.Object, "status"); len(status) > 0 || u.GetDeletionTimestamp() != nil {
			continue
		}
		// Whoever deleted it meanwhile, or changed it, is heard of by the watch.
		_, _ = client.Namespace(u.GetNamespace()).Patch(ctx, u.GetName(), types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: "sim"}, "status")
	}
}
