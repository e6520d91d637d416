package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion returns the group and version of every type in this package.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: Group, Version: Version}
}

// AddToScheme makes the types of this package known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion(),
		&Application{}, &ApplicationList{},
		&ApplicationSet{}, &ApplicationSetList{},
		&AppProject{}, &AppProjectList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion())
	return nil
}
