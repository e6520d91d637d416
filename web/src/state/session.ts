import { onSignedOut } from "../api/client";
import * as people from "../api/people";
import type { UserInfo } from "../api/people";
import { clearAnswers } from "./ask";
import { connect, disconnect, onDoubt } from "./live";
import { currentRoute, go, href } from "./route";
import { Store } from "./store";

/** Session is who sits here: undefined is not known yet. */
export const session = new Store<UserInfo | undefined>(undefined);
export const unreachable = new Store<boolean>(false);

export async function look(): Promise<void> {
  try {
    const who = await people.whoAmI();
    unreachable.set(false);
    session.set(who);
    if (who.loggedIn) connect();
    else disconnect();
  } catch {
    if (session.get() === undefined) unreachable.set(true);
  }
}

onDoubt(() => void look());
onSignedOut(() => {
  disconnect();
  session.set({ loggedIn: false });
});

export async function signIn(username: string, password: string): Promise<void> {
  await people.signIn(username, password);
  clearAnswers();
  await look();
}

export async function signOut(): Promise<void> {
  try {
    await people.signOut();
  } finally {
    disconnect();
    clearAnswers();
    session.set({ loggedIn: false });
    go(href("login"));
  }
}

/** afterSignIn is where somebody wanted to go who had to sign in first. */
export function afterSignIn(): string {
  const { path, params } = currentRoute();
  if (path !== "login") return location.pathname + location.search;
  const to = params.get("to");
  return href(to && /^[\w./?=&%-]+$/.test(to) && !to.startsWith("/") ? to : "applications");
}
