package v1alpha1

// This file has every name that a user, a repository, a cluster or another program relies on. A name that is
// not here must not be read from or written to a cluster; a name that is here must not change.

// The API group of the custom resources, its version, and the kinds.
const (
	Group   = "argoproj.io"
	Version = "v1alpha1"

	ApplicationKind    = "Application"
	ApplicationSetKind = "ApplicationSet"
	AppProjectKind     = "AppProject"

	ApplicationResource    = "applications"
	ApplicationSetResource = "applicationsets"
	AppProjectResource     = "appprojects"
)

// What exists without being declared.
const (
	DefaultProjectName    = "default"
	DefaultNamespace      = "argocd"
	InClusterServer       = "https://kubernetes.default.svc"
	InClusterName         = "in-cluster"
	ClusterManagerAccount = "argocd-manager" // the service account that adding a cluster makes there
	AdminAccount          = "admin"
	TokenIssuer           = "argocd"
	SessionCookie         = "argocd.token"
	SignOnCookie          = "argocd.oauthstate" // while somebody is away to sign in
	RefreshCookie         = "towline.refresh"   // what keeps a session of a login provider going, sealed
	DexPath               = "/api/dex"
	DexClient             = "argo-cd"
	DexCLIClient          = "argo-cd-cli"
	DefaultDexServer      = "argocd-dex-server:5556"
	SourceOverrideFile    = ".argocd-source.yaml"
	SourceOverridePrefix  = ".argocd-source-" // <application>.yaml
	SourceOverrideSuffix  = ".yaml"
	SkipFileRenderingMark = "+argocd:skip-file-rendering"
	PartOfLabelValue      = "argocd"
	ManagedByValue        = "argocd.argoproj.io"
	DefaultInstanceLabel  = "app.kubernetes.io/instance"
)

// Field managers: one for what is applied to target clusters, one for status and operation of our own kinds.
const (
	FieldManagerApply  = "argocd-controller"
	FieldManagerStatus = "argocd-application-controller"
	FieldManagerAction = "argocd-server"                    // what a person did with an object by an action
	FieldManagerSets   = "argocd-applicationset-controller" // ApplicationSets and the Applications that they make

	// Managers whose fields are moved to ours, because they applied the same manifests before.
	FieldManagerKubectlClientSide = "kubectl-client-side-apply"
	FieldManagerBeforeFirstApply  = "before-first-apply"
)

// Annotations on Applications, which say what to do.
const (
	AnnotationRefresh               = "argocd.argoproj.io/refresh" // also on cluster secrets, as a time
	AnnotationRefreshTimestamp      = "argocd.argoproj.io/refresh-timestamp"
	AnnotationHydrate               = "argocd.argoproj.io/hydrate"
	AnnotationHydrateTimestamp      = "argocd.argoproj.io/hydrate-timestamp"
	AnnotationManifestGeneratePaths = "argocd.argoproj.io/manifest-generate-paths"
	AnnotationSkipReconcile         = "argocd.argoproj.io/skip-reconcile" // also on cluster secrets
	AnnotationCSAMigrationManager   = "argocd.argoproj.io/client-side-apply-migration-manager"
	AnnotationDeletionApproved      = "argocd.argoproj.io/deletion-approved"
	AnnotationManagedByURL          = "argocd.argoproj.io/managed-by-url"
	AnnotationApplicationSetRefresh = "argocd.argoproj.io/application-set-refresh" // on ApplicationSets
	AnnotationNoticePrefix          = "notice.argocd.argoproj.io/"
	AnnotationPrefDefaultView       = "pref.argocd.argoproj.io/default-view"
	AnnotationPrefDefaultPodSort    = "pref.argocd.argoproj.io/default-pod-sort"
	AnnotationNotifySubscribePrefix = "notifications.argoproj.io/subscribe." // <trigger>.<service>
	AnnotationNotifySubscribeYAML   = "notifications.argoproj.io/subscribe_yaml"
	AnnotationNotifyRecipients      = "recipients.argocd-notifications.argoproj.io" // also <trigger>.<this>; of the old days
	AnnotationNotified              = "notified.notifications.argoproj.io"
	AnnotationLinkPrefix            = "link.argocd.argoproj.io/" // also on resources
	AnnotationManagedBy             = "managed-by"               // on secrets, with ManagedByValue
	AnnotationCompareOptions        = "argocd.argoproj.io/compare-options"
	AnnotationLastAppliedByKubectl  = "kubectl.kubernetes.io/last-applied-configuration"
	AnnotationKubectlRestartedAt    = "kubectl.kubernetes.io/restartedAt"
)

