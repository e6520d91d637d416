import { useEffect, useMemo, useRef, useState } from "react";
import * as api from "../api/applications";
import type { Name } from "../api/applications";
import { ApiError } from "../api/client";
import type { Key, LogLine, Tree } from "../api/types";
import { keyOf, parseKey } from "../model/graph";
import { Button } from "../parts/Button";
import { Icon } from "../parts/Icon";
import { Failure, Notice } from "../parts/States";
import { setParams, useRoute } from "../state/route";

/** most is how many lines are kept; older ones go. */
const most = 5000;
const writers = new Set(["Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"]);

/** LogsView reads what pods write: of one, or of all that came from an object. */
export function LogsView({ name, tree, about }: { name: Name; tree: Tree | undefined; about?: Key }) {
  const { params } = useRoute();
  const choices = useMemo(() => (tree?.nodes ?? []).filter((n) => writers.has(n.kind)), [tree]);
  const picked = about ?? parseKey(params.get("of") ?? "") ?? choices.find((c) => c.kind === "Deployment") ?? choices[0];
  const [follow, setFollow] = useState(true);
  const [filter, setFilter] = useState("");
  const [wrap, setWrap] = useState(true);
  const [times, setTimes] = useState(false);
  const { lines, error, again } = useLogs(name, picked && keyOf(picked), follow, filter);
  if (!picked) {
    return (
      <Notice icon="logs" title="Nothing here writes a log">
        There are no pods, and nothing that makes any.
      </Notice>
    );
  }
  const download = () => {
    const text = lines.map((l) => `${l.timeStampStr ?? ""} ${l.podName ?? ""} ${l.content}`).join("\n");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    link.download = `${name.name}-${picked.name}.log`;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <div className="logs">
      <div className="bar">
        {!about && (
          <label className="field-inline">
            <span className="aside">Whose log</span>
            <select value={keyOf(picked)} onChange={(e) => setParams({ of: e.target.value }, { replace: true })}>
              {choices.map((c) => (
                <option key={keyOf(c)} value={keyOf(c)}>
                  {c.kind} {c.name}
                </option>
              ))}
            </select>
          </label>
        )}
        <label className="search">
          <Icon name="search" />
          <span className="aside">Lines with</span>
          <input data-search type="search" placeholder="Lines with this; ! before it: without" onKeyDown={(e) => e.key === "Enter" && setFilter(e.currentTarget.value)} onBlur={(e) => setFilter(e.currentTarget.value)} />
        </label>
        <label className="check">
          <input type="checkbox" checked={follow} onChange={(e) => setFollow(e.target.checked)} /> Follow
        </label>
        <label className="check">
          <input type="checkbox" checked={wrap} onChange={(e) => setWrap(e.target.checked)} /> Wrap
        </label>
        <label className="check">
          <input type="checkbox" checked={times} onChange={(e) => setTimes(e.target.checked)} /> Times
        </label>
        <Button icon="download" label="Download" onClick={download} />
      </div>
      {error && lines.length === 0 ? <Failure error={error} what="the log" again={again} /> : <Lines lines={lines} follow={follow} wrap={wrap} times={times} />}
    </div>
  );
}

function useLogs(name: Name, of: string | undefined, follow: boolean, filter: string) {
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [round, setRound] = useState(0);
  useEffect(() => {
    const key = parseKey(of ?? "");
    if (!key) return;
    const stop = new AbortController();
    let waiting: LogLine[] = [];
    let frame = 0;
    setLines([]);
    setError(undefined);
    const flush = () => {
      frame = 0;
      const more = waiting;
      waiting = [];
      setLines((all) => [...all, ...more].slice(-most));
    };
    const about = key.kind === "Pod" ? { podName: key.name, namespace: key.namespace } : { group: key.group, kind: key.kind, namespace: key.namespace, resourceName: key.name };
    api
      .logs(name, { ...about, follow, tailLines: 500, filter }, stop.signal, (line) => {
        if (line.last) return;
        waiting.push(line);
        // Lines come in crowds: they are drawn once a frame.
        frame ||= requestAnimationFrame(flush);
      })
      .catch((e: unknown) => {
        if (!stop.signal.aborted) setError(e instanceof ApiError ? e : new ApiError(500, String(e)));
      });
    return () => {
      stop.abort();
      cancelAnimationFrame(frame);
    };
  }, [name.namespace, name.name, of, follow, filter, round]);
  return { lines, error, again: () => setRound((r) => r + 1) };
}

function Lines({ lines, follow, wrap, times }: { lines: readonly LogLine[]; follow: boolean; wrap: boolean; times: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const several = new Set(lines.map((l) => l.podName)).size > 1;
  useEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, follow]);
  return (
    <div className={wrap ? "log wrap" : "log"} ref={box} role="log" aria-label="Log" tabIndex={0}>
      {lines.map((l, i) => (
        <div key={i} className="log-line">
          {times && <span className="soft">{l.timeStampStr?.slice(11, 23)}</span>}
          {several && <span className="pod">{l.podName}</span>}
          <span className="text">{l.content}</span>
        </div>
      ))}
      {lines.length === 0 && <p className="soft">Nothing was written yet.</p>}
    </div>
  );
}
