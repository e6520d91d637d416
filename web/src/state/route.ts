import { home } from "../api/client";
import { Store, useStore } from "./store";

/** Route is where we are: the path below home, and the parameters. Every state that is worth a link is in it. */
export interface Route {
  path: string;
  params: URLSearchParams;
}

function read(): Route {
  const path = location.pathname.startsWith(home) ? location.pathname.slice(home.length) : location.pathname.slice(1);
  return { path: path.replace(/\/+$/, ""), params: new URLSearchParams(location.search) };
}

const route = new Store<Route>(read());
addEventListener("popstate", () => route.set(read()));

export const useRoute = () => useStore(route);
export const currentRoute = () => route.get();

export function href(path: string, params?: URLSearchParams | Record<string, string>): string {
  const text = new URLSearchParams(params).toString();
  return home + path + (text ? "?" + text : "");
}

/** go moves on; with replace the step back leaves out where we were. */
export function go(to: string, { replace = false } = {}): void {
  if (to === location.pathname + location.search) return;
  const before = location.pathname;
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  route.set(read());
  // Another page begins at its top; the browser itself knows where the ones before were.
  if (location.pathname !== before) scrollTo(0, 0);
}

/** setParams changes some of the parameters where we are; an empty value takes one away. */
export function setParams(changes: Record<string, string | undefined>, { replace = false } = {}): void {
  const { path, params } = route.get();
  const next = new URLSearchParams(params);
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  go(href(path, next), { replace });
}

export const appHref = (app: { namespace: string; name: string }, params?: Record<string, string>) =>
  href(`applications/${encodeURIComponent(app.namespace)}/${encodeURIComponent(app.name)}`, params);
