package controlplane

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// ErrNotBuilt says that the binaries of the pinned versions are not in the cache.
var ErrNotBuilt = errors.New("the control plane is not built: run `go run ./hack/cluster build` (about ten minutes, once)")

// targets are the main packages to build, by the name of the program. The pinned module lists the same ones as tools.
var targets = map[string]string{
	"etcd":                    "go.etcd.io/etcd/server/v3",
	"kube-apiserver":          "k8s.io/kubernetes/cmd/kube-apiserver",
	"kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
	"kube-scheduler":          "k8s.io/kubernetes/cmd/kube-scheduler",
	"kubectl":                 "k8s.io/kubernetes/cmd/kubectl",
	"kwok":                    "sigs.k8s.io/kwok/cmd/kwok",
}

// stageFolders hold kwok's stages: what a fake kubelet does to nodes and pods.
var stageFolders = []string{"node/fast", "node/heartbeat-with-lease", "pod/fast"}

const stagesFile = "kwok-stages.yaml"

// Binaries are the built programs and kwok's stages, all in one folder of the cache.
type Binaries struct {
	// Dir is the folder that holds them.
	Dir string
	// KubernetesVersion is the pinned version, for example v1.36.3.
	KubernetesVersion string
}

// Path returns the path of a program, for example "kubectl".
func (b Binaries) Path(program string) string { return filepath.Join(b.Dir, program) }

// Stages returns the path of kwok's stages.
func (b Binaries) Stages() string { return filepath.Join(b.Dir, stagesFile) }

// recipe is everything that decides what the binaries are.
type recipe struct {
	moduleDir string
	version   string
	ldflags   string
	key       string
}

// Find returns the binaries from the cache, or ErrNotBuilt.
func Find(ctx context.Context) (Binaries, error) {
	r, err := readRecipe(ctx)
	if err != nil {
		return Binaries{}, err
	}
	return r.find()
}

// Build returns the binaries, building them if the cache does not hold them. Two processes never build at once:
// the second waits and finds the work done.
func Build(ctx context.Context, progress io.Writer) (Binaries, error) {
	r, err := readRecipe(ctx)
	if err != nil {
		return Binaries{}, err
	}
	if found, err := r.find(); err == nil {
		return found, nil
	}
	root, err := CacheDir("controlplane")
	if err != nil {
		return Binaries{}, err
	}
	unlock, err := lockFile(ctx, filepath.Join(root, "build.lock"), progress)
	if err != nil {
		return Binaries{}, err
	}
	defer unlock()
	if found, err := r.find(); err == nil {
		return found, nil
	}
	tmp, err := os.MkdirTemp(root, "build-*")
	if err != nil {
		return Binaries{}, fmt.Errorf("making a build folder: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := r.build(ctx, tmp, progress); err != nil {
		return Binaries{}, err
	}
	if err := os.Rename(tmp, filepath.Join(root, r.key)); err != nil {
		return Binaries{}, fmt.Errorf("moving the binaries into the cache: %w", err)
	}
	return r.find()
}

func (r recipe) find() (Binaries, error) {
	root, err := CacheDir("controlplane")
	if err != nil {
		return Binaries{}, err
	}
	found := Binaries{Dir: filepath.Join(root, r.key), KubernetesVersion: r.version}
	if _, err := os.Stat(found.Stages()); err != nil {
		return Binaries{}, ErrNotBuilt
	}
	return found, nil
}

func (r recipe) build(ctx context.Context, dir string, progress io.Writer) error {
	// One command per final name, because go names etcd's program "server" if it is left to choose; the large
	// Kubernetes programs share one command, so that their common packages are compiled side by side.
	grouped := []string{}
	for name, pkg := range targets {
		if name != "etcd" {
			grouped = append(grouped, pkg)
		}
	}
	slices.Sort(grouped)
	fmt.Fprintf(progress,
		"building Kubernetes %s, kwok and etcd into %s (ten to twenty minutes on two cores when nothing is cached)\n", r.version, dir)
	base := []string{"build", "-v", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags", r.ldflags, "-o"}
	if err := r.run(ctx, progress, slices.Concat(base, []string{dir + string(filepath.Separator)}, grouped)); err != nil {
		return err
	}
	if err := r.run(ctx, progress, slices.Concat(base, []string{filepath.Join(dir, "etcd"), targets["etcd"]})); err != nil {
		return err
	}
	return r.copyStages(ctx, dir)
}

// copyStages keeps kwok's stages beside the binaries, so that the module cache is not needed at run time.
func (r recipe) copyStages(ctx context.Context, dir string) error {
	module, err := goOutput(ctx, r.moduleDir, "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok")
	if err != nil {
		return err
	}
	var joined bytes.Buffer
	for _, folder := range stageFolders {
		files, err := filepath.Glob(filepath.Join(module, "kustomize", "stage", filepath.FromSlash(folder), "*.yaml"))
		if err != nil {
			return fmt.Errorf("listing kwok's stages in %q: %w", folder, err)
		}
		for _, file := range files {
			if filepath.Base(file) == "kustomization.yaml" {
				continue
			}
			stage, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("reading a kwok stage: %w", err)
			}
			fmt.Fprintf(&joined, "---\n%s\n", bytes.TrimSpace(stage))
		}
	}
	if joined.Len() == 0 {
		return fmt.Errorf("looking for kwok's stages under %q: none found", module)
	}
	if err := os.WriteFile(filepath.Join(dir, stagesFile), joined.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing kwok's stages: %w", err)
	}
	return nil
}

func (r recipe) run(ctx context.Context, progress io.Writer, args []string) error {
	cmd := goCommand(ctx, r.moduleDir, args...)
	p := NewProgress(progress)
	cmd.Stdout, cmd.Stderr = p, p
	if err := p.Failed(cmd.Run()); err != nil {
		return fmt.Errorf("running go build in %q: %w", r.moduleDir, err)
	}
	return nil
}

func readRecipe(ctx context.Context) (recipe, error) {
	dir, err := moduleDir()
	if err != nil {
		return recipe{}, err
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return recipe{}, fmt.Errorf("reading the pinned versions: %w", err)
	}
	sum, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		return recipe{}, fmt.Errorf("reading the pinned checksums: %w", err)
	}
	version, err := pinned(mod, "k8s.io/kubernetes")
	if err != nil {
		return recipe{}, err
	}
	toolchain, err := goOutput(ctx, dir, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return recipe{}, err
	}
	r := recipe{moduleDir: dir, version: version, ldflags: ldflags(version)}
	hash := sha256.New()
	for _, part := range [][]byte{mod, sum, []byte(r.ldflags), []byte(toolchain)} {
		fmt.Fprintf(hash, "%d\n%s\n", len(part), part)
	}
	r.key = version + "-" + hex.EncodeToString(hash.Sum(nil))[:16]
	return r, nil
}

