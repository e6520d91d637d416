import * as people from "../api/people";
import { Facts, Items } from "../parts/Facts";
import { Link } from "../parts/Link";
import { Page, Section } from "../parts/Page";
import { useAsk } from "../state/ask";
import { href } from "../state/route";
import { session } from "../state/session";
import { useStore } from "../state/store";
import { AccountPanel } from "./AccountPanel";

/** UserPage is who sits here. */
export function UserPage() {
  const who = useStore(session);
  const accounts = useAsk("accounts", people.accounts);
  const own = accounts.data?.find((a) => a.name === who?.username);
  return (
    <Page title={who?.username ?? "You"}>
      <div className="columns">
        <Section
          title="Who you are"
          actions={
            <Link className="button plain" to={href("settings/why")}>
              Why can I not …
            </Link>
          }
        >
          <Facts
            of={[
              ["Name", who?.username],
              ["Known by", who?.iss === "argocd" ? "a local account" : who?.iss],
              ["Groups", <Items of={who?.groups} none="none" />],
            ]}
          />
        </Section>
        {own && <AccountPanel account={own} own onChanged={accounts.again} />}
      </div>
    </Page>
  );
}
