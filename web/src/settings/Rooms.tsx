import { Link } from "../parts/Link";
import { Notice } from "../parts/States";
import { href } from "../state/route";
import { AccountsPage } from "./AccountsPage";
import { ClustersPage } from "./ClustersPage";
import { RepositoriesPage } from "./RepositoriesPage";
import { SettingsPage } from "./SettingsPage";
import { TrustPage } from "./TrustPage";
import { UserPage } from "./UserPage";
import { WhyPage } from "./WhyPage";

// The names of Argo CD's own pages lead here too.
const rooms: Record<string, () => React.ReactNode> = {
  "": SettingsPage,
  clusters: ClustersPage,
  repos: RepositoriesPage,
  accounts: AccountsPage,
  trust: TrustPage,
  certs: TrustPage,
  gpgkeys: TrustPage,
  why: WhyPage,
  "user-info": UserPage,
};

/** Rooms are the pages of the settings. */
export function Rooms({ room }: { room: string }) {
  const Page = rooms[room];
  if (Page) return <Page />;
  return (
    <main className="page">
      <Notice icon="unknown" title="There is no such page" action={<Link className="button plain" to={href("settings")}>To the settings</Link>}>
        The address may be of another version, or mistyped.
      </Notice>
    </main>
  );
}