// ldflags gives the programs the version that they report. Without it they say v0.0.0 and clients that look at
// the server's version misbehave.
func ldflags(version string) string {
	const pkg = "k8s.io/component-base/version."
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return fmt.Sprintf("-s -w -X %[1]sgitVersion=%[2]s -X %[1]sgitMajor=%[3]s -X %[1]sgitMinor=%[4]s", pkg, version, parts[0], parts[1])
}

// pinned reads a required version out of go.mod. Only the require line has exactly the path and a version.
func pinned(mod []byte, module string) (string, error) {
	for line := range strings.Lines(string(mod)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == module && strings.Count(fields[1], ".") >= 2 && fields[1][0] == 'v' {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("reading the pinned versions: %q is not required in hack/cluster/binaries/go.mod", module)
}

// moduleDir finds hack/cluster/binaries: beside this source file, or, when the program was built with -trimpath,
// from the working directory upwards.
func moduleDir() (string, error) {
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		dir := filepath.Join(filepath.Dir(filepath.Dir(file)), "binaries")
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
	}
	at, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
	}
	for {
		dir := filepath.Join(at, "hack", "cluster", "binaries")
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if filepath.Dir(at) == at {
			return "", errors.New("finding hack/cluster/binaries: run this inside the Towline repository")
		}
		at = filepath.Dir(at)
	}
}

// CacheDir returns a folder under $TOWLINE_CACHE or the user's cache, and makes it.
func CacheDir(parts ...string) (string, error) {
	root := os.Getenv("TOWLINE_CACHE")
	if root == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding the cache folder (set TOWLINE_CACHE to choose one): %w", err)
		}
		root = filepath.Join(user, "towline")
	}
	dir, err := filepath.Abs(filepath.Join(append([]string{root}, parts...)...))
	if err != nil {
		return "", fmt.Errorf("finding the cache folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making the cache folder: %w", err)
	}
	return dir, nil
}

func goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// The pinned module stands alone: a workspace or flags of the caller must not change what is built.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "PWD="+dir)
	return cmd
}

func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := goCommand(ctx, dir, args...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return "", fmt.Errorf("running go %s: %w: %s", args[0], err, bytes.TrimSpace(exit.Stderr))
	}
	if err != nil {
		return "", fmt.Errorf("running go %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
