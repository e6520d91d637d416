import { memo, useEffect, useMemo, useRef, useState } from "react";
import type { Name } from "../api/applications";
import type { Key, LogLine, Tree } from "../api/types";
import { keyOf, parseKey } from "../model/graph";
import { containersOf, spots } from "../model/logs";
import { Button } from "../parts/Button";
import { Icon } from "../parts/Icon";
import { Failure, Loading, Notice, Stale } from "../parts/States";
import * as api from "../api/applications";
import { part } from "../state/application";
import { useAsk } from "../state/ask";
import { useLogs, type Numbered } from "../state/logs";
import { setParams, useRoute } from "../state/route";
import { attempt } from "../state/toast";

export const writers = new Set(["Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"]);

const ages = [
  ["", "any time"],
  ["300", "5 minutes"],
  ["3600", "an hour"],
  ["86400", "a day"],
] as const;

/** LogsView reads what pods write: of one, or of all that came from an object. */
export function LogsView({ name, tree, about }: { name: Name; tree: Tree | undefined; about?: Key }) {
  const { params } = useRoute();
  const choices = useMemo(() => (tree?.nodes ?? []).filter((n) => writers.has(n.kind)), [tree]);
  const picked = about ?? parseKey(params.get("of") ?? "") ?? choices.find((c) => c.kind === "Deployment") ?? choices[0];
  const [follow, setFollow] = useState(true);
  const [filter, setFilter] = useState("");
  const [matchCase, setMatchCase] = useState(false);
  const [find, setFind] = useState("");
  const [since, setSince] = useState("");
  const [wrap, setWrap] = useState(true);
  const [times, setTimes] = useState(false);
  const [full, setFull] = useState(false);
  const container = params.get("container") ?? "";
  const previous = params.get("previous") === "true";
  const key = picked && keyOf(picked);
  const version = tree?.nodes.find((n) => keyOf(n) === key)?.version;
  const manifest = useAsk(picked ? part(name, `live:${key}`) : "", () => api.live(name, picked!, version)).data;
  const containers = useMemo(() => containersOf(manifest), [manifest]);
  const wish = { of: key, container, previous, follow: follow && !previous, filter, matchCase, since: Number(since) };
  const { lines, error, again, all, reading } = useLogs(name, wish);
  if (!picked) {
    if (!tree) return <Loading what="what writes a log" />;
    return (
      <Notice icon="logs" title="Nothing here writes a log">
        There are no pods, and nothing that makes any.
      </Notice>
    );
  }
  const download = () => void attempt("", async () => save(`${name.name}-${picked.name}.log`, await all()));
  const found = find ? lines.filter((l) => spots(l.content, find).length > 0).length : 0;
  return (
    <div className={full ? "logs full" : "logs"}>
      <div className="bar">
        {!about && (
          <label className="field-inline">
            <span className="aside">Whose log</span>
            <select value={key} onChange={(e) => setParams({ of: e.target.value, container: undefined }, { replace: true })}>
              {choices.map((c) => (
                <option key={keyOf(c)} value={keyOf(c)}>
                  {c.kind} {c.name}
                </option>
              ))}
            </select>
          </label>
        )}
        {containers.length > 1 && (
          <label className="field-inline">
            <span className="aside">Container</span>
            <select value={container} onChange={(e) => setParams({ container: e.target.value }, { replace: true })}>
              <option value="">first container</option>
              {containers.map((c) => (
                <option key={c} value={c}>
                  {c}
                </option>
              ))}
            </select>
          </label>
        )}
        <label className="search">
          <Icon name="filter" />
          <span className="aside">Only lines with</span>
          <input type="search" placeholder="Only lines with, or !without" onKeyDown={(e) => e.key === "Enter" && setFilter(e.currentTarget.value)} onBlur={(e) => setFilter(e.currentTarget.value)} />
        </label>
        <Flag title="Match case" value={matchCase} onChange={setMatchCase} disabled={filter === ""} />
        <label className="search">
          <Icon name="search" />
          <span className="aside">Find in the log</span>
          <input data-search type="search" value={find} placeholder="Find" onChange={(e) => setFind(e.target.value)} />
          {find && <span className="soft">{found}</span>}
        </label>
        <label className="field-inline">
          Since{" "}
          <select value={since} onChange={(e) => setSince(e.target.value)}>
            {ages.map(([v, word]) => (
              <option key={v} value={v}>
                {word}
              </option>
            ))}
          </select>
        </label>
        <Flag title="Follow" value={follow && !previous} onChange={setFollow} disabled={previous} />
        <Flag title="Before the restart" value={previous} onChange={(on) => setParams({ previous: on ? "true" : undefined }, { replace: true })} />
        <Flag title="Wrap" value={wrap} onChange={setWrap} />
        <Flag title="Times" value={times} onChange={setTimes} />
        <Button icon="download" label="Download" onClick={download} />
        <Button icon={full ? "close" : "fit"} label={full ? "As before" : "Fill the window"} aria-pressed={full} onClick={() => setFull(!full)} />
      </div>
      {error && lines.length > 0 && <Stale error={error} again={again} />}
      {error && lines.length === 0 ? (
        <Failure error={error} what="the log" again={again} />
      ) : (
        <Lines lines={lines} reading={reading} follow={follow} wrap={wrap} times={times} find={find} />
      )}
    </div>
  );
}

function Flag({ title, value, onChange, disabled = false }: { title: string; value: boolean; onChange: (on: boolean) => void; disabled?: boolean }) {
  return (
    <label className="check">
      <input type="checkbox" checked={value} disabled={disabled} onChange={(e) => onChange(e.target.checked)} /> {title}
    </label>
  );
}

function save(file: string, lines: readonly LogLine[]): void {
  const text = lines.map((l) => `${l.timeStampStr ?? ""} ${l.podName ?? ""} ${l.content}`).join("\n");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = file;
  link.click();
  URL.revokeObjectURL(link.href);
}

interface LinesProps {
  lines: readonly Numbered[];
  reading: boolean;
  follow: boolean;
  wrap: boolean;
  times: boolean;
  find: string;
}

function Lines({ lines, reading, follow, wrap, times, find }: LinesProps) {
  const box = useRef<HTMLDivElement>(null);
  const several = new Set(lines.map((l) => l.podName)).size > 1;
  useEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, follow]);
  return (
    <div className={wrap ? "log wrap" : "log"} ref={box} role="log" aria-label="Log" tabIndex={0}>
      {lines.map((l) => (
        <Written key={l.number} line={l} times={times} several={several} find={find} />
      ))}
      {lines.length === 0 && <p className="soft">{reading ? "Reading the log …" : "Nothing was written yet."}</p>}
    </div>
  );
}

/** Written is one line. It is drawn once: thousands stand above the next. */
const Written = memo(function Written({ line: l, times, several, find }: { line: Numbered; times: boolean; several: boolean; find: string }) {
  return (
    <div className="log-line">
      {times && <span className="soft">{l.timeStampStr?.slice(11, 23)}</span>}
      {several && <span className="pod">{l.podName}</span>}
      <span className="text">{find ? <Found text={l.content} find={find} /> : l.content}</span>
    </div>
  );
});

function Found({ text, find }: { text: string; find: string }) {
  const at = spots(text, find);
  if (at.length === 0) return text;
  let last = 0;
  return (
    <>
      {at.map((from) => {
        const before = text.slice(last, from);
        last = from + find.length;
        return (
          <span key={from}>
            {before}
            <mark>{text.slice(from, last)}</mark>
          </span>
        );
      })}
      {text.slice(last)}
    </>
  );
}
