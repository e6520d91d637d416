package notice

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Told is the record of what was told, and when, as Argo CD keeps it on the application, so that either program goes on where
// the other one stopped.
type Told map[string]int64

// mostTold is how many entries the record has, as in Argo CD.
const mostTold = 100

// Phase is how far a message has come that was not told yet.
type Phase string

// The phases.
const (
	// Due is a message that is to be sent.
	Due Phase = "due"
	// Sending is one that is about to be sent, or was: only whoever took it up knows.
	Sending Phase = "sending"
	// Failed is one that was given up; it is due again with another configuration.
	Failed Phase = "failed"
)

// Claim is a message on its way. It is on the application before anything is sent, so that whoever acts next knows of it.
type Claim struct {
	Phase Phase `json:"phase"`
	// ID is the same however often the message is sent.
	ID string `json:"id"`
	// By is who took it up.
	By string `json:"by,omitempty"`
	At int64  `json:"at"`
	// Config is the version of the configuration, and Namespace where it lives.
	Config    string `json:"config,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Trigger   string `json:"trigger"`
	// Condition is the key of the condition.
	Condition string `json:"condition"`
	Service   string `json:"service"`
	Recipient string `json:"recipient,omitempty"`
}

// Claims are the messages on their way, by their keys.
type Claims map[string]Claim

// Record is what an application says of its messages.
type Record struct {
	Told   Told
	Claims Claims
}

// RecordOf reads it. What cannot be read is as good as nothing, as in Argo CD.
func RecordOf(annotations map[string]string) Record {
	r := Record{Told: Told{}, Claims: Claims{}}
	if text := annotations[v1alpha1.AnnotationNotified]; text != "" && json.Unmarshal([]byte(text), &r.Told) != nil {
		r.Told = Told{}
	}
	if text := annotations[v1alpha1.AnnotationNotifying]; text != "" && json.Unmarshal([]byte(text), &r.Claims) != nil {
		r.Claims = Claims{}
	}
	return r
}

// Clone is a copy that can be changed.
func (r Record) Clone() Record { return Record{Told: maps.Clone(r.Told), Claims: maps.Clone(r.Claims)} }

// Equal says that two are the same.
func (r Record) Equal(o Record) bool {
	return maps.Equal(r.Told, o.Told) && maps.Equal(r.Claims, o.Claims)
}

// Annotations are how it is written: nil is an annotation that is not there.
func (r Record) Annotations() map[string]*string {
	out := map[string]*string{v1alpha1.AnnotationNotified: nil, v1alpha1.AnnotationNotifying: nil}
	if len(r.Told) > 0 {
		r.Told.truncate()
		out[v1alpha1.AnnotationNotified] = new(encode(r.Told))
	}
	if len(r.Claims) > 0 {
		out[v1alpha1.AnnotationNotifying] = new(encode(r.Claims))
	}
	return out
}

// truncate forgets the oldest entries.
func (t Told) truncate() {
	keys := slices.SortedFunc(maps.Keys(t), func(a, b string) int { return cmp.Or(cmp.Compare(t[a], t[b]), cmp.Compare(a, b)) })
	for _, key := range keys[:max(0, len(keys)-mostTold)] {
		delete(t, key)
	}
}

// identify names a message for its receivers: one that comes to be due again another time has another name.
func identify(app *v1alpha1.Application, key string, at int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s/%s %q %d", app.UID, app.Namespace, app.Name, key, at))
	return hex.EncodeToString(sum[:16])
}

// key names a message in the record, as Argo CD does.
func (c *Config) key(trigger string, o Outcome, to Destination) string {
	key := fmt.Sprintf("%s:%s:%s:%s", trigger, o.Condition.Key, to.Service, to.Recipient)
	if c.Own {
		key = c.Namespace + ":" + key
	}
	if o.Once != "" {
		key = o.Once + ":" + key
	}
	return key
}
