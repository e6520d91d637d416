import { useState } from "react";
import * as api from "../api/clusters";
import type { NewCluster } from "../api/clusters";
import { readOne } from "../api/typed";
import { waysOf, type Way } from "../model/kubeconfig";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Check, Choice, Field } from "../parts/Field";
import { Icon } from "../parts/Icon";
import { say } from "../state/toast";
import { topicChanged } from "../state/topic";

const empty: NewCluster = { server: "", name: "", config: { tlsClientConfig: { insecure: false } } };

/** AddCluster takes a cluster from a kubeconfig, or field by field. The server signs in before anything is written down. */
export function AddCluster({ onClose }: { onClose: () => void }) {
  const [by, setBy] = useState<"kubeconfig" | "fields">("kubeconfig");
  const [text, setText] = useState("");
  const [ways, setWays] = useState<readonly Way[]>([]);
  const [context, setContext] = useState("");
  const [cluster, setCluster] = useState<NewCluster>(empty);
  const [namespaces, setNamespaces] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const pick = (w: Way | undefined) => {
    setContext(w?.context ?? "");
    setProblem(w?.problem ?? "");
    if (w) setCluster(w.cluster);
  };
  const read = async (config: string) => {
    setText(config);
    setWays([]);
    setProblem("");
    if (!config.trim()) return;
    try {
      const found = waysOf(await readOne(config, "Config"));
      setWays(found);
      if (found.length === 0) setProblem("There is no context in it.");
      else pick(found.find((w) => !w.problem) ?? found[0]);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const add = async () => {
    setBusy(true);
    setProblem("");
    const list = namespaces.split(/[\s,]+/).filter(Boolean);
    try {
      await api.create({ ...cluster, name: cluster.name.trim() || cluster.server, ...(list.length > 0 ? { namespaces: list } : {}) });
      say(`${cluster.name || cluster.server} is on the list.`);
      topicChanged("clusters");
      onClose();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  const tls = cluster.config.tlsClientConfig;
  const setTLS = (change: Partial<typeof tls>) => setCluster({ ...cluster, config: { ...cluster.config, tlsClientConfig: { ...tls, ...change } } });
  return (
    <Dialog
      title="Add a cluster"
      size="wide"
      onClose={onClose}
      footer={
        <>
          <span className="soft grow">We sign in there before it is written down.</span>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" icon="plus" busy={busy} disabled={!cluster.server} onClick={() => void add()}>
            Add it
          </Button>
        </>
      }
    >
      <div className="choice" role="group" aria-label="How">
        <button type="button" aria-pressed={by === "kubeconfig"} onClick={() => setBy("kubeconfig")}>
          From a kubeconfig
        </button>
        <button type="button" aria-pressed={by === "fields"} onClick={() => setBy("fields")}>
          Field by field
        </button>
      </div>
      {by === "kubeconfig" && (
        <>
          <Field title="Kubeconfig" required lines={8} value={text} onChange={(t) => void read(t)} placeholder="kubectl config view --minify --flatten --raw" hint="It is read once, and sent when you press Add. Prefer an account of our own: towline cluster add makes one." />
          {ways.length > 1 && <Choice title="Context" value={context} of={ways.map((w) => [w.context, w.problem ? `${w.context} (cannot be used)` : w.context] as const)} onChange={(c) => pick(ways.find((w) => w.context === c))} />}
        </>
      )}
      <div className="form">
        <Field title="Name" required value={cluster.name} onChange={(name) => setCluster({ ...cluster, name })} placeholder="production" />
        <Field title="Server" required type="url" value={cluster.server} onChange={(server) => setCluster({ ...cluster, server })} placeholder="https://10.0.0.1:6443" />
        {by === "fields" && (
          <>
            <Field title="Token" required type="password" value={cluster.config.bearerToken ?? ""} onChange={(bearerToken) => setCluster({ ...cluster, config: { ...cluster.config, bearerToken } })} hint="Of a service account that may do what is to be done there." />
            <Field title="Authority" lines={3} value={tls.caData ? pem(tls.caData) : ""} onChange={(t) => setTLS({ caData: btoa(t) })} placeholder="-----BEGIN CERTIFICATE-----" />
            <Check title="Do not check its certificate" value={tls.insecure} onChange={(insecure) => setTLS({ insecure })} />
          </>
        )}
        <Field title="Namespaces" value={namespaces} onChange={setNamespaces} placeholder="all" hint="Where we may look and write, if not everywhere." />
        <Field title="Project" value={cluster.project ?? ""} onChange={(project) => setCluster(project ? { ...cluster, project } : without(cluster))} placeholder="for all" hint="If it is for one project alone." />
      </div>
      {problem && (
        <p className="problem" role="alert">
          <Icon name="degraded" /> {problem}
        </p>
      )}
    </Dialog>
  );
}

const pem = (data: string) => {
  try {
    return atob(data);
  } catch {
    return "";
  }
};

function without(c: NewCluster): NewCluster {
  const { project: _, ...rest } = c;
  return rest;
}
