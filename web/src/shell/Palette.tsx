import { useEffect, useMemo, useState, type KeyboardEvent } from "react";
import * as api from "../api/applications";
import type { Row } from "../api/types";
import { healthOf, syncOf } from "../model/status";
import { Dialog } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import { Mark } from "../parts/Status";
import { commands, helpOpen, paletteOpen, type Command } from "../state/commands";
import { appHref, go, href } from "../state/route";
import { signOut } from "../state/session";
import { useStore } from "../state/store";
import { setTheme } from "../state/theme";

const always: readonly Command[] = [
  { id: "apps", title: "All applications", hint: "g a", icon: "table", run: () => go(href("applications")) },
  { id: "map", title: "Map of the fleet", icon: "map", run: () => go(href("applications", { view: "map" })) },
  { id: "ill", title: "Applications that are degraded", icon: "degraded", run: () => go(href("applications", { health: "Degraded" })) },
  { id: "drift", title: "Applications that differ from Git", icon: "drift", run: () => go(href("applications", { sync: "OutOfSync" })) },
  { id: "sets", title: "ApplicationSets", hint: "g s", icon: "tiles", run: () => go(href("applicationsets")) },
  { id: "projects", title: "Projects", hint: "g p", icon: "box", run: () => go(href("projects")) },
  { id: "clusters", title: "Clusters", hint: "g c", icon: "monitor", run: () => go(href("settings/clusters")) },
  { id: "repos", title: "Repositories", hint: "g r", icon: "branch", run: () => go(href("settings/repos")) },
  { id: "accounts", title: "Accounts and tokens", icon: "user", run: () => go(href("settings/accounts")) },
  { id: "settings", title: "Settings", hint: "g e", icon: "settings", run: () => go(href("settings")) },
  { id: "why", title: "Why can I not …", hint: "g w", icon: "unknown", run: () => go(href("settings/why")) },
  { id: "new", title: "New application …", hint: "n", icon: "plus", run: () => go(href("applications", { new: "form" })) },
  { id: "light", title: "Theme: light", icon: "sun", run: () => setTheme("light") },
  { id: "dark", title: "Theme: dark", icon: "moon", run: () => setTheme("dark") },
  { id: "system", title: "Theme: as the system", icon: "monitor", run: () => setTheme("system") },
  { id: "keys", title: "Keyboard shortcuts", hint: "?", icon: "keyboard", run: () => helpOpen.set(true) },
  { id: "out", title: "Sign out", icon: "user", run: () => void signOut() },
];

const fits = (title: string, words: readonly string[]) => words.every((w) => title.toLowerCase().includes(w));

/** Palette finds applications, by asking the server, and what can be done here. */
export function Palette() {
  const [text, setText] = useState("");
  const [apps, setApps] = useState<readonly Row[]>([]);
  const [at, setAt] = useState(0);
  const here = useStore(commands);
  const close = () => paletteOpen.set(false);
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      api
        .list({ search: text, limit: 8, sort: "name" }, stop.signal)
        .then((page) => setApps(page.items))
        .catch(() => setApps([]));
    }, 90);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  const found = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return [...here, ...always].filter((c) => fits(c.title, words));
  }, [text, here]);
  const items = [
    ...apps.map((a) => ({ key: `${a.metadata.namespace}/${a.metadata.name}`, run: () => go(appHref(a.metadata)), app: a, command: undefined })),
    ...found.map((c) => ({ key: c.id, run: c.run, app: undefined, command: c })),
  ];
  const chosen = Math.min(at, items.length - 1);
  const run = (i: number) => {
    close();
    items[i]?.run();
  };
  const press = (e: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (step) {
      e.preventDefault();
      setAt((chosen + step + items.length) % Math.max(items.length, 1));
    } else if (e.key === "Enter") {
      e.preventDefault();
      run(chosen);
    }
  };
  useEffect(() => {
    // In braces: newer browsers return a promise, which is nothing to clean up with.
    document.getElementById(`palette-${chosen}`)?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <Dialog title="Find or do anything" onClose={close} bare>
      <div className="palette">
        <div className="palette-field">
          <Icon name="search" size={18} />
          <input
            autoFocus
            value={text}
            onChange={(e) => {
              setText(e.target.value);
              setAt(0);
            }}
            onKeyDown={press}
            placeholder="An application, or something to do"
            aria-label="Find or do anything"
            role="combobox"
            aria-expanded="true"
            aria-controls="palette-list"
            aria-activedescendant={items.length > 0 ? `palette-${chosen}` : undefined}
          />
          <kbd>Esc</kbd>
        </div>
        <ul id="palette-list" role="listbox" aria-label="What was found">
          {items.map((item, i) => (
            <li
              key={item.key}
              id={`palette-${i}`}
              role="option"
              aria-selected={i === chosen}
              onMouseMove={() => setAt(i)}
              onClick={() => run(i)}
            >
              {item.app ? <Found app={item.app} /> : item.command && <Does command={item.command} />}
            </li>
          ))}
          {items.length === 0 && <li className="soft nothing">Nothing is called that.</li>}
        </ul>
      </div>
    </Dialog>
  );
}

function Found({ app }: { app: Row }) {
  return (
    <>
      <Mark health={healthOf(app)} />
      <Mark sync={syncOf(app)} />
      <span className="grow">{app.metadata.name}</span>
      <span className="soft">{app.spec.project}</span>
    </>
  );
}

function Does({ command }: { command: Command }) {
  return (
    <>
      <Icon name={command.icon} />
      <span className="grow">{command.title}</span>
      {command.hint && <kbd>{command.hint}</kbd>}
    </>
  );
}
