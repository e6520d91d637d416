package truth_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// webhookLabel is how an object asks to be changed on its way in. Its values
// are the names in patches.
const webhookLabel = "webhook"

// signing is the webhook that writes down who wrote last.
const signing = "signs"

// refusing is the webhook that does not want to be asked what it would do.
const refusing = "refuses-dry-run"

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// patches are the webhooks: what each does to an object.
func patches() map[string]func(u *unstructured.Unstructured, manager string) []operation {
	return map[string]func(*unstructured.Unstructured, string) []operation{
		"adds-key": func(*unstructured.Unstructured, string) []operation {
			return []operation{{"add", "/data/injected", "yes"}}
		},
		"adds-sidecar": func(u *unstructured.Unstructured, _ string) []operation {
			list, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
			for _, c := range list {
				if m, ok := c.(map[string]any); ok && m["name"] == "sidecar" {
					return nil
				}
			}
			return []operation{{"add", "/spec/template/spec/containers/-", map[string]any{"name": "sidecar", "image": "example.com/sidecar:1"}}}
		},
		"sets-size": func(*unstructured.Unstructured, string) []operation {
			return []operation{{"add", "/data/size", "as the webhook says"}}
		},
		signing: func(_ *unstructured.Unstructured, manager string) []operation {
			return []operation{{"add", "/data/by", manager}}
		},
		refusing: func(*unstructured.Unstructured, string) []operation { return nil },
	}
}

// webhooks runs an admission server and returns what tells the cluster of it.
func webhooks(t *testing.T) *admissionregistrationv1.MutatingWebhookConfiguration {
	server := httptest.NewTLSServer(http.HandlerFunc(admit))
	t.Cleanup(server.Close)
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	out := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "truth"}}
	for name := range patches() {
		effects := admissionregistrationv1.SideEffectClassNoneOnDryRun
		out.Webhooks = append(out.Webhooks, admissionregistrationv1.MutatingWebhook{
			Name:                    name + ".truth.example.com",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: new(server.URL + "/" + name), CABundle: bundle},
			ObjectSelector:          &metav1.LabelSelector{MatchLabels: map[string]string{webhookLabel: name}},
			SideEffects:             &effects,
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{"", "apps"}, APIVersions: []string{"v1"}, Resources: []string{"configmaps", "deployments"},
				},
			}},
		})
	}
	return out
}

func admit(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "not an admission review", http.StatusBadRequest)
		return
	}
	response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	u := &unstructured.Unstructured{}
	patch := patches()[r.URL.Path[1:]]
	if patch == nil || u.UnmarshalJSON(review.Request.Object.Raw) != nil {
		http.Error(w, "not a webhook", http.StatusNotFound)
		return
	}
	if dry := review.Request.DryRun; dry != nil && *dry && r.URL.Path[1:] == refusing {
		response.Allowed = false
		response.Result = &metav1.Status{Message: "this webhook does not do dry-runs"}
	}
	var options metav1.PatchOptions
	if err := json.Unmarshal(review.Request.Options.Raw, &options); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if ops := patch(u, options.FieldManager); len(ops) > 0 {
		raw, err := json.Marshal(ops)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		response.Patch, response.PatchType = raw, new(admissionv1.PatchTypeJSONPatch)
	}
	review.Request, review.Response = nil, response
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}
