package lint

import (
	"slices"
	"strings"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// words are names, and beginnings of names, that somebody reads.
type words struct{ exact, prefixes []string }

func (w words) has(key string) bool {
	return slices.Contains(w.exact, key) || slices.ContainsFunc(w.prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

// keysOf are the keys of the config maps and of the secret of an installation.
// What Argo CD reads and we do not is among them: another check tells of it.
var keysOf = map[string]words{
	v1alpha1.ConfigMapSettings: {
		exact: []string{
			v1alpha1.KeyProfile, v1alpha1.KeyPruneSettle, v1alpha1.KeyResourceTrackingMethod, v1alpha1.KeyInstanceLabelKey,
			v1alpha1.KeyInstallationID, v1alpha1.KeyTimeoutReconciliation, v1alpha1.KeyTimeoutReconciliationJitter,
			v1alpha1.KeyTimeoutHardReconciliation, v1alpha1.KeyCompareOptions, v1alpha1.KeyResourceExclusions,
			v1alpha1.KeyResourceInclusions, v1alpha1.KeyRespectRBAC, v1alpha1.KeyIgnoreResourceUpdatesEnabled,
			v1alpha1.KeySensitiveMaskAnnotations, v1alpha1.KeyCustomLabels, v1alpha1.KeyIncludeEventLabelKeys,
			v1alpha1.KeyExcludeEventLabelKeys, v1alpha1.KeyAllowedNodeLabels, v1alpha1.KeyInClusterEnabled,
			v1alpha1.KeyGlobalProjects, v1alpha1.KeyImpersonationEnabled, v1alpha1.KeyImpersonationEnforced,
			v1alpha1.KeyRequireOverrideForRevision, v1alpha1.KeyCustomizations, v1alpha1.KeyKustomizeEnable,
			v1alpha1.KeyKustomizeBuildOptions, v1alpha1.KeyHelmEnable, v1alpha1.KeyHelmValuesFileSchemes, v1alpha1.KeyJsonnetEnable,
			v1alpha1.KeyCommitAuthorName, v1alpha1.KeyCommitAuthorEmail, v1alpha1.KeyHydratorCommitMessage,
			v1alpha1.KeyHydratorReadmeMessage, v1alpha1.KeyURL, v1alpha1.KeyAdditionalURLs, v1alpha1.KeyAdminEnabled,
			v1alpha1.KeyAnonymousEnabled, v1alpha1.KeySessionDuration, v1alpha1.KeyPasswordPattern, v1alpha1.KeyOIDCConfig,
			v1alpha1.KeyOIDCInsecureSkipVerify, v1alpha1.KeyDexConfig, v1alpha1.KeyDexStorage, v1alpha1.KeyDexConnectorID,
			v1alpha1.KeyDisableFineGrainedInherit, v1alpha1.KeyRBACRollbackEnforce, v1alpha1.KeyStatusBadgeEnabled,
			v1alpha1.KeyStatusBadgeURL, v1alpha1.KeyExecEnabled, v1alpha1.KeyExecShells, v1alpha1.KeyMaxPodLogsToRender,
			v1alpha1.KeyProjectLinks, v1alpha1.KeyApplicationLinks, v1alpha1.KeyResourceLinks, v1alpha1.KeyExtensionConfig,
			v1alpha1.KeyWebhookMaxPayloadMB, v1alpha1.KeyWebhookJitter, v1alpha1.KeyWebhookJitterThreshold,
		},
		prefixes: []string{
			v1alpha1.KeyCustomizations + ".", v1alpha1.KeyKustomizeBuildOptionsPrefix, v1alpha1.KeyKustomizePathPrefix,
			v1alpha1.KeyKustomizeVersionPrefix, v1alpha1.KeyAccountsPrefix, "ui.", "help.", "ga.", "towline.",
		},
	},
	v1alpha1.ConfigMapCmdParams: {
		exact: []string{v1alpha1.KeyParamApplicationNamespaces, "repo.server", "commit.server", "redis.server", "redis.compression"},
		prefixes: []string{
			"controller.", "server.", "reposerver.", v1alpha1.KeyParamAppSetPrefix, "notificationscontroller.", "dexserver.", "redis.",
			"otlp.", "hydrator.", "commitserver.", "log.", "ignore.normalizer.",
		},
	},
	v1alpha1.ConfigMapRBAC: {
		exact:    []string{v1alpha1.KeyPolicyCSV, v1alpha1.KeyPolicyDefault, v1alpha1.KeyPolicyScopes, v1alpha1.KeyPolicyMatchMode},
		prefixes: []string{v1alpha1.KeyPolicyPrefix},
	},
	v1alpha1.ConfigMapNotifications: {
		exact: []string{v1alpha1.KeyNotifySubscriptions, v1alpha1.KeyNotifyContext, v1alpha1.KeyNotifyDefaultTriggers},
		prefixes: []string{
			v1alpha1.KeyNotifyServicePrefix, v1alpha1.KeyNotifyTemplatePrefix, v1alpha1.KeyNotifyTriggerPrefix,
			v1alpha1.KeyNotifyDefaultTriggersPrefix,
		},
	},
}

// free are the config maps whose keys are the users' own.
var free = []string{
	v1alpha1.ConfigMapSSHKnownHosts, v1alpha1.ConfigMapTLSCerts, v1alpha1.ConfigMapGPGKeys, v1alpha1.ConfigMapShards,
}

// The keys of the secret that webhooks are checked with.
var webhookKeys = []string{
	v1alpha1.KeyWebhookGitHub, v1alpha1.KeyWebhookGitLab, v1alpha1.KeyWebhookBitbucketServer, v1alpha1.KeyWebhookBitbucketUUID,
	v1alpha1.KeyWebhookGogs, v1alpha1.KeyWebhookHarbor, v1alpha1.KeyWebhookAzureUsername, v1alpha1.KeyWebhookAzurePassword,
}

// secretKeys are further ones that are secret.
var secretKeys = []string{v1alpha1.KeyServerSecretKey, v1alpha1.KeyAdminPassword}

// annotationKeys are the annotations of Argo CD and our own.
var annotationKeys = words{
	exact: []string{
		v1alpha1.AnnotationRefresh, v1alpha1.AnnotationRefreshTimestamp, v1alpha1.AnnotationHydrate, v1alpha1.AnnotationHydrateTimestamp,
		v1alpha1.AnnotationManifestGeneratePaths, v1alpha1.AnnotationSkipReconcile, v1alpha1.AnnotationCSAMigrationManager,
		v1alpha1.AnnotationDeletionApproved, v1alpha1.AnnotationManagedByURL, v1alpha1.AnnotationApplicationSetRefresh,
		v1alpha1.AnnotationPrefDefaultView, v1alpha1.AnnotationPrefDefaultPodSort, v1alpha1.AnnotationNotified,
		v1alpha1.AnnotationCompareOptions, v1alpha1.AnnotationSyncWave, v1alpha1.AnnotationHook, v1alpha1.AnnotationHookDeletePolicy,
		v1alpha1.AnnotationSyncOptions, v1alpha1.AnnotationTrackingID, v1alpha1.AnnotationInstallationID,
		v1alpha1.AnnotationIgnoreHealthCheck, v1alpha1.AnnotationIgnoreRestartPolicy, v1alpha1.AnnotationIgnoreResourceUpdates,
		v1alpha1.AnnotationIgnoreDefaultLinks, v1alpha1.LabelSecretType, v1alpha1.LabelAutoClusterInfo, v1alpha1.LabelKubernetesVersion,
		v1alpha1.AnnotationHoldUntil, v1alpha1.AnnotationHoldReason, v1alpha1.AnnotationRejected, v1alpha1.AnnotationSuccessor,
		v1alpha1.AnnotationHelmHook, v1alpha1.AnnotationHelmHookWeight, v1alpha1.AnnotationHelmHookDeletePolicy,
		v1alpha1.AnnotationHelmResourcePolicy,
	},
	prefixes: []string{
		v1alpha1.AnnotationNoticePrefix, v1alpha1.AnnotationNotifySubscribePrefix, v1alpha1.AnnotationLinkPrefix,
		v1alpha1.AnnotationPrefix, "notifications.argoproj.io/", "rollout.argoproj.io/", "workflows.argoproj.io/", "events.argoproj.io/",
	},
}

// finalizerNames are those that somebody removes.
var finalizerNames = []string{
	v1alpha1.FinalizerResources, v1alpha1.FinalizerResourcesForeground, v1alpha1.FinalizerResourcesBackground,
	v1alpha1.FinalizerPreDelete, v1alpha1.FinalizerPreDeleteCleanup, v1alpha1.FinalizerPostDelete, v1alpha1.FinalizerPostDeleteCleanup,
	v1alpha1.FinalizerHook,
}
