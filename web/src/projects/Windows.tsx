import * as api from "../api/projects";
import type { Project, Window } from "../api/projects";
import { Grid } from "../parts/Grid";
import { Notice } from "../parts/States";
import { Badge } from "../parts/Status";
import { useTopic } from "../state/topic";

const same = (a: Window, b: Window) => a.kind === b.kind && a.schedule === b.schedule && a.duration === b.duration && String(a.applications) === String(b.applications);

/** Windows are the times at which a project lets syncs happen, or does not. */
export function Windows({ project }: { project: Project }) {
  const windows = project.spec.syncWindows ?? [];
  const open = useTopic("projects", `windows:${project.metadata.name}`, () => api.openWindows(project.metadata.name)).data ?? [];
  if (windows.length === 0) {
    return (
      <Notice icon="wait" title="Syncs may happen at any time">
        A window lets them happen, or holds them back, at times that a schedule names.
      </Notice>
    );
  }
  const about = (w: Window) =>
    [
      w.applications && `applications ${w.applications.join(", ")}`,
      w.namespaces && `namespaces ${w.namespaces.join(", ")}`,
      w.clusters && `clusters ${w.clusters.join(", ")}`,
    ]
      .filter(Boolean)
      .join("; ");
  return (
    <Grid
      label="Sync windows"
      items={windows}
      keyOf={(w) => JSON.stringify(w)}
      columns={[
        {
          title: "Now",
          cell: (w) =>
            open.some((o) => same(o, w)) ? (
              <Badge tone={w.kind === "deny" ? "bad" : "good"} icon={w.kind === "deny" ? "lock" : "healthy"}>
                {w.kind === "deny" ? "Holds back" : "Lets through"}
              </Badge>
            ) : (
              <Badge tone="none" icon="wait" quiet>
                Closed
              </Badge>
            ),
        },
        { title: "Kind", minor: true, cell: (w) => (w.kind === "deny" ? "holds syncs back" : "lets syncs through") },
        {
          title: "When",
          cell: (w) => (
            <span className="two">
              <span className="mono nobreak">{w.schedule}</span>
              <span className="soft">
                for {w.duration}
                {w.timeZone && `, ${w.timeZone}`}
              </span>
            </span>
          ),
        },
        { title: "For", cell: (w) => about(w) },
        { title: "By hand", minor: true, cell: (w) => (w.manualSync ? "still possible" : "held back too") },
        { title: "Why", minor: true, cell: (w) => w.description ?? "" },
      ]}
    />
  );
}
