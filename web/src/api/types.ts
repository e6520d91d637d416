// What the server says, as far as the pages look at it. Times are RFC 3339 texts.

export type Health = "Healthy" | "Progressing" | "Degraded" | "Suspended" | "Missing" | "Unknown";
export type Sync = "Synced" | "OutOfSync" | "Unknown";
export type Phase = "Running" | "Terminating" | "Failed" | "Error" | "Succeeded";

export interface Meta {
  name: string;
  namespace: string;
  uid?: string;
  resourceVersion?: string;
  finalizers?: string[];
  ownerReferences?: { kind: string; name: string }[];
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

export interface Source {
  repoURL: string;
  path?: string;
  chart?: string;
  targetRevision?: string;
  ref?: string;
}

export interface Destination {
  server?: string;
  name?: string;
  namespace?: string;
}

export interface Automated {
  prune?: boolean;
  selfHeal?: boolean;
  enabled?: boolean;
}

export interface SyncPolicy {
  automated?: Automated;
  syncOptions?: string[];
}

export interface Spec {
  project: string;
  destination: Destination;
  source?: Source;
  sources?: Source[];
  syncPolicy?: SyncPolicy;
}

export interface HealthStatus {
  status?: Health;
  message?: string;
  lastTransitionTime?: string;
}

/** Row is an application as lists and streams have it: little of everything. */
export interface Row {
  metadata: Meta;
  spec: Spec;
  status: {
    sync: { status?: Sync; revision?: string; revisions?: string[] };
    health: HealthStatus;
    operationState?: { phase: Phase; startedAt?: string; finishedAt?: string };
    conditions?: { type: string }[];
    summary?: { isAppOfApps?: boolean; resources?: number };
  };
}

export interface ResourceStatus {
  group?: string;
  version?: string;
  kind: string;
  namespace?: string;
  name: string;
  status?: Sync;
  health?: HealthStatus;
  hook?: boolean;
  requiresPruning?: boolean;
  syncWave?: number;
}

export interface Condition {
  type: string;
  message: string;
  lastTransitionTime?: string;
}

export interface HistoryEntry {
  id: number;
  revision?: string;
  revisions?: string[];
  deployedAt: string;
  deployStartedAt?: string;
  initiatedBy?: { username?: string; automated?: boolean };
  source?: Source;
  sources?: Source[];
}

export interface OperationState {
  phase: Phase;
  message?: string;
  startedAt: string;
  finishedAt?: string;
  retryCount?: number;
  syncResult?: { revision?: string; revisions?: string[] };
  operation?: { initiatedBy?: { username?: string; automated?: boolean }; sync?: { dryRun?: boolean } };
}

export interface Application {
  metadata: Meta;
  spec: Spec;
  status: {
    resources?: ResourceStatus[];
    sync: { status?: Sync; revision?: string; revisions?: string[] };
    health: HealthStatus;
    history?: HistoryEntry[];
    conditions?: Condition[];
    reconciledAt?: string;
    operationState?: OperationState;
    sourceType?: string;
    summary?: { images?: string[]; externalURLs?: string[] };
  };
  operation?: unknown;
}

export interface Facet {
  name: string;
  values: { value: string; count: number }[];
  more: number;
}

export interface Page {
  metadata: { continue?: string };
  items: Row[];
  total: number;
  cursor?: string;
  facets?: Facet[];
}

export interface Key {
  group?: string;
  kind: string;
  namespace?: string;
  name: string;
}

export interface Node extends Key {
  version?: string;
  uid?: string;
  parentRefs?: { group?: string; kind?: string; namespace?: string; name?: string; uid?: string }[];
  info?: { name: string; value: string }[];
  images?: string[];
  health?: HealthStatus;
  createdAt?: string;
  networkingInfo?: { targetLabels?: Record<string, string>; targetRefs?: Key[]; labels?: Record<string, string> };
}

export interface Tree {
  nodes: Node[];
  orphanedNodes?: Node[];
  hosts?: { name: string }[];
}

/** Link is one of the installation's own. */
export interface Link {
  title: string;
  url: string;
  description?: string;
}

export interface AppWindows {
  canSync: boolean;
  reason?: string;
  activeWindows: { kind: string; schedule: string; duration: string; description?: string; turns?: string }[] | null;
}

/** ObjectAction is something that can be done with an object, such as a restart. */
export interface ObjectAction {
  name: string;
  disabled?: boolean;
  displayName?: string;
  params?: { name: string; type?: string; default?: string }[] | null;
}

export interface Holder {
  manager: string;
  operation: string;
  subresource?: string;
  wroteLast?: string;
}

export interface FieldChange {
  path: string;
  live?: unknown;
  desired?: unknown;
  heldBy?: Holder[];
}

export type Action = "create" | "update" | "unchanged" | "prune" | "skip" | "deny" | "run";

export interface PlanObject extends Key {
  version?: string;
  action: Action;
  sync?: Sync;
  reason?: string;
  hook?: boolean;
  aside?: boolean;
  extra?: boolean;
  changes?: FieldChange[];
  /** rule would leave the fields to whoever wrote them; explain has it. */
  rule?: string;
}

export interface Finding {
  reason: string;
  severity: string;
  message: string;
  object?: Key;
}

export interface Plan {
  application: string;
  revision: string;
  status: string;
  summary: Partial<Record<Action, number>>;
  waves: { phase: string; wave: number; objects: PlanObject[] }[];
  findings: Finding[];
}

export interface Explanation {
  revision: string;
  status: string;
  objects: PlanObject[];
  findings: Finding[];
}

export interface Episode extends Key {
  field?: string;
  manager?: string;
  revision?: string;
  seen: string;
  healed?: string;
}

export interface TimelineResult extends Key {
  status?: string;
  message?: string;
  hook?: string;
  hookPhase?: string;
  /** beganAt and endedAt are there if the server saw the sync run. */
  beganAt?: string;
  endedAt?: string;
}

export interface Timeline {
  phase?: Phase;
  message?: string;
  startedAt?: string;
  finishedAt?: string;
  seconds: number;
  revision?: string;
  initiatedBy?: string;
  automated?: boolean;
  retries?: number;
  phases: { phase: string; results: TimelineResult[] }[];
  waiting?: Key[];
  history: { id: number; revision?: string; revisions?: string[]; deployedAt: string; seconds?: number; initiatedBy?: string; automated?: boolean }[];
}

export interface Why {
  action: string;
  allowed: boolean;
  checks: { name: string; passed: boolean; why: string; line?: string }[];
}

export interface Commit {
  author?: string;
  date?: string;
  tags?: string[];
  message?: string;
}

export interface Managed extends Key {
  targetState?: string;
  liveState?: string;
  predictedLiveState?: string;
  modified?: boolean;
}

export interface ClusterEvent {
  metadata: { name: string };
  involvedObject: { kind?: string; namespace?: string; name?: string };
  reason?: string;
  message?: string;
  type?: string;
  count?: number;
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  eventTime?: string | null;
}

export interface LogLine {
  content: string;
  timeStampStr?: string;
  podName?: string;
  last?: boolean;
}

export interface SyncWish {
  revision?: string;
  prune?: boolean;
  dryRun?: boolean;
  strategy?: { apply?: { force?: boolean }; hook?: { force?: boolean } };
  resources?: Key[];
  syncOptions?: { items: string[] };
  retryStrategy?: { limit: number };
}
