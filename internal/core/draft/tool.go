package draft

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/towline-cd/towline/api/v1alpha1"
)

var helmFlags = []Flag{
	ofHelm.list("values", "file of values, of the chart's folder or as $ref/…",
		func(h *v1alpha1.ApplicationSourceHelm) *[]string { return &h.ValueFiles }),
	{
		Name: "values-literal-file", Usage: "file of this machine whose content are values", Kind: File,
		set: func(t *target, v Value) error {
			// The object would win over the text.
			helm(t).Values, helm(t).ValuesObject = v.Text, nil
			return nil
		},
	},
	ofHelm.switched("ignore-missing-value-files", "go on without files of values that are not there",
		func(h *v1alpha1.ApplicationSourceHelm) *bool { return &h.IgnoreMissingValueFiles }),
	ofHelm.pairs("helm-set", "value of the chart, as NAME=VALUE", parameter(false)),
	ofHelm.pairs("helm-set-string", "value of the chart that is a text, as NAME=VALUE", parameter(true)),
	ofHelm.pairs("helm-set-file", "value of the chart from a file, as NAME=PATH",
		func(h *v1alpha1.ApplicationSourceHelm, name, path string) error {
			h.FileParameters = put(h.FileParameters, v1alpha1.HelmFileParameter{Name: name, Path: path},
				func(have v1alpha1.HelmFileParameter) bool { return have.Name == name })
			return nil
		}),
	{
		Name: "parameter", Short: "p", Usage: "the same as --helm-set", Kind: Texts,
		set: func(t *target, v Value) error {
			s := t.source
			if s.Helm == nil && (s.Kustomize != nil || s.Directory != nil || s.Plugin != nil) {
				return errors.New("parameters are those of charts, and the source is no chart")
			}
			return each(v.Texts, func(name, value string) error { return parameter(false)(helm(t), name, value) })
		},
	},
	ofHelm.text("release-name", "name of the release (default: that of the application)",
		func(h *v1alpha1.ApplicationSourceHelm) *string { return &h.ReleaseName }),
	ofHelm.text("helm-version", "kept in the application, and not needed: there is one version of Helm",
		func(h *v1alpha1.ApplicationSourceHelm) *string { return &h.Version }),
	ofHelm.switched("helm-pass-credentials", "send the login to whatever host a chart is on",
		func(h *v1alpha1.ApplicationSourceHelm) *bool { return &h.PassCredentials }),
	ofHelm.switched("helm-skip-crds", "leave out the folder crds of the chart",
		func(h *v1alpha1.ApplicationSourceHelm) *bool { return &h.SkipCrds }),
	ofHelm.switched("helm-skip-schema-validation", "do not check the values against the chart's schema",
		func(h *v1alpha1.ApplicationSourceHelm) *bool { return &h.SkipSchemaValidation }),
	ofHelm.switched("helm-skip-tests", "leave out the tests of the chart",
		func(h *v1alpha1.ApplicationSourceHelm) *bool { return &h.SkipTests }),
	ofHelm.text("helm-namespace", "namespace that the chart is told (default: that of the destination)",
		func(h *v1alpha1.ApplicationSourceHelm) *string { return &h.Namespace }),
	ofHelm.text("helm-kube-version", "version of Kubernetes that the chart is told (default: that of the cluster)",
		func(h *v1alpha1.ApplicationSourceHelm) *string { return &h.KubeVersion }),
	ofHelm.list("helm-api-versions", "API that the chart is told of, as in apps/v1/Deployment (default: those of the cluster)",
		func(h *v1alpha1.ApplicationSourceHelm) *[]string { return &h.APIVersions }),
}

func parameter(text bool) func(h *v1alpha1.ApplicationSourceHelm, name, value string) error {
	return func(h *v1alpha1.ApplicationSourceHelm, name, value string) error {
		h.Parameters = put(h.Parameters, v1alpha1.HelmParameter{Name: name, Value: value, ForceString: text},
			func(have v1alpha1.HelmParameter) bool { return have.Name == name })
		return nil
	}
}