// Annotations on resources.
const (
	AnnotationSyncWave              = "argocd.argoproj.io/sync-wave"
	AnnotationHook                  = "argocd.argoproj.io/hook"
	AnnotationHookDeletePolicy      = "argocd.argoproj.io/hook-delete-policy"
	AnnotationSyncOptions           = "argocd.argoproj.io/sync-options"
	AnnotationTrackingID            = "argocd.argoproj.io/tracking-id"
	AnnotationInstallationID        = "argocd.argoproj.io/installation-id"
	AnnotationIgnoreHealthCheck     = "argocd.argoproj.io/ignore-healthcheck"
	AnnotationIgnoreRestartPolicy   = "argocd.argoproj.io/ignore-restart-policy"
	AnnotationIgnoreResourceUpdates = "argocd.argoproj.io/ignore-resource-updates"
	AnnotationIgnoreDefaultLinks    = "argocd.argoproj.io/ignore-default-links"

	AnnotationHelmHook             = "helm.sh/hook"
	AnnotationHelmHookWeight       = "helm.sh/hook-weight"
	AnnotationHelmHookDeletePolicy = "helm.sh/hook-delete-policy"
	AnnotationHelmResourcePolicy   = "helm.sh/resource-policy"
	HelmResourcePolicyKeep         = "keep"
)

// Annotations of our own.
const (
	AnnotationRun            = "towline.io/run"             // on hook objects: which run of a sync made them
	AnnotationHoldUntil      = "towline.io/hold-until"      // on Applications: nothing is synced by itself before then
	AnnotationHoldReason     = "towline.io/hold-reason"     // on Applications: why
	AnnotationRejected       = "towline.io/rejected"        // on Applications: the revision that a rollback left
	AnnotationDrift          = "towline.io/drift"           // on Events: the fields that drifted, as JSON
	AnnotationSuccessor      = "towline.io/successor"       // on Applications: the one that takes over what this one deployed
	AnnotationNotifying      = "towline.io/notifying"       // on Applications: the messages that are on their way, as JSON
	AnnotationGenerated      = "towline.io/generated"       // on ApplicationSets: what was generated last, and from which commits
	AnnotationUnreadable     = "towline.io/unreadable"      // in memory only: the parts of an object that do not fit its type, as JSON
	AnnotationReplicasBefore = "towline.io/replicas-before" // on workloads: how many were wanted before a takeover or its end

	AnnotationPrefix = "towline.io/"
)

// InitiatorRollout is who asks for the syncs of a rolling ApplicationSet.
const InitiatorRollout = "applicationset-controller"

// Variables of the environment.
const (
	EnvSyncWaveDelay = "ARGOCD_SYNC_WAVE_DELAY" // seconds between waves

	EnvLoginMaxFailures   = "ARGOCD_SESSION_FAILURE_MAX_FAIL_COUNT"
	EnvLoginFailureWindow = "ARGOCD_SESSION_FAILURE_WINDOW_SECONDS"
	EnvLoginMaxCacheSize  = "ARGOCD_SESSION_MAX_CACHE_SIZE"

	EnvDexServer          = "ARGOCD_SERVER_DEX_SERVER"
	EnvDexServerPlainText = "ARGOCD_SERVER_DEX_SERVER_PLAINTEXT"
	EnvDexServerStrictTLS = "ARGOCD_SERVER_DEX_SERVER_STRICT_TLS"
)

// Compare options, in AnnotationCompareOptions.
const (
	CompareOptionServerSideDiff         = "ServerSideDiff"
	CompareOptionIncludeMutationWebhook = "IncludeMutationWebhook"
	CompareOptionIgnoreExtraneous       = "IgnoreExtraneous"
)

// Labels.
const (
	LabelSecretType        = "argocd.argoproj.io/secret-type"
	LabelAutoClusterInfo   = "argocd.argoproj.io/auto-label-cluster-info"
	LabelKubernetesVersion = "argocd.argoproj.io/kubernetes-version"
	LabelPartOf            = "app.kubernetes.io/part-of"
)

