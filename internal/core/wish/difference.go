package wish

import (
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Difference is the patch that does to an object what an edit did, and nothing else: fields that this version does not
// know stay. It is bound to the version that was edited. Nil is that nothing changed.
func Difference[T any](object *T, edit func(*T) error) ([]byte, error) {
	meta, ok := any(object).(metav1.Object)
	if !ok {
		return nil, fmt.Errorf("%T is no object of a cluster", object)
	}
	version := meta.GetResourceVersion()
	before, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encoding what stands: %w", err)
	}
	if err := edit(object); err != nil {
		return nil, err
	}
	after, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encoding the change: %w", err)
	}
	text, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return nil, fmt.Errorf("comparing with what stands: %w", err)
	}
	patch := map[string]any{}
	if err := json.Unmarshal(text, &patch); err != nil || len(patch) == 0 {
		return nil, err
	}
	changes, ok := patch["metadata"].(map[string]any)
	if !ok {
		changes = map[string]any{}
		patch["metadata"] = changes
	}
	changes["resourceVersion"] = version
	return json.Marshal(patch)
}
