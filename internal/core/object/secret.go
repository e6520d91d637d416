package object

import (
	"encoding/base64"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// EncodeStringData turns a Secret's stringData into data, in place, as the
// server does on every write. The server keeps no trace of stringData, so a
// manifest that has it would never compare equal and would not own its keys.
func EncodeStringData(u *unstructured.Unstructured) {
	if !KeyOf(u).Secret() {
		return
	}
	from, ok := u.Object["stringData"].(map[string]any)
	if !ok {
		return
	}
	before, ok := u.Object["data"].(map[string]any)
	if !ok && u.Object["data"] != nil {
		return
	}
	data := maps.Clone(before)
	if data == nil {
		data = map[string]any{}
	}
	for k, v := range from {
		s, ok := v.(string)
		if !ok {
			// Not a Secret that the server would take; let it say so.
			return
		}
		data[k] = base64.StdEncoding.EncodeToString([]byte(s))
	}
	u.Object["data"] = data
	delete(u.Object, "stringData")
}
