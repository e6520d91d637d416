import type { Action, Health, Phase, Sync } from "../api/types";
import { healthTone, syncTone, type Tone } from "../model/status";
import { Icon, type IconName } from "./Icon";

const healthIcon: Record<Health, IconName> = {
  Healthy: "healthy",
  Progressing: "progressing",
  Degraded: "degraded",
  Suspended: "suspended",
  Missing: "missing",
  Unknown: "unknown",
};

const syncIcon: Record<Sync, IconName> = { Synced: "synced", OutOfSync: "drift", Unknown: "unknown" };
export const syncWord: Record<Sync, string> = { Synced: "Synced", OutOfSync: "Out of sync", Unknown: "Unknown" };

const phaseTone: Record<Phase, Tone> = { Running: "busy", Terminating: "busy", Failed: "bad", Error: "bad", Succeeded: "good" };
const phaseIcon: Record<Phase, IconName> = {
  Running: "sync",
  Terminating: "stop",
  Failed: "degraded",
  Error: "degraded",
  Succeeded: "healthy",
};

interface BadgeProps {
  tone: Tone;
  icon: IconName;
  children: string;
  quiet?: boolean;
  spin?: boolean;
  /** cell is the column of a long table whose cell the badge itself is: one element less in each row. */
  cell?: string | undefined;
}

export function Badge({ tone, icon, children, quiet = false, spin = false, cell }: BadgeProps) {
  return (
    <span role={cell && "cell"} className={`badge tone-${tone}${quiet ? " quiet" : ""}${cell ? ` ${cell}` : ""}`}>
      <Icon name={icon} size={14} spin={spin} />
      {children}
    </span>
  );
}

/** HealthBadge is quiet where all is well: what needs somebody stands out. full says of what it is unknown, outside of columns. */
export function HealthBadge({ health, quiet, full = false, cell }: { health: Health; quiet?: boolean; full?: boolean; cell?: string }) {
  return (
    <Badge tone={healthTone[health]} icon={healthIcon[health]} quiet={quiet ?? health === "Healthy"} cell={cell}>
      {full && health === "Unknown" ? "Health unknown" : health}
    </Badge>
  );
}

export function SyncBadge({ sync, quiet, full = false, cell }: { sync: Sync; quiet?: boolean; full?: boolean; cell?: string }) {
  return (
    <Badge tone={syncTone[sync]} icon={syncIcon[sync]} quiet={quiet ?? sync === "Synced"} cell={cell}>
      {full && sync === "Unknown" ? "Sync unknown" : syncWord[sync]}
    </Badge>
  );
}

export function PhaseBadge({ phase }: { phase: Phase }) {
  return (
    <Badge tone={phaseTone[phase]} icon={phaseIcon[phase]} quiet={phase === "Succeeded"} spin={phase === "Running"}>
      {phase === "Running" ? "Syncing" : phase}
    </Badge>
  );
}

/** Mark is a state where there is room for a sign only; its name is read aloud and shown on pointing. */
export function Mark({ health, sync, size = 14 }: { health?: Health | undefined; sync?: Sync | undefined; size?: number }) {
  const [tone, icon, word] = health
    ? [healthTone[health], healthIcon[health], health]
    : sync
      ? [syncTone[sync], syncIcon[sync], syncWord[sync]]
      : (["none", "unknown", "Unknown"] as const);
  return (
    <span className={`mark tone-${tone}`} title={word}>
      <Icon name={icon} size={size} />
      <span className="aside">{word}</span>
    </span>
  );
}

const actionTone: Record<Action, Tone> = { create: "good", update: "warn", unchanged: "none", prune: "bad", skip: "none", deny: "bad", run: "busy" };
const actionIcon: Record<Action, IconName> = {
  create: "plus",
  update: "drift",
  unchanged: "synced",
  prune: "trash",
  skip: "minus",
  deny: "lock",
  run: "hook",
};
export const actionWord: Record<Action, string> = {
  create: "Create",
  update: "Change",
  unchanged: "Leave",
  prune: "Delete",
  skip: "Skip",
  deny: "Refused",
  run: "Run hook",
};

export function ActionBadge({ action, count }: { action: Action; count?: number }) {
  return (
    <Badge tone={actionTone[action]} icon={actionIcon[action]}>
      {count === undefined ? actionWord[action] : `${actionWord[action]} ${count}`}
    </Badge>
  );
}
