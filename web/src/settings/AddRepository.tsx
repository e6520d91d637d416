import { useState } from "react";
import * as api from "../api/repositories";
import type { NewRepository } from "../api/repositories";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Check, Choice, Field } from "../parts/Field";
import { Icon } from "../parts/Icon";
import { say } from "../state/toast";
import { topicChanged } from "../state/topic";

const kinds = [
  ["git", "Git"],
  ["helm", "Charts over HTTP"],
  ["oci", "A registry (OCI)"],
] as const;

const logins = [
  ["none", "None"],
  ["password", "Name and password, or token"],
  ["ssh", "SSH key"],
  ["bearer", "Bearer token"],
  ["github", "GitHub App"],
] as const;

type Login = (typeof logins)[number][0];

interface Draft extends Record<string, string | boolean> {
  url: string;
  name: string;
  project: string;
  username: string;
  password: string;
  key: string;
  token: string;
  app: string;
  installation: string;
  insecure: boolean;
  lfs: boolean;
}

const blank: Draft = { url: "", name: "", project: "", username: "", password: "", key: "", token: "", app: "", installation: "", insecure: false, lfs: false };

function entryOf(d: Draft, kind: string, login: Login, many: boolean): NewRepository & { repo: string } {
  const url = d.url.trim();
  const out: NewRepository & { repo: string } = { repo: url, type: kind };
  if (many) out.url = url;
  if (d.name) out.name = d.name;
  if (d.project) out.project = d.project;
  if (d.insecure) out.insecure = true;
  if (d.lfs) out.enableLfs = true;
  if (kind === "oci") out.enableOCI = true;
  if (login === "password") Object.assign(out, { username: d.username, password: d.password });
  if (login === "ssh") out.sshPrivateKey = d.key.endsWith("\n") ? d.key : `${d.key}\n`;
  if (login === "bearer") out.bearerToken = d.token;
  if (login === "github") Object.assign(out, { githubAppID: d.app, githubAppInstallationID: d.installation, githubAppPrivateKey: d.key });
  return out;
}

/** AddRepository writes down where content comes from. The server signs in before it does. */
export function AddRepository({ onClose }: { onClose: () => void }) {
  const [kind, setKind] = useState<(typeof kinds)[number][0]>("git");
  const [login, setLogin] = useState<Login>("none");
  const [many, setMany] = useState(false);
  const [draft, setDraft] = useState<Draft>(blank);
  const [problem, setProblem] = useState("");
  const [works, setWorks] = useState(false);
  const [busy, setBusy] = useState<"" | "test" | "add">("");
  const set = (name: keyof Draft & string) => (value: string | boolean) => {
    setWorks(false);
    setDraft({ ...draft, [name]: value });
  };
  const run = async (what: "test" | "add") => {
    setBusy(what);
    setProblem("");
    setWorks(false);
    const entry = entryOf(draft, kind, login, many);
    try {
      if (what === "test") {
        await api.test(entry);
        setWorks(true);
        return;
      }
      if (many) await api.createCredentials(entry);
      else await api.create(entry);
      say(`${entry.repo} is on the list.`);
      topicChanged("repositories");
      onClose();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy("");
    }
  };
  return (
    <Dialog
      title="Add a repository"
      size="wide"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          {!many && (
            <Button icon="refresh" busy={busy === "test"} disabled={!draft.url} onClick={() => void run("test")}>
              Test the connection
            </Button>
          )}
          <Button kind="main" icon="plus" busy={busy === "add"} disabled={!draft.url} onClick={() => void run("add")}>
            Add it
          </Button>
        </>
      }
    >
      <div className="form">
        <Choice title="Kind" value={kind} of={kinds} onChange={setKind} />
        <Field title={many ? "Everything below" : "Address"} required value={draft.url} onChange={set("url")} placeholder={many ? "https://github.com/my-org" : kind === "oci" ? "registry.example.com/charts" : "https://github.com/my-org/shop.git"} />
        {kind === "helm" && <Field title="Name" required value={draft.name} onChange={set("name")} placeholder="stable" />}
        {!many && <Field title="Project" value={draft.project} onChange={set("project")} placeholder="for all" hint="If it is for one project alone." />}
        <Choice title="Login" value={login} of={logins} onChange={setLogin} />
        {login === "password" && (
          <>
            <Field title="User" required value={draft.username} onChange={set("username")} />
            <Field title="Password or token" required type="password" value={draft.password} onChange={set("password")} autoComplete="new-password" />
          </>
        )}
        {login === "bearer" && <Field title="Token" required type="password" value={draft.token} onChange={set("token")} autoComplete="new-password" />}
        {login === "github" && (
          <>
            <Field title="App ID" required value={draft.app} onChange={set("app")} />
            <Field title="Installation ID" value={draft.installation} onChange={set("installation")} />
          </>
        )}
        {(login === "ssh" || login === "github") && <Field title="Private key" required lines={5} value={draft.key} onChange={set("key")} placeholder="-----BEGIN OPENSSH PRIVATE KEY-----" />}
        <fieldset className="whole">
          <legend className="aside">How</legend>
          <Check title="A login for everything below this address" value={many} onChange={setMany} />
          <Check title="Do not check its certificate or host key" value={draft.insecure} onChange={set("insecure")} />
          {kind === "git" && <Check title="Fetch large files (LFS)" value={draft.lfs} onChange={set("lfs")} />}
        </fieldset>
      </div>
      {works && (
        <p className="fine" role="status">
          <Icon name="healthy" /> It can be read.
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
