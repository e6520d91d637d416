import { useState } from "react";
import * as api from "../api/applications";
import type { Name } from "../api/applications";
import type { Application, Key, Tree } from "../api/types";
import { keyOf } from "../model/graph";
import { Ago } from "../parts/Ago";
import { Answered } from "../parts/Answered";
import { Button } from "../parts/Button";
import { Copy } from "../parts/Copy";
import { Dialog } from "../parts/Dialog";
import { HealthBadge, SyncBadge } from "../parts/Status";
import { tidy, toYAML } from "../model/yaml";
import { part } from "../state/application";
import { useAsk } from "../state/ask";
import { setParams, useRoute } from "../state/route";
import { Changes } from "./Changes";
import { EventsView } from "./EventsView";
import { LiveEditor } from "./LiveEditor";
import { LogsView, writers } from "./LogsView";
import { ObjectActions } from "./ObjectActions";
import { TextDiff } from "./TextDiff";

interface Props {
  app: Application;
  name: Name;
  tree: Tree | undefined;
  about: Key;
  onClose: () => void;
}

/** ResourceDrawer is one object: its state, its difference from Git, its YAML, events and logs. */
export function ResourceDrawer({ app, name, tree, about, onClose }: Props) {
  const { params } = useRoute();
  const node = tree?.nodes.find((n) => keyOf(n) === keyOf(about));
  const resource = app.status.resources?.find((r) => keyOf(r) === keyOf(about));
  const tabs = ["about", ...(resource ? ["diff"] : []), ...(node ? ["yaml", "events"] : []), ...(node && writers.has(about.kind) ? ["logs"] : [])];
  const wanted = params.get("tab") ?? "about";
  const tab = tabs.includes(wanted) ? wanted : "about";
  const health = node?.health ?? resource?.health;
  return (
    <Dialog title={`${about.kind} ${about.name}`} size="side" onClose={onClose}>
      <p className="badges">
        {health?.status && <HealthBadge health={health.status} quiet={false} />}
        {resource?.status && <SyncBadge sync={resource.status} quiet={false} />}
        {about.namespace && <span className="soft">in {about.namespace}</span>}
      </p>
      <ObjectActions name={name} about={about} managed={resource !== undefined} live={node !== undefined} />
      <div className="choice" role="group" aria-label="Part">
        {tabs.map((t) => (
          <button key={t} type="button" aria-pressed={t === tab} onClick={() => setParams({ tab: t }, { replace: true })}>
            {titles[t]}
          </button>
        ))}
      </div>
      {tab === "about" && (
        <dl className="about">
          {health?.message && <Fact title="Cause">{health.message}</Fact>}
          {node?.info?.map((i) => (
            <Fact key={i.name} title={i.name}>
              {i.value}
            </Fact>
          ))}
          {resource?.requiresPruning && <Fact title="Git">no longer has it</Fact>}
          {resource?.syncWave !== undefined && <Fact title="Wave">{resource.syncWave}</Fact>}
          {node?.images?.map((i) => (
            <Fact key={i} title="Image">
              <span className="mono">{i}</span>
            </Fact>
          ))}
          {node?.createdAt && (
            <Fact title="Made">
              <Ago at={node.createdAt} />
            </Fact>
          )}
          <Fact title="Kind">
            {about.group ? `${about.group}/` : ""}
            {about.kind}
          </Fact>
          {!node && <Fact title="Cluster">It is not there.</Fact>}
        </dl>
      )}
      {tab === "diff" && <Difference name={name} about={about} />}
      {tab === "yaml" && <Yaml name={name} about={about} version={node?.version} />}
      {tab === "events" && <EventsView name={name} about={about} uid={node?.uid} />}
      {tab === "logs" && <LogsView name={name} tree={tree} about={about} />}
    </Dialog>
  );
}

const titles: Record<string, string> = { about: "About", diff: "Diff", yaml: "YAML", events: "Events", logs: "Logs" };

function Fact({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Difference({ name, about }: { name: Name; about: Key }) {
  const pair = useAsk(part(name, `managed:${keyOf(about)}`), () => api.managed(name, about));
  const explained = useAsk(part(name, "explain"), () => api.explain(name));
  const changes = explained.data?.objects.find((o) => keyOf(o) === keyOf(about))?.changes;
  return (
    <>
      {changes && changes.length > 0 && <Changes changes={changes} />}
      <Answered answer={pair} what="both sides">
        {(list) => {
          const one = list.find((m) => keyOf(m) === keyOf(about));
          const live = tidy(one?.liveState, true);
          const after = tidy(one?.predictedLiveState && one.liveState ? one.predictedLiveState : one?.targetState, true);
          return <TextDiff before={live ? toYAML(live) : ""} after={after ? toYAML(after) : ""} titles={["In the cluster", "After a sync"]} />;
        }}
      </Answered>
    </>
  );
}

function Yaml({ name, about, version }: { name: Name; about: Key; version: string | undefined }) {
  const answer = useAsk(part(name, `live:${keyOf(about)}`), () => api.live(name, about, version));
  const [editing, setEditing] = useState<Record<string, unknown> | undefined>(undefined);
  if (editing) return <LiveEditor name={name} about={about} object={editing} onClose={() => setEditing(undefined)} />;
  return (
    <Answered answer={answer} what="the object">
      {(text) => {
        const object = tidy(text);
        const yaml = object ? toYAML(object) : "";
        return (
          <>
            {/* What is masked must not be written back. */}
            {object && about.kind !== "Secret" && (
              <div>
                <Button icon="settings" onClick={() => setEditing(object)}>
                  Edit in the cluster …
                </Button>
              </div>
            )}
            <div className="code">
              <pre tabIndex={0} aria-label="YAML">
                {yaml}
              </pre>
              <Copy text={yaml} label="Copy the YAML" />
            </div>
          </>
        );
      }}
    </Answered>
  );
}
