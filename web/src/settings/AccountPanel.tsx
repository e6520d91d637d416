import { useState } from "react";
import * as people from "../api/people";
import type { Account, Token } from "../api/people";
import { Ago } from "../parts/Ago";
import { Button } from "../parts/Button";
import { Confirm } from "../parts/Confirm";
import { Grid } from "../parts/Grid";
import { Section } from "../parts/Page";
import { Shown } from "../parts/Shown";
import { Badge } from "../parts/Status";
import { TokenDialog } from "../parts/TokenDialog";
import { PasswordDialog } from "./PasswordDialog";

const iso = (seconds: string) => new Date(Number(seconds) * 1000).toISOString();

/** AccountPanel is one account: what it may be used for, and its tokens. */
export function AccountPanel({ account: a, own, onChanged }: { account: Account; own: boolean; onChanged: () => void }) {
  const [making, setMaking] = useState(false);
  const [token, setToken] = useState("");
  const [dropping, setDropping] = useState<Token | undefined>(undefined);
  const [password, setPassword] = useState(false);
  const keys = a.capabilities.includes("apiKey");
  return (
    <Section
      title={a.name}
      actions={
        <>
          {a.capabilities.includes("login") && <Button onClick={() => setPassword(true)}>Password …</Button>}
          {keys && (
            <Button icon="plus" onClick={() => setMaking(true)}>
              Token …
            </Button>
          )}
        </>
      }
    >
      <p className="badges">
        {a.enabled ? (
          <Badge tone="good" icon="healthy" quiet>
            On
          </Badge>
        ) : (
          <Badge tone="none" icon="minus">
            Off
          </Badge>
        )}
        {own && <span className="tag">you</span>}
        <span className="soft">{a.capabilities.map((c) => (c === "apiKey" ? "may have tokens" : c === "login" ? "may sign in" : c)).join(", ")}</span>
      </p>
      {a.tokens.length > 0 ? (
        <Grid
          label={`Tokens of ${a.name}`}
          items={a.tokens}
          keyOf={(t) => t.id}
          columns={[
            { title: "Token", cell: (t) => <span className="mono">{t.id}</span> },
            { title: "Made", cell: (t) => <Ago at={iso(t.issuedAt)} /> },
            { title: "Ends", cell: (t) => (t.expiresAt ? <Ago at={iso(t.expiresAt)} /> : "never") },
            { title: "", end: true, cell: (t) => <Button kind="bare" icon="trash" label={`Take ${t.id} away`} onClick={() => setDropping(t)} /> },
          ]}
        />
      ) : (
        keys && <p className="soft">It has no tokens.</p>
      )}
      {making && <TokenDialog named of={a.name} make={(id, seconds) => people.makeToken(a.name, id, seconds)} onClose={() => setMaking(false)} onMade={(t) => (setToken(t), onChanged())} />}
      {token && <Shown title={`Token of ${a.name}`} text={token} onClose={() => setToken("")} />}
      {dropping && (
        <Confirm title="Take the token away" word="Take away" done="The token is good for nothing now." run={() => people.dropToken(a.name, dropping.id)} onClose={() => setDropping(undefined)} onDone={onChanged}>
          <p>Whoever uses {dropping.id} is turned away at once.</p>
        </Confirm>
      )}
      {password && <PasswordDialog name={a.name} own={own} onClose={() => setPassword(false)} />}
    </Section>
  );
}
