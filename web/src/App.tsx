import { useEffect } from "react";
import { ApplicationPage } from "./application/ApplicationPage";
import { FleetPage } from "./fleet/FleetPage";
import { Loading, Notice } from "./parts/States";
import { Button } from "./parts/Button";
import { Link } from "./parts/Link";
import { Login } from "./shell/Login";
import { Shell } from "./shell/Shell";
import { go, href, useRoute } from "./state/route";
import { afterSignIn, look, session, unreachable } from "./state/session";
import { useStore } from "./state/store";

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
      <View path={path} />
    </Shell>
  );
}

function View({ path }: { path: string }) {
  const [area, first, second, ...rest] = path.split("/").map(decodeURIComponent);
  if (path === "" || path === "applications" || path === "login") return <FleetPage />;
  if (area === "applications" && first && rest.length === 0) {
    const name = second ? { namespace: first, name: second } : { namespace: "", name: first };
    return <ApplicationPage key={path} name={name} />;
  }
  return (
    <main className="page">
      <Notice icon="unknown" title="There is no such page" action={<Link className="button plain" to={href("applications")}>To the applications</Link>}>
        This version shows applications. Projects, clusters, repositories and accounts are reached by the command line and the API.
      </Notice>
    </main>
  );
}
