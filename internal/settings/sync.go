package settings

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Sync are the settings of syncing.
type Sync struct {
	// ByLetter is the profile in which everything is as Argo CD has it.
	ByLetter bool
	// Settle is how old a sync must be before a deletion that looks like a
	// mistake.
	Settle time.Duration
	// Timeout ends a sync that takes longer; zero means never.
	Timeout time.Duration
	// WaveDelay is the pause between waves; zero means none.
	WaveDelay time.Duration
	// Heal spaces the attempts to heal the same revision: the first wait, what
	// it grows by, and where it ends. Plain is the fixed wait where no backoff
	// is set.
	HealFirst, HealCap time.Duration
	HealFactor         float64
}

func defaultSync() Sync {
	return Sync{Settle: time.Minute, HealFirst: 2 * time.Second, HealFactor: 3, HealCap: 5 * time.Minute}
}

// syncKeys are the keys of argocd-cm that parseSync reads.
var syncKeys = []string{v1alpha1.KeyProfile, v1alpha1.KeyPruneSettle}

// parseSync reads what argocd-cm and argocd-cmd-params-cm say about syncing.
func parseSync(data, params map[string]string) (Sync, []string) {
	s := defaultSync()
	var problems []string
	problem := func(key, format string, args ...any) {
		problems = append(problems, key+": "+fmt.Sprintf(format, args...))
	}
	switch p := data[v1alpha1.KeyProfile]; p {
	case "", v1alpha1.ProfileTowline:
	case v1alpha1.ProfileArgoCD:
		s.ByLetter = true
	default:
		problem(v1alpha1.KeyProfile, "%q is neither %s nor %s; using %[2]s", p, v1alpha1.ProfileTowline, v1alpha1.ProfileArgoCD)
	}
	for _, d := range []struct {
		from map[string]string
		key  string
		into *time.Duration
	}{
		{data, v1alpha1.KeyPruneSettle, &s.Settle},
		{params, v1alpha1.KeyParamSyncTimeout, &s.Timeout},
		{params, v1alpha1.KeyParamSyncWaveDelay, &s.WaveDelay},
		{params, v1alpha1.KeyParamSelfHealTimeout, &s.HealFirst},
		{params, v1alpha1.KeyParamSelfHealBackoffTimeout, &s.HealFirst},
		{params, v1alpha1.KeyParamSelfHealBackoffCap, &s.HealCap},
	} {
		text, set := d.from[d.key]
		if !set || text == "" {
			continue
		}
		value, err := duration(text)
		if err != nil {
			problem(d.key, "%v; using %s", err, *d.into)
			continue
		}
		*d.into = value
	}
	if text := params[v1alpha1.KeyParamSelfHealBackoffFactor]; text != "" {
		if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 1 {
			s.HealFactor = n
		} else {
			problem(v1alpha1.KeyParamSelfHealBackoffFactor, "%q is not a number of at least 1; using %v", text, s.HealFactor)
		}
	}
	slices.Sort(problems)
	return s, problems
}
