package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/internal/cli"
	"github.com/towline-cd/towline/internal/core/diff"
	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/engine"
	"github.com/towline-cd/towline/internal/hub"
	"github.com/towline-cd/towline/internal/script"
	"github.com/towline-cd/towline/internal/settings"
)

// withAdmin lets the commands look after an installation, straight on the hub.
func withAdmin(e *cli.Env) {
	e.WriteFile = writePrivate
	e.Backup = openBackup
	e.SettingsData = func(ctx context.Context, f cli.Flags) (map[string]string, error) {
		return configMapData(ctx, f, v1alpha1.ConfigMapSettings)
	}
	e.CheckSettings = checkSettings
	e.Overrides = newOverrides
}

func checkSettings(data map[string]string) cli.SettingsReport {
	s := settings.Parse(data)
	return cli.SettingsReport{Problems: s.Problems, NotHonoured: s.NotHonoured}
}

func kubeClient(f cli.Flags) (kubernetes.Interface, error) {
	config, err := restConfig(f.Kubeconfig, f.Context)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// writePrivate writes a file that nobody else may read. One that is there stays
// until the new one is whole.
func writePrivate(name string, text []byte) error {
	fresh, err := os.CreateTemp(filepath.Dir(name), ".towline-")
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	_, err = fresh.Write(text)
	err = errors.Join(err, fresh.Close())
	if err == nil {
		err = os.Rename(fresh.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, errors.Join(err, os.Remove(fresh.Name())))
	}
	return nil
}

// openBackup is all that an installation keeps. The namespaces that its
// applications live in are those of the settings where nobody names others.
func openBackup(ctx context.Context, f cli.Flags, n cli.Namespaces) (cli.Backup, error) {
	config, err := restConfig(f.Kubeconfig, f.Context)
	if err != nil {
		return nil, err
	}
	others := hub.Namespaces{Applications: n.Applications, Sets: n.Sets}
	if others.Applications == nil || others.Sets == nil {
		s, err := settings.Read(ctx, config, f.Namespace)
		if err != nil {
			return nil, err
		}
		if others.Applications == nil {
			others.Applications = s.AppNamespaces
		}
		if others.Sets == nil {
			others.Sets = s.Sets.Namespaces
		}
	}
	return hub.NewBackup(config, f.Namespace, others)
}

// overrides try what settings say about objects, with the controller's own
// engine and no cluster.
type overrides struct {
	*engine.Engine
	host  *script.Host
	rules diff.Rules
	found []string
}

func newOverrides(data map[string]string) (cli.Overrides, error) {
	s := settings.Parse(data)
	ignore := ignoreRules(&s)
	rules, findings := diff.NewRules(ignore.Rules, ignore.Options)
	out := &overrides{host: newScriptHost(), rules: rules}
	for _, f := range findings {
		out.found = append(out.found, f.Message)
	}
	out.Engine = engine.New(engine.Options{Actions: script.NewActions(out.host, actionRules(&s)), Now: time.Now})
	return out, nil
}

// Close ends the workers.
func (o *overrides) Close() { o.host.Close() }

// Stripped is an object without what is not compared.
func (o *overrides) Stripped(u *unstructured.Unstructured) (*unstructured.Unstructured, []string) {
	left, _, findings := o.rules.For(object.KeyOf(u)).Strip(u, u.DeepCopy())
	problems := o.found
	for _, f := range findings {
		problems = append(problems, f.Message)
	}
	return left, problems
}