// Values of LabelSecretType.
const (
	SecretTypeCluster         = "cluster"
	SecretTypeRepository      = "repository"
	SecretTypeRepoCreds       = "repo-creds"
	SecretTypeRepositoryWrite = "repository-write"
	SecretTypeRepoWriteCreds  = "repo-write-creds"
	SecretTypeSCMCreds        = "scm-creds"
)

// Finalizers. The plain resources finalizer means the foreground one.
const (
	FinalizerResources           = "resources-finalizer.argocd.argoproj.io"
	FinalizerResourcesForeground = "resources-finalizer.argocd.argoproj.io/foreground"
	FinalizerResourcesBackground = "resources-finalizer.argocd.argoproj.io/background"
	FinalizerPreDelete           = "pre-delete-finalizer.argocd.argoproj.io"
	FinalizerPreDeleteCleanup    = "pre-delete-finalizer.argocd.argoproj.io/cleanup"
	FinalizerPostDelete          = "post-delete-finalizer.argocd.argoproj.io"
	FinalizerPostDeleteCleanup   = "post-delete-finalizer.argocd.argoproj.io/cleanup"
	FinalizerHook                = "argocd.argoproj.io/hook-finalizer" // on hook objects
)

// Ways of marking which Application an object belongs to, in KeyResourceTrackingMethod.
const (
	TrackingMethodAnnotation         = "annotation"
	TrackingMethodAnnotationAndLabel = "annotation+label"
	TrackingMethodLabel              = "label"
)

// Sync options, written as Name=value in a sync policy or in AnnotationSyncOptions.
const (
	SyncOptionValidate                    = "Validate"
	SyncOptionCreateNamespace             = "CreateNamespace"
	SyncOptionPruneLast                   = "PruneLast"
	SyncOptionPrunePropagationPolicy      = "PrunePropagationPolicy"
	SyncOptionPrune                       = "Prune"
	SyncOptionDelete                      = "Delete"
	SyncOptionReplace                     = "Replace"
	SyncOptionForce                       = "Force"
	SyncOptionServerSideApply             = "ServerSideApply"
	SyncOptionClientSideApplyMigration    = "ClientSideApplyMigration"
	SyncOptionApplyOutOfSyncOnly          = "ApplyOutOfSyncOnly"
	SyncOptionSkipDryRunOnMissingResource = "SkipDryRunOnMissingResource"
	SyncOptionRespectIgnoreDifferences    = "RespectIgnoreDifferences"
	SyncOptionFailOnSharedResource        = "FailOnSharedResource"

	SyncOptionValueTrue       = "true"
	SyncOptionValueFalse      = "false"
	SyncOptionValueConfirm    = "confirm" // of Prune and Delete
	SyncOptionValueForeground = "foreground"
	SyncOptionValueBackground = "background"
	SyncOptionValueOrphan     = "orphan"
)

// Config maps of an installation.
const (
	ConfigMapSettings      = "argocd-cm"
	ConfigMapRBAC          = "argocd-rbac-cm"
	ConfigMapCmdParams     = "argocd-cmd-params-cm"
	ConfigMapSSHKnownHosts = "argocd-ssh-known-hosts-cm"
	ConfigMapTLSCerts      = "argocd-tls-certs-cm"
	ConfigMapGPGKeys       = "argocd-gpg-keys-cm"
	ConfigMapNotifications = "argocd-notifications-cm"
	ConfigMapShards        = "argocd-app-controller-shard-cm"
)

// Secrets of an installation.
const (
	SecretSettings      = "argocd-secret"
	SecretInitialAdmin  = "argocd-initial-admin-secret"
	SecretRedis         = "argocd-redis"
	SecretServerTLS     = "argocd-server-tls"
	SecretNotifications = "argocd-notifications-secret"
	SecretSessions      = "towline-sessions" // ours: who signed out, and who failed to sign in

	KeyInitialAdminPassword = "password"        // in SecretInitialAdmin
	KeyRedisAuth            = "auth"            // in SecretRedis
	KeySSHKnownHosts        = "ssh_known_hosts" // in ConfigMapSSHKnownHosts
)

