import { useState } from "react";
import * as api from "../api/repositories";
import type { Credentials, Repository } from "../api/repositories";
import { Answered } from "../parts/Answered";
import { Button } from "../parts/Button";
import { Confirm } from "../parts/Confirm";
import { Filter, fitting } from "../parts/Filter";
import { Grid } from "../parts/Grid";
import { Link } from "../parts/Link";
import { Page, Section } from "../parts/Page";
import { Notice } from "../parts/States";
import { Badge } from "../parts/Status";
import { href, useRoute } from "../state/route";
import { topicChanged, useTopic } from "../state/topic";
import { AddRepository } from "./AddRepository";
import { underSettings } from "./frame";

/** Tried is what came of testing a connection: it runs, it worked, or what went wrong. */
type Tried = "runs" | "works" | { problem: string };

/** RepositoriesPage is what content comes from, with a way to find out whether it can be read. */
export function RepositoriesPage() {
  const answer = useTopic("repositories", "list", api.list);
  const creds = useTopic("repositories", "creds", api.credentials);
  const [adding, setAdding] = useState(false);
  return (
    <Page
      title="Repositories"
      above={underSettings}
      lead="A repository that anybody may read needs no entry. An entry holds a login, a proxy, or a certificate."
      actions={
        <Button kind="main" icon="plus" onClick={() => setAdding(true)}>
          Add a repository …
        </Button>
      }
    >
      <Answered answer={answer} what="the repositories">
        {(list) =>
          list.length === 0 ? (
            <Notice icon="branch" title="No repository is registered">
              Those that anybody may read work without.
            </Notice>
          ) : (
            <Registered list={list} />
          )
        }
      </Answered>
      {creds.data && creds.data.length > 0 && <Templates list={creds.data} />}
      {adding && <AddRepository onClose={() => setAdding(false)} />}
    </Page>
  );
}

const nameOf = (r: Repository) => `${r.project ?? ""} ${r.repo}`;

function Registered({ list }: { list: readonly Repository[] }) {
  const text = useRoute().params.get("search") ?? "";
  const [tried, setTried] = useState<Readonly<Record<string, Tried>>>({});
  const [removing, setRemoving] = useState<Repository | undefined>(undefined);
  const test = async (r: Repository) => {
    const put = (t: Tried) => setTried((all) => ({ ...all, [nameOf(r)]: t }));
    put("runs");
    try {
      await api.test({ repo: r.repo, type: r.type ?? "git", ...(r.name ? { name: r.name } : {}), ...(r.project ? { project: r.project } : {}) });
      put("works");
    } catch (error) {
      put({ problem: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <>
      <Filter label="Search repositories" />
      <Grid
        label="Repositories"
        items={fitting(list, text, (r) => `${r.repo} ${r.name ?? ""} ${r.project ?? ""}`)}
        keyOf={nameOf}
        columns={[
          {
            title: "Repository",
            cell: (r) => (
              <span className="two">
                <strong>{r.repo}</strong>
                {r.name && <span className="soft">{r.name}</span>}
              </span>
            ),
          },
          { title: "Kind", minor: true, cell: (r) => (r.enableOCI ? "oci" : (r.type ?? "git")) },
          { title: "Project", minor: true, cell: (r) => r.project ?? <span className="soft">all</span> },
          { title: "Connection", cell: (r) => <State tried={tried[nameOf(r)]} /> },
          {
            title: "",
            end: true,
            cell: (r) => (
              <span className="doing">
                <Button icon="refresh" busy={tried[nameOf(r)] === "runs"} onClick={() => void test(r)}>
                  Test
                </Button>
                <Link className="button plain wide-only" to={href("applications", { search: r.repo.replace(/\.git$/, "").split("/").slice(-1)[0] ?? "" })}>
                  Applications
                </Link>
                <Button icon="trash" label={`Remove ${r.repo}`} onClick={() => setRemoving(r)} />
              </span>
            ),
          },
        ]}
      />
      {removing && (
        <Confirm title="Remove the repository" word="Remove" done="It is off the list." run={() => api.remove(removing)} onClose={() => setRemoving(undefined)} onDone={() => topicChanged("repositories")}>
          <p>
            <strong>{removing.repo}</strong> and its login are forgotten. Applications that use it fail if it cannot be read without.
          </p>
        </Confirm>
      )}
    </>
  );
}

function State({ tried }: { tried: Tried | undefined }) {
  if (tried === undefined || tried === "runs") return <span className="soft">{tried ? "Signing in …" : "not tested"}</span>;
  if (tried === "works") return <Badge tone="good" icon="healthy">Works</Badge>;
  return (
    <span className="two">
      <Badge tone="bad" icon="degraded">
        Fails
      </Badge>
      <span className="soft">{tried.problem}</span>
    </span>
  );
}

function Templates({ list }: { list: readonly Credentials[] }) {
  const [removing, setRemoving] = useState<Credentials | undefined>(undefined);
  return (
    <Section title="Logins for many repositories" count={list.length}>
      <Grid
        label="Logins for many repositories"
        items={list}
        keyOf={(c) => c.url}
        columns={[
          { title: "Everything below", cell: (c) => <strong>{c.url}</strong> },
          { title: "Kind", minor: true, cell: (c) => c.type ?? "git" },
          { title: "", end: true, cell: (c) => <Button kind="bare" icon="trash" label={`Remove the login for ${c.url}`} onClick={() => setRemoving(c)} /> },
        ]}
      />
      {removing && (
        <Confirm title="Remove the login" word="Remove" done="It is forgotten." run={() => api.removeCredentials(removing)} onClose={() => setRemoving(undefined)} onDone={() => topicChanged("repositories")}>
          <p>Repositories below {removing.url} have no login any more, unless they have one of their own.</p>
        </Confirm>
      )}
    </Section>
  );
}
