// Package v1alpha1 holds the API types of argoproj.io/v1alpha1 and every name that a user or another program relies on;
// it must not decide anything: no validation, no defaulting, no I/O.
//
// The JSON of these types is the JSON that Argo CD reads and writes. Nothing is required by the schema, because a
// manifest with a hole in it must reach the controller, which says by name what is missing.
//
// +kubebuilder:object:generate=true
// +kubebuilder:validation:Optional
// +groupName=argoproj.io
package v1alpha1
