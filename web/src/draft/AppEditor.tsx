import { useState } from "react";
import * as api from "../api/applications";
import { readOne } from "../api/typed";
import type { Application } from "../api/types";
import { TextDiff } from "../application/TextDiff";
import { blank, declared, textAt, type Draft } from "../model/draft";
import { mergePatch } from "../model/patch";
import { toYAML } from "../model/yaml";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Editor } from "../parts/Editor";
import { Icon } from "../parts/Icon";
import { appHref, go } from "../state/route";
import { say } from "../state/toast";
import { AppForm } from "./AppForm";

type Way = "form" | "yaml" | "diff";
const ways: readonly (readonly [Way, string])[] = [
  ["form", "Form"],
  ["yaml", "YAML"],
  ["diff", "What changes"],
];

interface Props {
  /** app is the one to edit; a new one is made without. */
  app?: Application;
  onClose: () => void;
}

/** AppEditor makes or changes an application, by a form or as YAML; the server says whether it could be before it is. */
export function AppEditor({ app, onClose }: Props) {
  const [start] = useState<Draft>(() => (app ? declared(app) : blank));
  const [draft, setDraft] = useState<Draft>(start);
  const [text, setText] = useState(() => toYAML(start));
  const [way, setWay] = useState<Way>("form");
  const [problem, setProblem] = useState("");
  const [fine, setFine] = useState(false);
  const [busy, setBusy] = useState<"" | "check" | "save">("");
  const current = async (): Promise<Draft> => (way === "yaml" ? ((await readOne(text, "Application")) as Draft) : draft);
  const guarded = async (what: typeof busy, work: () => Promise<void>) => {
    setBusy(what);
    setProblem("");
    setFine(false);
    try {
      await work();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy("");
    }
  };
  const show = (next: Way) =>
    void guarded("", async () => {
      const now = await current();
      setDraft(now);
      if (way !== "yaml") setText(toYAML(now));
      setWay(next);
    });
  const write = async (dryRun: boolean): Promise<Application> => {
    const next = await current();
    if (!app) return api.create(next, dryRun);
    if (dryRun) return api.update(app.metadata, next, true);
    // Only what was changed here is written: what others changed meanwhile stays.
    const change = mergePatch(start, next);
    if (change === undefined) throw new Error("Nothing is another than it was.");
    return api.patch(app.metadata, change);
  };
  const check = () => void guarded("check", async () => (await write(true), setFine(true)));
  const save = () =>
    void guarded("save", async () => {
      const made = await write(false);
      say(app ? `${made.metadata.name} was changed.` : `${made.metadata.name} was made.`);
      onClose();
      if (!app) go(appHref(made.metadata));
    });
  const edit = (d: Draft) => {
    setDraft(d);
    setFine(false);
  };
  return (
    <Dialog
      title={app ? `Edit ${app.metadata.name}` : "New application"}
      size="wide"
      onClose={onClose}
      footer={
        <>
          <Button icon="plan" busy={busy === "check"} onClick={check}>
            Check
          </Button>
          <span className="grow" />
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" icon={app ? "synced" : "plus"} busy={busy === "save"} disabled={way !== "yaml" && !textAt(draft, ["metadata", "name"])} onClick={save}>
            {app ? "Save" : "Make it"}
          </Button>
        </>
      }
    >
      <div className="choice" role="group" aria-label="Edit as">
        {ways
          .filter(([w]) => w !== "diff" || app)
          .map(([w, title]) => (
            <button key={w} type="button" aria-pressed={w === way} onClick={() => show(w)}>
              {title}
            </button>
          ))}
      </div>
      {app?.metadata.ownerReferences?.some((o) => o.kind === "ApplicationSet") && (
        <p className="soft">
          It was made by ApplicationSet <strong>{app.metadata.ownerReferences.find((o) => o.kind === "ApplicationSet")?.name}</strong>, which will undo what its template says otherwise.
        </p>
      )}
      {way === "form" && <AppForm draft={draft} onChange={edit} known={app !== undefined} />}
      {way === "yaml" && (
        <Editor
          label="Application as YAML"
          value={text}
          onChange={(t) => {
            setText(t);
            setFine(false);
          }}
        />
      )}
      {way === "diff" && <TextDiff before={toYAML(start)} after={toYAML(draft)} titles={["Now", "After saving"]} />}
      {fine && (
        <p className="fine" role="status">
          <Icon name="healthy" /> It could be: the project allows it, and the cluster is known.
        </p>
      )}
      {problem && (
        <p className="problem" role="alert">
          <Icon name="degraded" /> {problem}
        </p>
      )}
    </Dialog>
  );
}
