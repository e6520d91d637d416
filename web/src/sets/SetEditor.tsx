import { useState } from "react";
import * as apps from "../api/applications";
import * as api from "../api/sets";
import type { ApplicationSet, Generated } from "../api/sets";
import { readOne } from "../api/typed";
import type { Row } from "../api/types";
import { preview, type Fate, type Preview } from "../model/sets";
import type { Tone } from "../model/status";
import { toYAML } from "../model/yaml";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Editor } from "../parts/Editor";
import { Icon, type IconName } from "../parts/Icon";
import { Badge } from "../parts/Status";
import { attempt } from "../state/toast";
import { topicChanged } from "../state/topic";

const example = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: my-set
spec:
  goTemplate: true
  generators:
  - list:
      elements:
      - name: first
      - name: second
  template:
    metadata:
      name: "my-{{.name}}"
    spec:
      project: default
      source:
        repoURL: https://example.com/repository.git
        path: "{{.name}}"
        targetRevision: HEAD
      destination:
        server: https://kubernetes.default.svc
        namespace: "{{.name}}"
`;

const textOf = (set: ApplicationSet) =>
  toYAML({
    apiVersion: "argoproj.io/v1alpha1",
    kind: "ApplicationSet",
    metadata: { name: set.metadata.name, ...(set.metadata.labels ? { labels: set.metadata.labels } : {}) },
    spec: set.spec,
  });

/** SetEditor has a set typed, shows what it would make, and only then has it made. */
export function SetEditor({ set, onClose }: { set?: ApplicationSet; onClose: () => void }) {
  const [text, setText] = useState(() => (set ? textOf(set) : example));
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [seen, setSeen] = useState<{ text: string; made: Generated; fates: Preview[] } | undefined>(undefined);
  const look = async () => {
    setBusy(true);
    setProblem("");
    try {
      const object = (await readOne(text, "ApplicationSet")) as unknown as ApplicationSet;
      const made = await api.generate(object);
      const now = set ? await madeBy(set) : [];
      setSeen({ text, made, fates: preview(now, made.applications) });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setSeen(undefined);
    } finally {
      setBusy(false);
    }
  };
  const save = async () => {
    setBusy(true);
    const done = await attempt(set ? `${set.metadata.name} was changed.` : "The set was made.", async () => {
      const out = await api.put(await readOne(text, "ApplicationSet"), { upsert: set !== undefined });
      topicChanged("applicationsets");
      return out;
    });
    setBusy(false);
    if (done) onClose();
  };
  const fresh = seen?.text === text;
  return (
    <Dialog
      title={set ? `Change ${set.metadata.name}` : "New ApplicationSet"}
      size="wide"
      onClose={onClose}
      footer={
        <>
          <span className="soft grow">{fresh ? "" : "See what it would make first."}</span>
          <Button icon="plan" busy={busy && !fresh} kind={fresh ? "plain" : "main"} onClick={() => void look()}>
            Preview
          </Button>
          <Button icon="synced" kind={fresh ? "main" : "plain"} busy={busy && fresh} disabled={!fresh} onClick={() => void save()}>
            {set ? "Change it" : "Make it"}
          </Button>
        </>
      }
    >
      <Editor label="ApplicationSet as YAML" value={text} onChange={setText} problem={problem} lines={20} />
      {seen && <Fates seen={seen} stale={!fresh} />}
    </Dialog>
  );
}

/** madeBy are the applications that a set has made, as lists know them. */
async function madeBy(set: ApplicationSet): Promise<Row[]> {
  const nodes = await api.tree(set.metadata.namespace, set.metadata.name);
  const names = new Set(nodes.map((n) => n.name));
  const page = await apps.list({ limit: 0, view: "row", projects: [] });
  return page.items.filter((a) => names.has(a.metadata.name));
}

const fateWord: Record<Fate, string> = { new: "New", changed: "Changes", same: "Stays", gone: "Goes" };
const fateTone: Record<Fate, Tone> = { new: "good", changed: "warn", same: "none", gone: "bad" };
const fateIcon: Record<Fate, IconName> = { new: "plus", changed: "drift", same: "synced", gone: "trash" };

function Fates({ seen, stale }: { seen: { made: Generated; fates: Preview[] }; stale: boolean }) {
  const { made, fates } = seen;
  return (
    <section className={stale ? "fates stale" : "fates"} aria-label="What it would make">
      <h3>
        It would make {made.applications.length} {made.applications.length === 1 ? "application" : "applications"}
      </h3>
      {made.problems?.map((p) => (
        <p key={p} className="problem">
          <Icon name="degraded" /> {p}
        </p>
      ))}
      <ul>
        {fates.map((f) => (
          <li key={f.name} className="result">
            <Badge tone={fateTone[f.fate]} icon={fateIcon[f.fate]} quiet={f.fate === "same"}>
              {fateWord[f.fate]}
            </Badge>
            <strong>{f.name}</strong>
            <span className="soft grow line">
              {f.app && `${f.app.spec.source?.path ?? f.app.spec.source?.chart ?? ""} → ${f.app.spec.destination.name ?? f.app.spec.destination.server ?? ""} ${f.app.spec.destination.namespace ?? ""}`}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
