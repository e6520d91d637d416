import { useEffect, useMemo, useState } from "react";
import * as api from "../api/applications";
import type { Application, Tree } from "../api/types";
import { watchTree, onChange } from "./live";

/** Child is an application below another: what it has, and what came of it. */
export interface Child {
  app: Application;
  tree: Tree;
}

/** useChildren keeps the objects of some applications current, by NAMESPACE/NAME; those that cannot be read are left out. */
export function useChildren(names: readonly string[]): ReadonlyMap<string, Child> {
  const key = names.join("\n");
  const [apps, setApps] = useState<Readonly<Record<string, Application>>>({});
  const [trees, setTrees] = useState<Readonly<Record<string, Tree>>>({});
  useEffect(() => {
    let over = false;
    const wanted = key === "" ? [] : key.split("\n");
    const read = async (name: string) => {
      const [namespace = "", own = ""] = name.split("/");
      try {
        const app = await api.get({ namespace, name: own });
        if (!over) setApps((all) => ({ ...all, [name]: app }));
      } catch {
        // Whoever may not see it sees the application as an object, and nothing below.
      }
    };
    const ends = wanted.flatMap((name) => {
      const [namespace = "", own = ""] = name.split("/");
      void read(name);
      return [
        watchTree(namespace, own, (tree) => setTrees((all) => ({ ...all, [name]: tree }))),
        onChange(({ application: { metadata: m } }) => {
          if (`${m.namespace}/${m.name}` === name) void read(name);
        }),
      ];
    });
    return () => {
      over = true;
      for (const end of ends) end();
    };
  }, [key]);
  return useMemo(() => {
    const out = new Map<string, Child>();
    for (const name of key === "" ? [] : key.split("\n")) {
      const app = apps[name];
      const tree = trees[name];
      if (app && tree) out.set(name, { app, tree });
    }
    return out;
  }, [key, apps, trees]);
}