var kustomizeFlags = []Flag{
	ofKustomize.text("nameprefix", "what names begin with", func(k *v1alpha1.ApplicationSourceKustomize) *string { return &k.NamePrefix }),
	ofKustomize.text("namesuffix", "what names end with", func(k *v1alpha1.ApplicationSourceKustomize) *string { return &k.NameSuffix }),
	ofKustomize.text("kustomize-version", "version of kustomize",
		func(k *v1alpha1.ApplicationSourceKustomize) *string { return &k.Version }),
	ofKustomize.text("kustomize-namespace", "namespace of the objects",
		func(k *v1alpha1.ApplicationSourceKustomize) *string { return &k.Namespace }),
	{
		Name: "kustomize-image", Usage: "image to take, as [OLD=]NAME[:TAG|@DIGEST]", Kind: Texts,
		set: func(t *target, v Value) error {
			k := kustomize(t)
			for _, image := range v.Texts {
				if image == "" {
					return errors.New("an image has a name")
				}
				k.Images = put(k.Images, image, func(have string) bool { return imageName(have) == imageName(image) })
			}
			return nil
		},
	},
	ofKustomize.pairs("kustomize-replica", "replicas of a workload, as NAME=COUNT",
		func(k *v1alpha1.ApplicationSourceKustomize, name, value string) error {
			n, err := strconv.ParseUint(value, 10, 31)
			if err != nil {
				return fmt.Errorf("%q is no number of replicas", value)
			}
			k.Replicas = put(k.Replicas, v1alpha1.KustomizeReplica{Name: name, Count: intstr.FromInt32(int32(n))}, //nolint:gosec // 31 bits
				func(have v1alpha1.KustomizeReplica) bool { return have.Name == name })
			return nil
		}),
	ofKustomize.pairs("kustomize-common-label", "label of all objects, as NAME=VALUE",
		func(k *v1alpha1.ApplicationSourceKustomize, name, value string) error {
			if k.CommonLabels == nil {
				k.CommonLabels = map[string]string{}
			}
			k.CommonLabels[name] = value
			return nil
		}),
	ofKustomize.pairs("kustomize-common-annotation", "annotation of all objects, as NAME=VALUE",
		func(k *v1alpha1.ApplicationSourceKustomize, name, value string) error {
			if k.CommonAnnotations == nil {
				k.CommonAnnotations = map[string]string{}
			}
			k.CommonAnnotations[name] = value
			return nil
		}),
	ofKustomize.switched("kustomize-force-common-label", "also where an object has the label with another value",
		func(k *v1alpha1.ApplicationSourceKustomize) *bool { return &k.ForceCommonLabels }),
	ofKustomize.switched("kustomize-force-common-annotation", "also where an object has the annotation with another value",
		func(k *v1alpha1.ApplicationSourceKustomize) *bool { return &k.ForceCommonAnnotations }),
	ofKustomize.switched("kustomize-label-without-selector", "leave selectors without the common labels",
		func(k *v1alpha1.ApplicationSourceKustomize) *bool { return &k.LabelWithoutSelector }),
	ofKustomize.switched("kustomize-label-include-templates", "and let the templates have them",
		func(k *v1alpha1.ApplicationSourceKustomize) *bool { return &k.LabelIncludeTemplates }),
	ofKustomize.switched("ignore-missing-components", "go on without components that are not there",
		func(k *v1alpha1.ApplicationSourceKustomize) *bool { return &k.IgnoreMissingComponents }),
	ofKustomize.text("kustomize-kube-version", "version of Kubernetes that charts in it are told",
		func(k *v1alpha1.ApplicationSourceKustomize) *string { return &k.KubeVersion }),
	ofKustomize.list("kustomize-api-versions", "API that charts in it are told of",
		func(k *v1alpha1.ApplicationSourceKustomize) *[]string { return &k.APIVersions }),
}

// imageName is what an image takes the place of: the part before =, or its own name.
func imageName(image string) string {
	if old, _, replaced := strings.Cut(image, "="); replaced {
		return old
	}
	name, _, _ := strings.Cut(image, "@")
	if at := strings.LastIndex(name, ":"); at > strings.LastIndex(name, "/") {
		name = name[:at]
	}
	return name
}
