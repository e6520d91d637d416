{{/* The labels that every object has, and by which pods are found. */}}
{{- define "towline.labels" -}}
app.kubernetes.io/name: towline
app.kubernetes.io/part-of: argocd
{{- end }}

{{/* The name of what is for the whole cluster: another one for each namespace that there is an installation in. */}}
{{- define "towline.name" -}}
{{- if eq .Release.Namespace "argocd" }}towline{{ else }}towline-{{ .Release.Namespace }}{{ end }}
{{- end }}

{{/* A value of the settings as text: numbers as they were written, whatever their size. */}}
{{- define "towline.text" -}}
{{- if kindIs "float64" . }}{{ if eq (floor .) . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}{{ else }}{{ toString . }}{{ end }}
{{- end }}

{{/* A config map of the settings: name, values, and the keys among them that are not settings. */}}
{{- define "towline.configMap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/name: {{ .name }}
    app.kubernetes.io/part-of: argocd
  {{- with .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- if .data }}
data:
  {{- range $key, $value := .data }}
  {{ $key }}: {{ include "towline.text" $value | toYaml | nindent 4 | trim }}
  {{- end }}
{{- end }}
{{- end }}

{{/* What argo-helm's values have and nobody here reads, by name. */}}
{{- define "towline.unread" -}}
{{- $out := list }}
{{- range $key := list "apiVersionOverrides" "applicationSet" "commitServer" "controller" "createAggregateRoles" "createClusterRoles" "dex" "externalRedis" "fullnameOverride" "kubeVersionOverride" "nameOverride" "namespaceOverride" "notifications" "openshift" "redis" "redis-ha" "redisSecretInit" "repoServer" "server" }}
{{- if hasKey $.Values $key }}{{ $out = append $out $key }}{{ end }}
{{- end }}
{{- range $key, $_ := .Values.global }}
{{- if ne $key "domain" }}{{ $out = append $out (printf "global.%s" $key) }}{{ end }}
{{- end }}
{{- range $key := list "cmp" "styles" }}
{{- if hasKey $.Values.configs $key }}{{ $out = append $out (printf "configs.%s" $key) }}{{ end }}
{{- end }}
{{- join ", " $out }}
{{- end }}
