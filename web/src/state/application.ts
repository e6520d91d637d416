import { useEffect, useState } from "react";
import * as api from "../api/applications";
import type { Name } from "../api/applications";
import type { Tree } from "../api/types";
import { invalidate, useAsk } from "./ask";
import { onChange, onReset, watchTree } from "./live";

const keyOf = (n: Name) => `${n.namespace}/${n.name}`;

/** part names a question about an application; all of them are asked again when something of it changes. */
export const part = (n: Name, what: string) => `app:${keyOf(n)}:${what}`;

/** settle gathers the changes of a burst. */
const settle = 150;

/** useApplication keeps an application and its tree current while it is shown. */
export function useApplication(asked: Name) {
  const answer = useAsk(part(asked, "whole"), () => api.get(asked));
  const [tree, setTree] = useState<Tree | undefined>(undefined);
  const meta = answer.data?.metadata;
  const namespace = meta?.namespace ?? asked.namespace;
  const { name } = asked;
  const [gone, setGone] = useState(false);
  useEffect(() => {
    if (!namespace) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        invalidate(`app:${asked.namespace}/${name}:`);
      }, settle);
    };
    const ends = [
      watchTree(namespace, name, setTree),
      onChange(({ type, application }) => {
        if (application.metadata.name !== name || application.metadata.namespace !== namespace) return;
        setGone(type === "DELETED");
        if (type !== "DELETED") again();
      }),
      onReset(again),
    ];
    return () => {
      clearTimeout(timer);
      for (const end of ends) end();
    };
  }, [asked.namespace, namespace, name]);
  return { answer, tree, gone };
}

/** useCommit is what is known of a revision; charts and artifacts have none. */
export function useCommit(n: Name, revision: string | undefined) {
  const commit = revision && /^[0-9a-f]{40,64}$/.test(revision);
  // A commit does not change, so it is not among the parts that are asked again.
  return useAsk(commit ? `commit:${keyOf(n)}:${revision}` : "", () => api.commit(n, revision ?? "")).data;
}
