package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	hookSecret = "the secret of the bench"
	// hookSize is how large the letters are: like those of GitHub.
	hookSize = 8 << 10
	// senders is how many connections there are.
	senders = 8
	// hookWindow is how often a repository is looked at for webhooks.
	hookWindow = time.Second
)

// hooking is one run of the scenario.
type hooking struct {
	*staged
	bare *worker
	// ours and theirs are where webhooks go.
	ours, theirs string
	made         atomic.Int64
}

// runWebhook sends webhooks that nobody signed, that are signed wrongly, and that
// come again and again, to the product and to a bare handler that answers 401;
// and then floods the product with all of them while real pushes are made.
func runWebhook(ctx context.Context, b *bench) (err error) {
	s, err := b.stage(ctx, map[string]string{"web/all.yaml": configMapText("web", "0")}, rarely())
	if err != nil {
		return err
	}
	h := &hooking{staged: s}
	defer func() { err = errors.Join(err, s.end()) }()
	if err := h.populate(ctx); err != nil {
		return err
	}
	if h.bare, err = b.hire(ctx, "refusal", setup{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.bare.dismiss()) }()
	serving, err := h.bare.tell(order{Do: "serve"})
	if err != nil {
		return err
	}
	h.ours, h.theirs = h.product.base+"/api/webhook", fmt.Sprintf("http://127.0.0.1:%d/api/webhook", serving.Counts["port"])
	// So that everything is warm.
	for range 5 {
		if _, err := h.push(ctx); err != nil {
			return err
		}
	}
	if err := h.costs(ctx); err != nil {
		return err
	}
	return h.flood(ctx)
}

// populate makes an application that nobody would look at for an hour, and
// starts the product.
func (h *hooking) populate(ctx context.Context) error {
	if err := h.namespace(ctx, namespaceOf(0)); err != nil {
		return err
	}
	if err := h.create(ctx, h.app(place{name: "web", repo: repository, path: "web", namespace: namespaceOf(0)})); err != nil {
		return err
	}
	return h.play(ctx)
}

// push makes a commit, tells of it, and says how many milliseconds it took from
// the webhook to the cluster.
func (h *hooking) push(ctx context.Context) (float64, error) {
	word := h.word()
	return h.staged.push(ctx, map[string]*string{"web/all.yaml": new(configMapText("web", word))}, namespaceOf(0)+"/web", word)
}

// letterOf is what GitHub says of a push, as long as such letters are.
func letterOf(url, before, sha string) string {
	text := fmt.Sprintf(`{"ref":"refs/heads/main","before":%q,"after":%q,`+
		`"repository":{"html_url":%q,"default_branch":"main"},"commits":[]}`, before, sha, strings.TrimSuffix(url, ".git"))
	return text + strings.Repeat(" ", hookSize-len(text))
}

func (h *hooking) letter(sha string) string { return letterOf(h.git.URL(repository), "", sha) }

// another is a letter that never came before.
func (h *hooking) another() string { return h.letter(fmt.Sprintf("%040d", h.made.Add(1))) }

