import { useState } from "react";
import * as api from "../api/projects";
import type { Project } from "../api/projects";
import { readOne } from "../api/typed";
import { toYAML } from "../model/yaml";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Editor } from "../parts/Editor";
import { go } from "../state/route";
import { say } from "../state/toast";
import { topicChanged } from "../state/topic";
import { projectHref } from "./ProjectsPage";

const example = `apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata:
  name: my-team
spec:
  description: What my team runs
  sourceRepos:
  - https://example.com/my-team/*
  destinations:
  - server: https://kubernetes.default.svc
    namespace: my-team-*
`;

const textOf = (p: Project) => toYAML({ apiVersion: "argoproj.io/v1alpha1", kind: "AppProject", metadata: { name: p.metadata.name }, spec: p.spec });

/** ProjectEditor has a project typed. The server refuses what would leave applications without their place. */
export function ProjectEditor({ project, onClose }: { project?: Project; onClose: () => void }) {
  const [text, setText] = useState(() => (project ? textOf(project) : example));
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    setProblem("");
    try {
      const typed = (await readOne(text, "AppProject")) as unknown as Project;
      if (project) await api.update(project.metadata.name, { ...typed, metadata: { ...typed.metadata, resourceVersion: project.metadata.resourceVersion } });
      else await api.create(typed);
      say(project ? `${project.metadata.name} was changed.` : `${typed.metadata.name} was made.`);
      topicChanged("projects");
      onClose();
      if (!project) go(projectHref(typed.metadata.name));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={project ? `Change ${project.metadata.name}` : "New project"}
      size="wide"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" icon="synced" busy={busy} onClick={() => void save()}>
            {project ? "Change it" : "Make it"}
          </Button>
        </>
      }
    >
      <Editor label="Project as YAML" value={text} onChange={setText} problem={problem} />
    </Dialog>
  );
}