// Reasons of the Kubernetes events that are written.
const (
	EventReasonStatusRefreshed    = "StatusRefreshed"
	EventReasonResourceCreated    = "ResourceCreated"
	EventReasonResourceUpdated    = "ResourceUpdated"
	EventReasonResourceDeleted    = "ResourceDeleted"
	EventReasonResourceActionRan  = "ResourceActionRan"
	EventReasonOperationStarted   = "OperationStarted"
	EventReasonOperationCompleted = "OperationCompleted"

	// Two of our own: somebody changed the cluster and it was set right, and a deletion that waits.
	EventReasonDrifted   = "Drifted"
	EventReasonPruneHeld = "PruneHeld"
	// What events about messages that were not sent begin with.
	EventNotification = "NotificationError"
)

// Keys of argocd-cm that are ours.
const (
	KeyProfile     = "towline.profile"
	KeyPruneSettle = "towline.prune.settle" // how old a sync must be before a deletion that looks like a mistake
	ProfileArgoCD  = "argocd"
	ProfileTowline = "towline"
)

// Keys of argocd-cm: tracking, comparison, reconciliation.
const (
	KeyResourceTrackingMethod       = "application.resourceTrackingMethod"
	KeyInstanceLabelKey             = "application.instanceLabelKey"
	KeyInstallationID               = "installationID"
	KeyTimeoutReconciliation        = "timeout.reconciliation"
	KeyTimeoutReconciliationJitter  = "timeout.reconciliation.jitter"
	KeyTimeoutHardReconciliation    = "timeout.hard.reconciliation"
	KeyServerSideDiff               = "resource.server-side-diff" // seen in users' repositories; asks for what we always do
	KeyCompareOptions               = "resource.compareoptions"
	KeyResourceExclusions           = "resource.exclusions"
	KeyResourceInclusions           = "resource.inclusions"
	KeyRespectRBAC                  = "resource.respectRBAC"
	KeyIgnoreResourceUpdatesEnabled = "resource.ignoreResourceUpdatesEnabled"
	KeySensitiveMaskAnnotations     = "resource.sensitive.mask.annotations"
	KeyCustomLabels                 = "resource.customLabels"
	KeyIncludeEventLabelKeys        = "resource.includeEventLabelKeys"
	KeyExcludeEventLabelKeys        = "resource.excludeEventLabelKeys"
	KeyAllowedNodeLabels            = "application.allowedNodeLabels"
	KeyInClusterEnabled             = "cluster.inClusterEnabled"
	KeyGlobalProjects               = "globalProjects"
	KeyImpersonationEnabled         = "application.sync.impersonation.enabled"
	KeyImpersonationEnforced        = "application.sync.impersonation.enforced"
	KeyRequireOverrideForRevision   = "application.sync.requireOverridePrivilegeForRevisionSync"
)

// Keys of argocd-cm: customizations, the prefixes being followed by <group>_<Kind>, <Kind> or all.
const (
	KeyCustomizations                      = "resource.customizations" // the old map, and the only place for wildcards
	KeyCustomizationsHealthPrefix          = "resource.customizations.health."
	KeyCustomizationsIgnoreDiffPrefix      = "resource.customizations.ignoreDifferences."
	KeyCustomizationsIgnoreUpdatesPrefix   = "resource.customizations.ignoreResourceUpdates."
	KeyCustomizationsActionsPrefix         = "resource.customizations.actions."
	KeyCustomizationsKnownTypeFieldsPrefix = "resource.customizations.knownTypeFields."
	KeyCustomizationsUseOpenLibsPrefix     = "resource.customizations.useOpenLibs."
	CustomizationsAll                      = "all"
)

// Keys of argocd-cm: rendering.
const (
	KeyKustomizeEnable             = "kustomize.enable"
	KeyKustomizeBuildOptions       = "kustomize.buildOptions"
	KeyKustomizeBuildOptionsPrefix = "kustomize.buildOptions."
	KeyKustomizePathPrefix         = "kustomize.path."
	KeyKustomizeVersionPrefix      = "kustomize.version."
	KeyHelmEnable                  = "helm.enable"
	KeyHelmValuesFileSchemes       = "helm.valuesFileSchemes"
	KeyJsonnetEnable               = "jsonnet.enable"
	KeyCommitAuthorName            = "commit.author.name"
	KeyCommitAuthorEmail           = "commit.author.email"
	KeyHydratorCommitMessage       = "sourceHydrator.commitMessageTemplate"
	KeyHydratorReadmeMessage       = "sourceHydrator.readmeMessageTemplate"
)

