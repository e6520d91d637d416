import { useState } from "react";
import * as api from "../api/projects";
import type { Project, Role, RoleToken } from "../api/projects";
import { Ago } from "../parts/Ago";
import { Button } from "../parts/Button";
import { Confirm } from "../parts/Confirm";
import { Items } from "../parts/Facts";
import { Grid } from "../parts/Grid";
import { Section } from "../parts/Page";
import { Shown } from "../parts/Shown";
import { Notice } from "../parts/States";
import { TokenDialog } from "../parts/TokenDialog";
import { topicChanged } from "../state/topic";

const iso = (seconds: number) => new Date(seconds * 1000).toISOString();

/** Roles are who may do what in a project, and the tokens that programs have for it. */
export function Roles({ project }: { project: Project }) {
  const roles = project.spec.roles ?? [];
  if (roles.length === 0) {
    return (
      <Notice icon="user" title="The project has no roles">
        A role lets people of a group, or a program with a token, do something in this project alone.
      </Notice>
    );
  }
  return (
    <div className="columns">
      {roles.map((r) => (
        <One key={r.name} project={project} role={r} />
      ))}
    </div>
  );
}

function One({ project, role }: { project: Project; role: Role }) {
  const name = project.metadata.name;
  const tokens = project.status?.jwtTokensByRole?.[role.name]?.items ?? [];
  const [making, setMaking] = useState(false);
  const [token, setToken] = useState("");
  const [dropping, setDropping] = useState<RoleToken | undefined>(undefined);
  return (
    <Section
      title={role.name}
      actions={
        <Button icon="plus" onClick={() => setMaking(true)}>
          Token …
        </Button>
      }
    >
      {role.description && <p className="soft">{role.description}</p>}
      <h3>May</h3>
      <Items of={role.policies} none="nothing" />
      <h3>People of</h3>
      <Items of={role.groups} none="no group" />
      {tokens.length > 0 && (
        <Grid
          label={`Tokens of ${role.name}`}
          items={tokens}
          keyOf={(t) => t.id ?? String(t.iat)}
          columns={[
            { title: "Token", cell: (t) => <span className="mono">{t.id ?? t.iat}</span> },
            { title: "Made", cell: (t) => <Ago at={iso(t.iat)} /> },
            { title: "Ends", cell: (t) => (t.exp ? <Ago at={iso(t.exp)} /> : "never") },
            { title: "", end: true, cell: (t) => <Button kind="bare" icon="trash" label="Take it away" onClick={() => setDropping(t)} /> },
          ]}
        />
      )}
      {making && <TokenDialog of={`role ${role.name}`} make={(_, seconds) => api.makeToken(name, role.name, seconds)} onClose={() => setMaking(false)} onMade={(t) => (setToken(t), topicChanged("projects"))} />}
      {token && <Shown title={`Token of ${role.name}`} text={token} onClose={() => setToken("")} />}
      {dropping && (
        <Confirm title="Take the token away" word="Take away" done="The token is good for nothing now." run={() => api.dropToken(name, role.name, dropping)} onClose={() => setDropping(undefined)} onDone={() => topicChanged("projects")}>
          <p>Whoever uses it is turned away at once.</p>
        </Confirm>
      )}
    </Section>
  );
}