func signatureOf(key, body string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// sent is a webhook and the answer that it gets.
type sent struct {
	name, body, signature string
	code                  int
}

func (h *hooking) kinds() []sent {
	body := h.letter(strings.Repeat("0", 40))
	return []sent{
		{"unsigned", body, "", 401},
		{"wrongly signed", body, signatureOf("another secret", body), 401},
		{"repeated", body, signatureOf(hookSecret, body), 200},
	}
}

// costs measures the CPU time of a request, in turn with the bare handler.
func (h *hooking) costs(ctx context.Context) error {
	ours, theirs := map[string]sample{}, map[string]sample{}
	walls := map[string]sample{}
	for round := range h.scale.repeats + 1 {
		for _, kind := range h.kinds() {
			bare := kind
			bare.code = 401
			theirCPU, _, err := h.round(ctx, h.theirs, bare, func() (float64, error) { return cpuOf(h.bare.cmd.Process.Pid) })
			if err != nil {
				return err
			}
			ourCPU, wall, err := h.round(ctx, h.ours, kind, h.product.cpu)
			if err != nil {
				return err
			}
			// The first round is for warming up.
			if round > 0 {
				ours[kind.name], theirs[kind.name] = append(ours[kind.name], ourCPU), append(theirs[kind.name], theirCPU)
				walls[kind.name] = append(walls[kind.name], wall)
			}
		}
	}
	r := h.report
	r.columns("webhooks", "CPU µs", "bare µs", "ratio", "wall µs")
	for _, kind := range h.kinds() {
		a, b := ours[kind.name], theirs[kind.name]
		r.row(kind.name, a.spread(), b.spread(), a.median()/b.median(), walls[kind.name].median())
		r.atMost(strings.ReplaceAll(kind.name, " ", "_")+"_vs_bare", a.median()/b.median(), 3)
	}
	return nil
}

// round sends one kind so many times, and says what each cost the one who
// answers, in microseconds.
func (h *hooking) round(ctx context.Context, to string, kind sent, cpu func() (float64, error)) (cost, wall float64, err error) {
	before, err := cpu()
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	each := h.scale.times / senders
	c := client(senders)
	defer c.CloseIdleConnections()
	for range senders {
		group.Go(func() error {
			for range each {
				code, err := post(ctx, c, to, kind.body, kind.signature)
				if err != nil {
					return err
				}
				if code != kind.code {
					return fmt.Errorf("%s: the answer is %d, want %d", kind.name, code, kind.code)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return 0, 0, err
	}
	took := time.Since(start)
	after, err := cpu()
	n := float64(each * senders)
	return (after - before) / n * 1e6, took.Seconds() / n * 1e6, err
}

// flood sends everything for a while, letters among it that are signed and new,
// and makes real pushes meanwhile.
func (h *hooking) flood(ctx context.Context) error {
	quiet, err := h.pushes(ctx, time.Now().Add(time.Duration(h.scale.seconds)*time.Second/3))
	if err != nil {
		return err
	}
	// What is still to be looked at for the last push is not the flood's.
	time.Sleep(2 * hookWindow)
	h.git.ResetRequests()
	start := time.Now()
	until := start.Add(time.Duration(h.scale.seconds) * time.Second)
	pace := time.NewTicker(time.Second / time.Duration(h.scale.rate))
	defer pace.Stop()
	flooding, stop := context.WithDeadline(ctx, until)
	defer stop()
	var answered [4]atomic.Int64
	kinds := h.kinds()
	group := errgroup.Group{}
	c := client(senders)
	defer c.CloseIdleConnections()
	for range senders {
		group.Go(func() error {
			for n := 0; ; n++ {
				select {
				case <-flooding.Done():
					return nil
				case <-pace.C:
				}
				which := n % 4
				kind := sent{"another", "", "", 200}
				if which < len(kinds) {
					kind = kinds[which]
				} else {
					kind.body = h.another()
					kind.signature = signatureOf(hookSecret, kind.body)
				}
				code, err := post(ctx, c, h.ours, kind.body, kind.signature)
				if err != nil || code != kind.code {
					return fmt.Errorf("%s: the answer is %d, want %d: %w", kind.name, code, kind.code, err)
				}
				answered[which].Add(1)
			}
		})
	}
	busy, err := h.pushes(ctx, until)
	if err := errors.Join(err, group.Wait()); err != nil {
		return err
	}
	return h.reportFlood(floodResult{quiet: quiet, busy: busy, took: time.Since(start), answered: []int64{
		answered[0].Load(), answered[1].Load(), answered[2].Load(), answered[3].Load(),
	}})
}

// pushes makes one after the other, each when the window of the last is over.
func (h *hooking) pushes(ctx context.Context, until time.Time) (sample, error) {
	var out sample
	for time.Now().Before(until) {
		time.Sleep(hookWindow + hookWindow/10)
		took, err := h.push(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, took)
	}
	return out, nil
}

type floodResult struct {
	quiet, busy sample
	took        time.Duration
	answered    []int64
}

func (h *hooking) reportFlood(f floodResult) error {
	asked := h.git.Requests()[repository]
	windows := math.Ceil(f.took.Seconds()/hookWindow.Seconds()) + 1
	r := h.report
	var all int64
	for _, n := range f.answered {
		all += n
	}
	h.logf("%d webhooks in %s, %d pushes: %s ms each, %s ms without the flood", all, f.took.Round(time.Second), len(f.busy),
		f.busy.spread(), f.quiet.spread())
	r.atMost("looks_per_window", float64(asked.ListRefs)/windows, 1)
	r.atMost("fetches_per_push", float64(asked.Fetch)/float64(max(len(f.busy), 1)), 1)
	r.atLeast("pushes_applied", float64(len(f.busy)), 1)
	r.note("flood_per_s", float64(all)/f.took.Seconds())
	r.note("looks", float64(asked.ListRefs))
	r.note("push_ms", f.busy.median())
	r.note("quiet_push_ms", f.quiet.median())
	return nil
}