// Keys of argocd-cm: people and their login.
const (
	KeyURL                       = "url"
	KeyAdditionalURLs            = "additionalUrls"
	KeyAdminEnabled              = "admin.enabled"
	KeyAccountsPrefix            = "accounts." // also in argocd-secret
	KeyAnonymousEnabled          = "users.anonymous.enabled"
	KeySessionDuration           = "users.session.duration"
	KeyPasswordPattern           = "passwordPattern"
	KeyOIDCConfig                = "oidc.config"
	KeyOIDCInsecureSkipVerify    = "oidc.tls.insecure.skip.verify"
	KeyDexConfig                 = "dex.config"
	KeyDexStorage                = "dex.storage"
	KeyDexConnectorID            = "dex.auth.connectorId"
	KeyDisableFineGrainedInherit = "server.rbac.disableApplicationFineGrainedRBACInheritance"
	KeyRBACRollbackEnforce       = "server.rbac.rollback.enforce.enable"
)

// Keys of argocd-cm: the server and the UI.
const (
	KeyStatusBadgeEnabled     = "statusbadge.enabled"
	KeyStatusBadgeURL         = "statusbadge.url"
	KeyExecEnabled            = "exec.enabled"
	KeyExecShells             = "exec.shells"
	KeyMaxPodLogsToRender     = "server.maxPodLogsToRender"
	KeyProjectLinks           = "project.links"
	KeyApplicationLinks       = "application.links"
	KeyResourceLinks          = "resource.links"
	KeyExtensionConfig        = "extension.config"
	KeyWebhookMaxPayloadMB    = "webhook.maxPayloadSizeMB"
	KeyWebhookJitter          = "webhook.refresh.jitter"
	KeyWebhookJitterThreshold = "webhook.refresh.jitter.threshold"
	KeyUICSSURL               = "ui.cssurl"
	KeyUIBannerContent        = "ui.bannercontent"
	KeyUIBannerURL            = "ui.bannerurl"
	KeyUIBannerPermanent      = "ui.bannerpermanent"
	KeyUIBannerPosition       = "ui.bannerposition"
	KeyUILoginButtonText      = "ui.loginButtonText"
	KeyUIViewResourcesOff     = "ui.view.resources.disabled"
	KeyHelpChatURL            = "help.chatUrl"
	KeyHelpChatText           = "help.chatText"
	KeyHelpDownloadPrefix     = "help.download." // <os>-<architecture>
	KeyGATrackingID           = "ga.trackingid"
	KeyGAAnonymizeUsers       = "ga.anonymizeusers"
)

// Keys of argocd-secret; those of an account come after KeyAccountsPrefix and its name.
const (
	KeyAdminPassword          = "admin.password"
	KeyAdminPasswordMtime     = "admin.passwordMtime"
	KeyAdminTokens            = "admin.tokens"
	KeyAccountPasswordSuffix  = ".password"
	KeyAccountMtimeSuffix     = ".passwordMtime"
	KeyAccountTokensSuffix    = ".tokens"
	KeyAccountEnabledSuffix   = ".enabled"
	KeyServerSecretKey        = "server.secretkey"
	KeyWebhookGitHub          = "webhook.github.secret"
	KeyWebhookGitLab          = "webhook.gitlab.secret"
	KeyWebhookBitbucketServer = "webhook.bitbucketserver.secret"
	KeyWebhookBitbucketUUID   = "webhook.bitbucket.uuid"
	KeyWebhookGogs            = "webhook.gogs.secret"
	KeyWebhookHarbor          = "webhook.harbor.secret"
	KeyWebhookAzureUsername   = "webhook.azuredevops.username"
	KeyWebhookAzurePassword   = "webhook.azuredevops.password"
)

// Keys of argocd-rbac-cm.
const (
	KeyPolicyCSV       = "policy.csv"
	KeyPolicyPrefix    = "policy." // <name>.csv
	KeyPolicySuffix    = ".csv"
	KeyPolicyDefault   = "policy.default"
	KeyPolicyScopes    = "scopes"
	KeyPolicyMatchMode = "policy.matchMode"
)

