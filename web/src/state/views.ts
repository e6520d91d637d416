import { Store } from "./store";

/** View is a way to look at the fleet that somebody gave a name: an address, kept in their browser. */
export interface View {
  name: string;
  query: string;
}

const key = "towline.views";

function stored(): readonly View[] {
  try {
    const list = JSON.parse(localStorage.getItem(key) ?? "[]") as unknown;
    return Array.isArray(list) ? list.filter((v): v is View => typeof v?.name === "string" && typeof v.query === "string") : [];
  } catch {
    return [];
  }
}

export const views = new Store<readonly View[]>(stored());

function keep(next: readonly View[]): void {
  views.set(next);
  try {
    localStorage.setItem(key, JSON.stringify(next));
  } catch {
    // They hold until the page is left.
  }
}

export const saveView = (view: View) => keep([...views.get().filter((v) => v.name !== view.name), view].sort((a, b) => a.name.localeCompare(b.name)));
export const dropView = (name: string) => keep(views.get().filter((v) => v.name !== name));
