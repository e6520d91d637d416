import { useState, type FormEvent } from "react";
import * as apps from "../api/applications";
import * as people from "../api/people";
import type { Why } from "../api/types";
import { actionsOf, appOf, resources } from "../model/rights";
import { Answered } from "../parts/Answered";
import { Button } from "../parts/Button";
import { Choice, Field } from "../parts/Field";
import { Icon } from "../parts/Icon";
import { Page, Section } from "../parts/Page";
import { useAsk } from "../state/ask";
import { setParams, useRoute } from "../state/route";
import { session } from "../state/session";
import { useStore } from "../state/store";
import { underSettings } from "./frame";

/** WhyPage answers "why can I not": the rules first, and what else stands in the way of a sync. */
export function WhyPage() {
  const { params } = useRoute();
  const who = useStore(session);
  const asked = { resource: params.get("resource") ?? "applications", action: params.get("action") ?? "sync", object: params.get("object") ?? "" };
  const [draft, setDraft] = useState(asked);
  const names = useAsk("why:names", async () => (await apps.list({ limit: 200, sort: "name" })).items.map((a) => `${a.spec.project}/${a.metadata.name}`)).data;
  const submit = (e: FormEvent) => {
    e.preventDefault();
    setParams({ ...draft, object: draft.object.trim() || "*" });
  };
  return (
    <Page
      title="Why can I not …"
      above={underSettings}
      lead={
        <>
          You are <strong>{who?.username}</strong>
          {who?.groups && who.groups.length > 0 ? ` of ${who.groups.join(", ")}` : ""}. Ask about anything; the answer names the line that decides.
        </>
      }
    >
      <form className="panel form" onSubmit={submit}>
        <Choice title="On" value={draft.resource} of={resources.map((r) => [r, r] as const)} onChange={(resource) => setDraft({ ...draft, resource, action: actionsOf(resource)[0] ?? "get" })} />
        <Field title="I want to" required value={draft.action} choices={actionsOf(draft.resource)} onChange={(action) => setDraft({ ...draft, action })} />
        <Field
          title="Which"
          value={draft.object}
          choices={draft.resource === "applications" || draft.resource === "logs" ? names : undefined}
          onChange={(object) => setDraft({ ...draft, object })}
          placeholder={draft.resource === "applications" ? "PROJECT/NAME" : "*"}
        />
        <div className="whole">
          <Button type="submit" kind="main" icon="search">
            Ask
          </Button>
        </div>
      </form>
      {asked.object && <Verdict key={`${asked.resource} ${asked.action} ${asked.object}`} {...asked} />}
    </Page>
  );
}

function Verdict({ resource, action, object }: { resource: string; action: string; object: string }) {
  const key = `${resource}/${action}/${object}`;
  const verdict = useAsk(`why:${key}`, () => people.canI(resource, action, object));
  const app = resource === "applications" && (action === "sync" || action === "rollback") ? appOf(object) : undefined;
  return (
    <Section title={`${action} ${resource} ${object}`}>
      <Answered answer={verdict} what="the rules">
        {(v) => (
          <div className={`verdict tone-${v.value === "yes" ? "good" : "bad"}`} role="status">
            <Icon name={v.value === "yes" ? "healthy" : "lock"} size={20} />
            <div>
              <strong>{v.value === "yes" ? "The rules let you." : "The rules do not let you."}</strong>
              <p>{v.reason}</p>
              {v.line && <code>{v.line}</code>}
            </div>
          </div>
        )}
      </Answered>
      {app && verdict.data?.value === "yes" && <Checks app={app} action={action} />}
    </Section>
  );
}

const checkWord: Record<string, string> = {
  window: "Sync windows",
  windows: "Sync windows",
  project: "The project",
  source: "Where it comes from",
  destination: "Where it goes",
  operation: "What runs now",
};

/** sorted has what is in the way first; what the rules say stands above already. */
const sorted = (checks: Why["checks"]) => checks.filter((c) => c.name !== "rbac").sort((a, b) => Number(a.passed) - Number(b.passed));

function Checks({ app, action }: { app: apps.Name; action: string }) {
  const answer = useAsk(`why:app:${app.namespace}/${app.name}:${action}`, () => apps.why(app, action));
  return (
    <Answered answer={answer} what="what else is in the way">
      {(why) => (
        <>
          <h3>{why.allowed ? "Nothing else is in the way either." : "But something else is in the way."}</h3>
          <ul className="checks" aria-label="What was looked at">
            {sorted(why.checks).map((c) => (
              <li key={c.name} className={`verdict tone-${c.passed ? "good" : "bad"}`}>
                <Icon name={c.passed ? "healthy" : "lock"} />
                <div>
                  <strong>{checkWord[c.name] ?? c.name}</strong>
                  <p>{c.why}</p>
                  {c.line && <code>{c.line}</code>}
                </div>
              </li>
            ))}
          </ul>
        </>
      )}
    </Answered>
  );
}