// Keys of argocd-cmd-params-cm that change what users see. Those of addresses and logging of Argo CD's own parts have no
// meaning here.
const (
	KeyParamApplicationNamespaces     = "application.namespaces"
	KeyParamServerSideDiff            = "controller.diff.server.side"
	KeyParamJQTimeout                 = "controller.ignore.normalizer.jq.timeout"
	KeyParamJQTimeoutDocumented       = "ignore.normalizer.jq.timeout" // what Argo CD's documentation calls it
	KeyParamRepoErrorGrace            = "controller.repo.error.grace.period.seconds"
	KeyParamResourceHealthPersist     = "controller.resource.health.persist"
	KeyParamSelfHealTimeout           = "controller.self.heal.timeout.seconds"
	KeyParamSelfHealBackoffTimeout    = "controller.self.heal.backoff.timeout.seconds"
	KeyParamSelfHealBackoffFactor     = "controller.self.heal.backoff.factor"
	KeyParamSelfHealBackoffCap        = "controller.self.heal.backoff.cap.seconds"
	KeyParamSyncTimeout               = "controller.sync.timeout.seconds"
	KeyParamSyncWaveDelay             = "controller.sync.wave.delay.seconds"
	KeyParamStatusProcessors          = "controller.status.processors"
	KeyParamOperationProcessors       = "controller.operation.processors"
	KeyParamKubectlParallelism        = "controller.kubectl.parallelism.limit"
	KeyParamShardingAlgorithm         = "controller.sharding.algorithm"
	KeyParamMetricsLabels             = "controller.metrics.application.labels"
	KeyParamMetricsConditions         = "controller.metrics.application.conditions"
	KeyParamMetricsSetLabels          = "applicationsetcontroller.metrics.applicationset.labels"
	KeyParamOTLPAddress               = "otlp.address"
	KeyParamOTLPInsecure              = "otlp.insecure"
	KeyParamOTLPHeaders               = "otlp.headers"
	KeyParamOTLPAttributes            = "otlp.attrs"
	KeyParamLogFormat                 = "controller.log.format"
	KeyParamLogLevel                  = "controller.log.level"
	KeyParamServerLogFormat           = "server.log.format"
	KeyParamServerLogLevel            = "server.log.level"
	KeyParamSyncReplaceAllowed        = "server.sync.replace.allowed"
	KeyParamServerInsecure            = "server.insecure"
	KeyParamServerBaseHref            = "server.basehref"
	KeyParamServerRootPath            = "server.rootpath"
	KeyParamServerDisableAuth         = "server.disable.auth"
	KeyParamServerEnableGzip          = "server.enable.gzip"
	KeyParamServerXFrameOptions       = "server.x.frame.options"
	KeyParamServerContentTypes        = "server.api.content.types"
	KeyParamDexServer                 = "server.dex.server"
	KeyParamDexServerPlainText        = "server.dex.server.plaintext"
	KeyParamDexServerStrictTLS        = "server.dex.server.strict.tls"
	KeyParamRenderParallelism         = "reposerver.parallelism.limit"
	KeyParamGitRequestTimeout         = "reposerver.git.request.timeout"
	KeyParamGitSubmodule              = "reposerver.enable.git.submodule"
	KeyParamMaxManifestSize           = "reposerver.max.combined.directory.manifests.size"
	KeyParamAppSetPolicy              = "applicationsetcontroller.policy"
	KeyParamAppSetPolicyOverride      = "applicationsetcontroller.enable.policy.override"
	KeyParamAppSetNamespaces          = "applicationsetcontroller.namespaces"
	KeyParamAppSetProgressiveSyncs    = "applicationsetcontroller.enable.progressive.syncs"
	KeyParamAppSetRequeueAfter        = "applicationsetcontroller.requeue.after"
	KeyParamAppSetNewGitFileGlobbing  = "applicationsetcontroller.enable.new.git.file.globbing"
	KeyParamAppSetAllowedSCMProviders = "applicationsetcontroller.allowed.scm.providers"
	KeyParamAppSetEnableSCMProviders  = "applicationsetcontroller.enable.scm.providers"
	KeyParamAppSetTokenRefStrict      = "applicationsetcontroller.enable.tokenref.strict.mode"
	KeyParamAppSetRootCAPath          = "applicationsetcontroller.scm.root.ca.path"
	KeyParamAppSetDryRun              = "applicationsetcontroller.dryrun"
	KeyParamAppSetKeptAnnotations     = "applicationsetcontroller.global.preserved.annotations"
	KeyParamAppSetKeptLabels          = "applicationsetcontroller.global.preserved.labels"
	KeyParamAppSetMaxResources        = "applicationsetcontroller.status.max.resources.count"
	KeyParamAppSetConcurrency         = "applicationsetcontroller.concurrent.reconciliations.max"
	KeyParamAppSetPrefix              = "applicationsetcontroller."
	KeyParamHydratorEnabled           = "hydrator.enabled"
	KeyParamNotifySelfService         = "notificationscontroller.selfservice.enabled"
)

