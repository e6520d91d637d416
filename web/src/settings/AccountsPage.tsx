import * as people from "../api/people";
import type { Account } from "../api/people";
import { Answered } from "../parts/Answered";
import { Page } from "../parts/Page";
import { Notice } from "../parts/States";
import { useAsk } from "../state/ask";
import { session } from "../state/session";
import { useStore } from "../state/store";
import { AccountPanel } from "./AccountPanel";
import { underSettings } from "./frame";

/** AccountsPage is the local accounts that somebody may see, with their tokens. */
export function AccountsPage() {
  const answer = useAsk("accounts", people.accounts);
  const who = useStore(session);
  return (
    <Page
      title="Accounts and tokens"
      above={underSettings}
      lead={
        <>
          Local accounts are keys <code>accounts.NAME</code> of <code>argocd-cm</code>: <code>login</code> lets them sign in, <code>apiKey</code> lets them have tokens.
        </>
      }
    >
      <Answered answer={answer} what="the accounts">
        {(list: Account[]) =>
          list.length === 0 ? (
            <Notice icon="user" title="There are no local accounts that you may see">
              You may always see your own, if you have one.
            </Notice>
          ) : (
            <div className="columns">
              {list.map((a) => (
                <AccountPanel key={a.name} account={a} own={a.name === who?.username} onChanged={answer.again} />
              ))}
            </div>
          )
        }
      </Answered>
    </Page>
  );
}
