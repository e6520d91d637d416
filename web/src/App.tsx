import { lazy, Suspense, useEffect, useRef, type ReactNode } from "react";
import { ApplicationPage } from "./application/ApplicationPage";
import { FleetPage } from "./fleet/FleetPage";
import { Loading, Notice } from "./parts/States";
import { Button } from "./parts/Button";
import { Link } from "./parts/Link";
import { Broken } from "./shell/Broken";
import { Login } from "./shell/Login";
import { Shell } from "./shell/Shell";
import { go, href, useRoute } from "./state/route";
import { afterSignIn, look, session, unreachable } from "./state/session";
import { useStore } from "./state/store";

// What is not looked at every day comes when it is asked for.
const SetsPage = lazy(async () => ({ default: (await import("./sets/SetsPage")).SetsPage }));
const SetPage = lazy(async () => ({ default: (await import("./sets/SetPage")).SetPage }));
const ProjectsPage = lazy(async () => ({ default: (await import("./projects/ProjectsPage")).ProjectsPage }));
const ProjectPage = lazy(async () => ({ default: (await import("./projects/ProjectPage")).ProjectPage }));
const Settings = lazy(async () => ({ default: (await import("./settings/Rooms")).Rooms }));

/** App shows what the address names, to those who signed in. */
export function App() {
  const who = useStore(session);
  const lost = useStore(unreachable);
  const { path } = useRoute();
  useEffect(() => {
    if (!who?.loggedIn) return;
    if (path === "login") go(afterSignIn(), { replace: true });
    else if (path === "") go(href("applications"), { replace: true });
  }, [who, path]);
  useArrival(path);
  if (!who) {
    return (
      <main className="alone">
        {lost ? (
          <Notice icon="offline" title="The server does not answer" action={<Button icon="refresh" onClick={() => void look()}>Try again</Button>}>
            The pages are here, and nobody who could fill them.
          </Notice>
        ) : (
          <Loading what="who you are" />
        )}
      </main>
    );
  }
  if (!who.loggedIn) return <Login />;
  return (
    <Shell>
      <Broken at={path}>
        <Suspense fallback={<main className="page"><Loading what="the page" /></main>}>
          <View path={path} />
        </Suspense>
      </Broken>
    </Shell>
  );
}

/** useArrival moves the focus to a page that was gone to: the link that led there may be no more, and Tab would begin at the top. */
function useArrival(path: string): void {
  const last = useRef(path);
  useEffect(() => {
    if (last.current === path) return;
    last.current = path;
    const at = document.activeElement;
    if (!at || at === document.body || !at.closest("dialog, .top")) document.getElementById("content")?.focus({ preventScroll: true });
  }, [path]);
}

/** decoded leaves what cannot be read as it is: an address that somebody mistyped is no reason to fail. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function View({ path }: { path: string }): ReactNode {
  const [area, first, second, ...rest] = path.split("/").map(decoded);
  const depth = path === "" ? 0 : path.split("/").length;
  if (path === "" || path === "applications" || path === "login") return <FleetPage />;
  if (area === "applications" && first && rest.length === 0) {
    const name = second ? { namespace: first, name: second } : { namespace: "", name: first };
    return <ApplicationPage key={path} name={name} />;
  }
  if (area === "applicationsets" && depth === 1) return <SetsPage />;
  if (area === "applicationsets" && first && depth <= 3) {
    return <SetPage key={path} namespace={second ? first : ""} name={second ?? first} />;
  }
  // Argo CD has its projects among the settings: links from there go on working.
  const project = area === "projects" ? first : area === "settings" && first === "projects" ? (second ?? "") : undefined;
  if (area === "projects" || project !== undefined) return project ? <ProjectPage key={project} name={project} /> : <ProjectsPage />;
  if (area === "settings" || area === "user-info") return <Settings room={area === "user-info" ? area : (first ?? "")} />;
  return <NoSuchPage />;
}

export function NoSuchPage() {
  return (
    <main className="page">
      <Notice icon="unknown" title="There is no such page" action={<Link className="button plain" to={href("applications")}>To the applications</Link>}>
        The address may be of another version, or mistyped.
      </Notice>
    </main>
  );
}