// Keys of argocd-notifications-cm.
const (
	KeyNotifyServicePrefix         = "service."  // <type>[.<name>]
	KeyNotifyTemplatePrefix        = "template." // <name>
	KeyNotifyTriggerPrefix         = "trigger."  // <name>
	KeyNotifySubscriptions         = "subscriptions"
	KeyNotifyContext               = "context"
	KeyNotifyDefaultTriggers       = "defaultTriggers"
	KeyNotifyDefaultTriggersPrefix = "defaultTriggers." // <service>
)

// Keys of cluster secrets.
const (
	KeyClusterName             = "name"
	KeyClusterServer           = "server"
	KeyClusterConfig           = "config"
	KeyClusterNamespaces       = "namespaces"
	KeyClusterClusterResources = "clusterResources"
	KeyClusterShard            = "shard"
	KeyClusterProject          = "project"
)

// Keys of repository and credentials secrets, and the types of repositories.
const (
	KeyRepoURL                        = "url" // a prefix in credentials secrets; the longest match decides
	KeyRepoType                       = "type"
	KeyRepoName                       = "name"
	KeyRepoProject                    = "project"
	KeyRepoUsername                   = "username"
	KeyRepoPassword                   = "password"
	KeyRepoBearerToken                = "bearerToken"
	KeyRepoSSHPrivateKey              = "sshPrivateKey"
	KeyRepoTLSClientCertData          = "tlsClientCertData"
	KeyRepoTLSClientCertKey           = "tlsClientCertKey"
	KeyRepoInsecure                   = "insecure"
	KeyRepoInsecureIgnoreHostKey      = "insecureIgnoreHostKey"
	KeyRepoEnableLFS                  = "enableLfs"
	KeyRepoEnableOCI                  = "enableOCI"
	KeyRepoInsecureOCIForceHTTP       = "insecureOCIForceHttp"
	KeyRepoForceHTTPBasicAuth         = "forceHttpBasicAuth"
	KeyRepoProxy                      = "proxy"
	KeyRepoNoProxy                    = "noProxy"
	KeyRepoDepth                      = "depth"
	KeyRepoGitHubAppID                = "githubAppID"
	KeyRepoGitHubAppInstallationID    = "githubAppInstallationID"
	KeyRepoGitHubAppPrivateKey        = "githubAppPrivateKey"
	KeyRepoGitHubAppEnterpriseBaseURL = "githubAppEnterpriseBaseUrl"
	KeyRepoGCPServiceAccountKey       = "gcpServiceAccountKey"
	KeyRepoAzureWorkloadIdentity      = "useAzureWorkloadIdentity"
	KeyRepoAzureClientID              = "azureServicePrincipalClientId"
	KeyRepoAzureClientSecret          = "azureServicePrincipalClientSecret"
	KeyRepoAzureTenantID              = "azureServicePrincipalTenantId"
	KeyRepoAzureADEndpoint            = "azureActiveDirectoryEndpoint"
	KeyRepoWebhookCacheWarmDisabled   = "webhookManifestCacheWarmDisabled"

	RepoTypeGit  = "git"
	RepoTypeHelm = "helm"
	RepoTypeOCI  = "oci"
)

// What replicas know each other by: the lease that the acting one holds, with the address where it answers the others,
// the secret that their certificates come from, and the header in which they pass on who asks.
const (
	LeaseController   = "towline-controller"
	AnnotationAddress = "towline.io/address"
	SecretPeers       = "towline-peers"
	KeyPeersCACert    = "ca.crt"
	KeyPeersCAKey     = "ca.key"
	HeaderSubject     = "Towline-Subject"
)
