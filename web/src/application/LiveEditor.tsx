import { useState } from "react";
import * as api from "../api/applications";
import type { Name } from "../api/applications";
import { readOne } from "../api/typed";
import type { Key } from "../api/types";
import { mergePatch } from "../model/patch";
import { toYAML } from "../model/yaml";
import { Button } from "../parts/Button";
import { Editor } from "../parts/Editor";
import { say } from "../state/toast";

interface Props {
  name: Name;
  about: Key;
  object: Record<string, unknown>;
  onClose: () => void;
}

/** LiveEditor changes an object in the cluster. What differs from Git after that is drift, and shown as such. */
export function LiveEditor({ name, about, object, onClose }: Props) {
  const [text, setText] = useState(() => toYAML(object));
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    setProblem("");
    try {
      const change = mergePatch(object, await readOne(text, about.kind));
      if (change === undefined) throw new Error("Nothing is another than it was.");
      await api.patchObject(name, about, change);
      say(`${about.name} was changed.`);
      onClose();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <p className="soft">This changes the cluster and not Git: where Git says otherwise, it is drift, and automation may undo it.</p>
      <Editor label="Object as YAML" value={text} onChange={setText} problem={problem} />
      <div className="badges">
        <Button kind="main" icon="synced" busy={busy} onClick={() => void save()}>
          Save to the cluster
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </>
  );
}
