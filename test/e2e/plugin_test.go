package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
	"github.com/towline-cd/towline/test/sidecar"
)

// pluginFiles are a repository whose manifests only a plugin can make something
// of.
var pluginFiles = map[string]string{
	"apps/shop/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: $ARGOCD_APP_NAME-web}\n" +
		"data: {level: $ARGOCD_ENV_LEVEL, host: $PARAM_HOST, kube: $KUBE_VERSION}\n",
	"apps/shop/Shopfile": "x\n",
	"docs/README.md":     "hello\n",
}

// plugin plays a plugin in a folder of sockets until the test ends.
func (f *fixture) plugin(p sidecar.Plugin) {
	f.Helper()
	ready := make(chan struct{})
	go func() { _ = p.Serve(f.Context(), func() { close(ready) }) }()
	<-ready
}

func TestPlugins(t *testing.T) {
	f := setup(t)
	// The name of a socket must be short.
	dir, err := os.MkdirTemp("", "p-") //nolint:usetesting // that name would be too long for a socket
	f.must(err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	f.must(f.git.Create("shop", pluginFiles))
	url := f.git.URL("shop")
	f.plugin(sidecar.Plugin{Dir: dir, Name: "shop-v1.0", Matches: "Shopfile"})
	f.start("--plugins", dir)
	f.sourced("named", "source", fmt.Sprintf(`{repoURL: %q, path: apps/shop, targetRevision: main, plugin: {name: shop-v1.0, `+
		`env: [{name: LEVEL, value: high-$ARGOCD_APP_NAMESPACE}], parameters: [{name: host, string: shop.example.com}]}}`, url))
	f.sourced("found", "source", fmt.Sprintf(`{repoURL: %q, path: apps/shop, targetRevision: main, plugin: {env: [{name: LEVEL, value: low}]}}`, url))
	f.sourced("absent", "source", fmt.Sprintf(`{repoURL: %q, path: apps/shop, targetRevision: main, plugin: {name: other}}`, url))

	if app := f.await("named", "settled", settled); app.Status.SourceType != v1alpha1.SourceTypePlugin {
		t.Errorf("application named is of type %q", app.Status.SourceType)
	}
	got := f.configMap("named-web")
	if got["level"] != "high-"+f.dest || got["host"] != "shop.example.com" || !strings.HasPrefix(got["kube"], "1.") {
		t.Errorf("the plugin made %v", got)
	}
	f.await("found", "settled", settled)
	if got := f.configMap("found-web"); got["level"] != "low" {
		t.Errorf("the plugin that was found made %v", got)
	}
	f.await("absent", "told that there is no such plugin", func(app *v1alpha1.Application) bool {
		return strings.Contains(describe(app), `no plugin "other"`) && strings.Contains(describe(app), "shop-v1.0")
	})

	// A push anywhere in the repository is one that a plugin may see.
	changed := strings.Replace(pluginFiles["apps/shop/web.yaml"], "$ARGOCD_ENV_LEVEL", "changed", 1)
	sha, err := f.git.Commit("shop", "main", "change", map[string]*string{"apps/shop/web.yaml": &changed})
	f.must(err)
	f.refresh("named")
	f.await("named", "synced to the new commit", synced(sha))
	if got := f.configMap("named-web"); got["level"] != "changed" {
		t.Errorf("after the push the plugin made %v", got)
	}
}

// TestPluginsAreOff unless somebody switches them on.
func TestPluginsAreOff(t *testing.T) {
	f := setup(t)
	f.must(f.git.Create("shop", pluginFiles))
	f.start()
	f.sourced("named", "source", fmt.Sprintf(`{repoURL: %q, path: apps/shop, targetRevision: main, plugin: {name: shop}}`, f.git.URL("shop")))
	f.await("named", "told how plugins are switched on", func(app *v1alpha1.Application) bool {
		return strings.Contains(describe(app), "switched off") && strings.Contains(describe(app), "--plugins")
	})
	if got := f.configMap("named-web"); got != nil {
		t.Errorf("something made %v", got)
	}
}
