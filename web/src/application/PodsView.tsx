import { useMemo } from "react";
import type { Node, Tree } from "../api/types";
import { keyOf, worstHealth } from "../model/graph";
import { groupings, nodeOf, podGroups, type Grouping, type PodGroup } from "../model/pods";
import { healthTone } from "../model/status";
import { Some } from "../parts/Some";
import { Loading, Notice } from "../parts/States";
import { HealthBadge, Mark } from "../parts/Status";
import { setParams, useRoute } from "../state/route";

const words: Record<Grouping, string> = { parent: "Who made them", top: "What Git has", node: "Node" };

/** PodsView is every pod at once: one glance says which of many is not well. */
export function PodsView({ tree }: { tree: Tree | undefined }) {
  const { params } = useRoute();
  const by = groupings.find((g) => g === params.get("by")) ?? "parent";
  const groups = useMemo(() => podGroups(tree, by), [tree, by]);
  if (!tree) return <Loading what="the pods" />;
  if (groups.length === 0) {
    return (
      <Notice icon="box" title="There are no pods">
        Nothing of this application runs, or nothing of it was made yet.
      </Notice>
    );
  }
  const all = groups.flatMap((g) => g.pods);
  const ill = all.filter((p) => p.health?.status !== undefined && p.health.status !== "Healthy").length;
  return (
    <div className="pods">
      <div className="bar">
        <label className="field-inline">
          Group by{" "}
          <select value={by} onChange={(e) => setParams({ by: e.target.value === "parent" ? undefined : e.target.value }, { replace: true })}>
            {groupings.map((g) => (
              <option key={g} value={g}>
                {words[g]}
              </option>
            ))}
          </select>
        </label>
        <p className="total">
          <strong>{all.length}</strong> {all.length === 1 ? "pod" : "pods"}
          {ill > 0 && `, ${ill} not well`}
        </p>
      </div>
      <Some of={groups} step={60} within="div" className="pod-groups">
        {(g) => <Group key={`${g.kind}/${g.name}`} group={g} by={by} />}
      </Some>
    </div>
  );
}

function Group({ group, by }: { group: PodGroup; by: Grouping }) {
  const health = worstHealth(group.pods.map((p) => p.health?.status));
  return (
    <section className="panel pod-group" aria-label={`${group.kind} ${group.name}`}>
      <h3>
        <span className="soft">{group.kind}</span> {group.name} {health && <HealthBadge health={health} />}
      </h3>
      <Some of={group.pods} within="ul">
        {(p) => (
          <li key={keyOf(p)}>
            <Pod pod={p} by={by} />
          </li>
        )}
      </Some>
    </section>
  );
}

function Pod({ pod, by }: { pod: Node; by: Grouping }) {
  const get = (name: string) => pod.info?.find((i) => i.name === name)?.value;
  const tone = healthTone[pod.health?.status ?? "Unknown"];
  const restarts = get("Restart Count");
  return (
    <button type="button" className={`pod-tile tone-${tone}`} title={pod.health?.message} onClick={() => setParams({ resource: keyOf(pod) })}>
      {pod.health?.status && <Mark health={pod.health.status} />}
      <span className="two">
        <strong>{pod.name}</strong>
        <span>
          {[get("Containers") && `${get("Containers")} ready`, get("Status Reason"), restarts && `${restarts} restarts`, by !== "node" && nodeOf(pod)].filter(Boolean).join(" · ")}
        </span>
      </span>
    </button>
  );
}
