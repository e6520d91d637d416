import type { ReactNode } from "react";
import * as people from "../api/people";
import { Button } from "../parts/Button";
import { Icon } from "../parts/Icon";
import { Link } from "../parts/Link";
import { Menu } from "../parts/Menu";
import { Toasts } from "../parts/Toasts";
import { useAsk } from "../state/ask";
import { helpOpen, paletteOpen } from "../state/commands";
import { useKeys } from "../state/keys";
import { link } from "../state/live";
import { go, href, useRoute } from "../state/route";
import { session, signOut } from "../state/session";
import { useStore } from "../state/store";
import { Help } from "./Help";
import { Logo } from "./Logo";
import { Palette } from "./Palette";
import { ThemeButton } from "./ThemeButton";

const areas = [
  { to: "applications", title: "Applications", key: "a" },
  { to: "applicationsets", title: "ApplicationSets", key: "s" },
  { to: "projects", title: "Projects", key: "p" },
  { to: "settings/clusters", title: "Clusters", key: "c" },
  { to: "settings/repos", title: "Repositories", key: "r" },
  { to: "settings", title: "Settings", key: "e" },
] as const;

/** current is the area that a path is in: the one that says most of it. */
function current(path: string): string {
  const fits = areas.filter((a) => path === a.to || path.startsWith(`${a.to}/`));
  return fits.reduce((best, a) => (a.to.length > best.length ? a.to : best), "");
}

/** Shell is what is around every page. */
export function Shell({ children }: { children: ReactNode }) {
  const palette = useStore(paletteOpen);
  const help = useStore(helpOpen);
  const { path } = useRoute();
  useKeys({
    "mod+k": () => paletteOpen.set(true),
    "?": () => helpOpen.set(true),
    ...Object.fromEntries(areas.map((a) => [`g ${a.key}`, () => go(href(a.to))])),
    "g w": () => go(href("settings/why")),
    "/": () => {
      const field = document.querySelector<HTMLInputElement>("[data-search]");
      if (field) field.focus();
      else paletteOpen.set(true);
    },
  });
  return (
    <>
      <a className="skip" href="#content">
        To the content
      </a>
      <header className="top">
        <div className="nav-menu">
          <Menu label="Menu" icon="table">
            <Areas path={path} />
          </Menu>
        </div>
        <Link className="brand" to={href("applications")} aria-label="Towline: all applications">
          <Logo />
          <span>Towline</span>
        </Link>
        <nav aria-label="Main">
          <Areas path={path} />
        </nav>
        <button type="button" className="finder" aria-label="Find or do anything" onClick={() => paletteOpen.set(true)}>
          <Icon name="search" />
          <span>Find or do anything</span>
          <kbd>{/Mac/.test(navigator.userAgent) ? "⌘" : "Ctrl"} K</kbd>
        </button>
        <Connection />
        <ThemeButton />
        <Button kind="bare" icon="keyboard" label="Keyboard shortcuts" className="wide-only" onClick={() => helpOpen.set(true)} />
        <Person />
      </header>
      <Banner />
      <div id="content" tabIndex={-1}>
        {children}
      </div>
      {palette && <Palette />}
      {help && <Help />}
      <Toasts />
    </>
  );
}

function Areas({ path }: { path: string }) {
  const at = current(path);
  return areas.map((a) => (
    <Link key={a.to} to={href(a.to)} aria-current={a.to === at ? "page" : undefined}>
      {a.title}
    </Link>
  ));
}

function Person() {
  const who = useStore(session);
  return (
    <Menu label={`Signed in as ${who?.username ?? "somebody"}`} icon="user" text={<span className="person">{who?.username}</span>}>
      <p>
        <strong>{who?.username}</strong>
        {who?.groups && who.groups.length > 0 && <span className="soft">{who.groups.join(", ")}</span>}
      </p>
      <Link className="button bare" to={href("user-info")}>
        <Icon name="user" /> Your account
      </Link>
      <Link className="button bare" to={href("settings/why")}>
        <Icon name="unknown" /> Why can I not …
      </Link>
      <Button kind="bare" icon="back" onClick={() => void signOut()}>
        Sign out
      </Button>
    </Menu>
  );
}

/** Connection says whether what is shown follows what happens. */
function Connection() {
  const state = useStore(link);
  if (state === "lost") {
    return (
      <span className="badge tone-warn" role="status">
        <Icon name="offline" size={14} /> <span className="small-aside">Connecting again …</span>
      </span>
    );
  }
  return (
    <span className="live" title={state === "open" ? "Changes are shown as they happen" : "Connecting"}>
      <span className={state === "open" ? "pulse on" : "pulse"} />
      <span className="small-aside">{state === "open" ? "Live" : "Connecting"}</span>
    </span>
  );
}

/** Banner is what whoever looks after the installation has to say. */
function Banner() {
  const { data } = useAsk("settings", people.settings);
  if (!data?.uiBannerContent) return null;
  return (
    <div className="strip tone-busy" role="note">
      <Icon name="events" />
      {data.uiBannerURL ? <a href={data.uiBannerURL}>{data.uiBannerContent}</a> : <span>{data.uiBannerContent}</span>}
    </div>
  );
}
