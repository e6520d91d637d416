import { Store } from "./store";

export type Theme = "system" | "light" | "dark";

const key = "towline.theme";

function stored(): Theme {
  try {
    const t = localStorage.getItem(key);
    return t === "light" || t === "dark" ? t : "system";
  } catch {
    return "system";
  }
}

export const theme = new Store<Theme>(stored());

export function setTheme(t: Theme): void {
  theme.set(t);
  if (t === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = t;
  try {
    localStorage.setItem(key, t);
  } catch {
    // It holds until the page is left.
  }
}

export const nextTheme: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
