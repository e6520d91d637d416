package settings_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-cd/towline/internal/core/object"
	"github.com/towline-cd/towline/internal/settings"
)

const (
	every  = "timeout.reconciliation"
	jitter = "timeout.reconciliation.jitter"
)

func TestParse(t *testing.T) {
	with := func(r, j time.Duration) settings.Settings {
		return settings.Settings{Reconciliation: r, Jitter: j, Sync: settings.Default().Sync, Sets: settings.Default().Sets, Accounts: settings.Default().Accounts}
	}
	cases := map[string]struct {
		data map[string]string
		want settings.Settings
	}{
		"nothing":                        {nil, with(2*time.Minute, time.Minute)},
		"a duration":                     {map[string]string{every: "3m"}, with(3*time.Minute, time.Minute)},
		"a sum":                          {map[string]string{every: "1h30m"}, with(90*time.Minute, time.Minute)},
		"a bare number":                  {map[string]string{every: "180"}, with(3*time.Minute, time.Minute)},
		"off":                            {map[string]string{every: "0"}, with(0, time.Minute)},
		"off, with a unit":               {map[string]string{every: "0s"}, with(0, time.Minute)},
		"no jitter":                      {map[string]string{jitter: "0"}, with(2*time.Minute, 0)},
		"both":                           {map[string]string{every: "10s", jitter: "5"}, with(10*time.Second, 5*time.Second)},
		"the tracking we have":           {map[string]string{"application.resourceTrackingMethod": "annotation"}, settings.Default()},
		"no tracking said":               {map[string]string{"application.resourceTrackingMethod": ""}, settings.Default()},
		"the diff we make":               {map[string]string{"resource.server-side-diff": "true"}, settings.Default()},
		"an unknown key without a value": {map[string]string{"url": ""}, settings.Default()},
		"another tracking": {
			map[string]string{"application.resourceTrackingMethod": "label"},
			settings.Settings{Reconciliation: 2 * time.Minute, Jitter: time.Minute, Sync: settings.Default().Sync, Sets: settings.Default().Sets, Accounts: settings.Default().Accounts, Tracker: object.Tracker{Method: object.ByLabel}},
		},
		"a tracking that nobody knows": {
			map[string]string{"application.resourceTrackingMethod": "magic"},
			settings.Settings{Reconciliation: 2 * time.Minute, Jitter: time.Minute, Sync: settings.Default().Sync, Sets: settings.Default().Sets, Accounts: settings.Default().Accounts, Problems: []string{
				`application.resourceTrackingMethod: "magic" is none of annotation, label and annotation+label; using annotation`,
			}},
		},
		"kinds that are left out": {
			map[string]string{"resource.exclusions": "- apiGroups: [\"*\"]\n  kinds: [PolicyReport]\n", "resource.inclusions": ""},
			settings.Settings{
				Reconciliation: 2 * time.Minute, Jitter: time.Minute, Sync: settings.Default().Sync, Sets: settings.Default().Sets, Accounts: settings.Default().Accounts,
				Exclusions: []settings.Filter{{APIGroups: []string{"*"}, Kinds: []string{"PolicyReport"}}}, Inclusions: []settings.Filter{},
			},
		},
		"a diff that we do not make": {
			map[string]string{"resource.server-side-diff": "false"},
			settings.Settings{Reconciliation: 2 * time.Minute, Jitter: time.Minute, Sync: settings.Default().Sync, Sets: settings.Default().Sets, Accounts: settings.Default().Accounts, NotHonoured: []string{"resource.server-side-diff"}},
		},
		"unknown keys, in order": {
			map[string]string{"z": "1", every: "60", "a": "1"},
			settings.Settings{Reconciliation: time.Minute, Jitter: time.Minute, Sync: settings.Default().Sync, Sets: settings.Default().Sets, Accounts: settings.Default().Accounts, NotHonoured: []string{"a", "z"}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, settings.Parse(c.data)); d != "" {
				t.Errorf("the settings differ (-want +got):\n%s", d)
			}
		})
	}
}

// TestBadValueLeavesTheDefault: a value that makes no sense is a problem that
// names the key and the value, and never a setting.
func TestBadValueLeavesTheDefault(t *testing.T) {
	for name, value := range map[string]string{
		"a word": "often", "no unit we know": "3 minutes", "negative": "-1s", "a negative number": "-5",
		"more than time can hold": "99999999999999", "a fraction without a unit": "1.5",
	} {
		for _, key := range []string{every, jitter} {
			t.Run(name+" for "+key, func(t *testing.T) {
				got := settings.Parse(map[string]string{key: value})
				if got.Reconciliation != settings.Default().Reconciliation || got.Jitter != settings.Default().Jitter {
					t.Errorf("%q became %+v", value, got)
				}
				if len(got.Problems) != 1 || !strings.Contains(got.Problems[0], key) || !strings.Contains(got.Problems[0], value) {
					t.Errorf("the problems are %q", got.Problems)
				}
				if got.NotHonoured != nil {
					t.Errorf("%v is honoured", got.NotHonoured)
				}
			})
		}
	}
}

func TestOneBadValueDoesNotSpoilTheOthers(t *testing.T) {
	got := settings.Parse(map[string]string{every: "often", jitter: "5s"})
	if got.Jitter != 5*time.Second || got.Reconciliation != settings.Default().Reconciliation || len(got.Problems) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestWebhookSize(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "1": 1 << 20, "0": 0, "-1": 0, "big": 0} {
		s := settings.Parse(map[string]string{"webhook.maxPayloadSizeMB": text})
		if s.Serving.MaxWebhook != want {
			t.Errorf("%q: %d", text, s.Serving.MaxWebhook)
		}
		problem := text != "" && text != "1"
		if problem != (len(s.Problems) == 1) || len(s.NotHonoured) != 0 {
			t.Errorf("%q: problems %v, not honoured %v", text, s.Problems, s.NotHonoured)
		}
	}
}
