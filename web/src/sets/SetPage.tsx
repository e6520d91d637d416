import { useState } from "react";
import * as api from "../api/sets";
import type { ApplicationSet } from "../api/sets";
import type { Node } from "../api/types";
import { generatorWords } from "../model/sets";
import { toYAML } from "../model/yaml";
import { Ago } from "../parts/Ago";
import { Answered } from "../parts/Answered";
import { Button } from "../parts/Button";
import { Confirm } from "../parts/Confirm";
import { Facts } from "../parts/Facts";
import { Grid } from "../parts/Grid";
import { Icon } from "../parts/Icon";
import { Link } from "../parts/Link";
import { Page, Section } from "../parts/Page";
import { Failure, Loading } from "../parts/States";
import { HealthBadge } from "../parts/Status";
import { appHref, go, href } from "../state/route";
import { topicChanged, useTopic } from "../state/topic";
import { SetEditor } from "./SetEditor";
import { SetState } from "./SetState";

const above = [{ title: "ApplicationSets", to: href("applicationsets") }];

/** SetPage is one ApplicationSet: what it made, what stands in its way, and what a change would make. */
export function SetPage({ namespace, name }: { namespace: string; name: string }) {
  const answer = useTopic("applicationsets", `one:${namespace}/${name}`, () => api.get(namespace, name));
  const made = useTopic("applicationsets", `tree:${namespace}/${name}`, () => api.tree(namespace, name));
  const [editing, setEditing] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const { data: set, error, again } = answer;
  if (!set) return <Page title={name} above={above}>{error ? <Failure error={error} what={`ApplicationSet ${name}`} again={again} /> : <Loading what={name} />}</Page>;
  const keeps = set.spec.syncPolicy?.preserveResourcesOnDeletion;
  return (
    <Page
      title={name}
      above={above}
      badges={<SetState set={set} />}
      actions={
        <>
          <Button icon="plan" onClick={() => setEditing(true)}>
            Change and preview …
          </Button>
          <Button kind="danger" icon="trash" onClick={() => setDeleting(true)}>
            Delete …
          </Button>
        </>
      }
    >
      <Conditions set={set} />
      <div className="columns">
        <Section title="Applications" count={made.data?.length}>
          <Answered answer={made} what="its applications">
            {(nodes) => <Made nodes={nodes} set={set} />}
          </Answered>
        </Section>
        <div className="stack">
          <Section title="About">
            <Facts
              of={[
                ["Generators", generatorWords(set.spec.generators).join(", ") || "none"],
                ["Project", set.spec.template?.spec?.project ?? "default"],
                ["Names", <span className="mono">{set.spec.template?.metadata?.name}</span>],
                ["Templates", set.spec.goTemplate ? "Go's" : "of the older kind"],
                ["Rollout", set.spec.strategy?.rollingSync ? `${set.spec.strategy.rollingSync.steps?.length ?? 0} steps, one after the other` : "all at once"],
                ["When it is deleted", keeps ? "what its applications deployed stays" : "its applications go, and what they deployed"],
                ["Made", <Ago at={set.metadata.creationTimestamp} />],
              ]}
            />
          </Section>
          <Section title="Template">
            <div className="code">
              <pre tabIndex={0} aria-label="Template">
                {toYAML(set.spec.template)}
              </pre>
            </div>
          </Section>
        </div>
      </div>
      {editing && <SetEditor set={set} onClose={() => setEditing(false)} />}
      {deleting && (
        <Confirm
          title={`Delete ${name}`}
          word="Delete"
          typed={name}
          done={`${name} is being deleted.`}
          run={() => api.remove(namespace, name)}
          onClose={() => setDeleting(false)}
          onDone={() => {
            topicChanged("applicationsets");
            go(href("applicationsets"));
          }}
        >
          <p>
            Its {made.data?.length ?? 0} applications go with it. {keeps ? "What they deployed stays." : "What they deployed is taken out of the clusters."}
          </p>
        </Confirm>
      )}
    </Page>
  );
}

function Conditions({ set }: { set: ApplicationSet }) {
  const bad = (set.status?.conditions ?? []).filter((c) => c.type === "ErrorOccurred" && c.status === "True");
  if (bad.length === 0) return null;
  return (
    <ul className="conditions" aria-label="What should be known">
      {bad.map((c) => (
        <li key={c.type} className="tone-bad">
          <Icon name="degraded" />
          <div>
            <strong>{c.reason ?? c.type}</strong>
            <p>{c.message}</p>
          </div>
          <span className="soft">
            <Ago at={c.lastTransitionTime} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function Made({ nodes, set }: { nodes: readonly Node[]; set: ApplicationSet }) {
  const rollout = new Map(set.status?.applicationStatus?.map((a) => [a.application, a]));
  if (nodes.length === 0) return <p className="soft">It has made none that you may see.</p>;
  return (
    <Grid
      label="Applications of the set"
      items={nodes}
      keyOf={(n) => `${n.namespace}/${n.name}`}
      columns={[
        { title: "Name", cell: (n) => <Link to={appHref({ namespace: n.namespace ?? "", name: n.name })}>{n.name}</Link> },
        { title: "Health", cell: (n) => n.health?.status && <HealthBadge health={n.health.status} /> },
        ...(rollout.size > 0
          ? [{ title: "Rollout", minor: true, cell: (n: Node) => `${rollout.get(n.name)?.status ?? ""}${rollout.get(n.name)?.step ? `, step ${rollout.get(n.name)?.step}` : ""}` }]
          : []),
        { title: "Made", minor: true, cell: (n) => <Ago at={n.createdAt} /> },
      ]}
    />
  );
}
