import { useState } from "react";
import * as api from "../api/projects";
import { Answered } from "../parts/Answered";
import { Button } from "../parts/Button";
import { Filter, fitting } from "../parts/Filter";
import { Grid } from "../parts/Grid";
import { Link } from "../parts/Link";
import { Page } from "../parts/Page";
import { Notice } from "../parts/States";
import { href, useRoute } from "../state/route";
import { useTopic } from "../state/topic";
import { ProjectEditor } from "./ProjectEditor";

export const projectHref = (name: string, params?: Record<string, string>) => href(`projects/${encodeURIComponent(name)}`, params);

const few = (list: readonly string[] | undefined) => {
  if (!list || list.length === 0) return <span className="soft">none</span>;
  const [first, ...rest] = list;
  return (
    <span className="mono" title={list.join("\n")}>
      {first === "*" ? "any" : first}
      {rest.length > 0 && ` and ${rest.length} more`}
    </span>
  );
};

/** ProjectsPage is all projects that somebody may see: what may come from where, and go where. */
export function ProjectsPage() {
  const answer = useTopic("projects", "list", api.list);
  const text = useRoute().params.get("search") ?? "";
  const [making, setMaking] = useState(false);
  return (
    <Page
      title="Projects"
      lead="A project says what its applications may use, where they may go, when, and who may do what with them."
      actions={
        <Button kind="main" icon="plus" onClick={() => setMaking(true)}>
          New project …
        </Button>
      }
    >
      <Answered answer={answer} what="the projects">
        {(projects) =>
          projects.length === 0 ? (
            <Notice icon="box" title="There are no projects that you may see">
              Whoever looks after this installation can let you see some.
            </Notice>
          ) : (
            <>
              <Filter label="Search projects" />
              <Grid
                label="Projects"
                items={fitting(projects, text, (p) => `${p.metadata.name} ${p.spec.description ?? ""}`)}
                keyOf={(p) => p.metadata.name}
                columns={[
                  { title: "Name", cell: (p) => <Link to={projectHref(p.metadata.name)}>{p.metadata.name}</Link> },
                  { title: "What for", minor: true, cell: (p) => p.spec.description ?? "" },
                  { title: "From", minor: true, cell: (p) => few(p.spec.sourceRepos) },
                  { title: "To", cell: (p) => few(p.spec.destinations?.map((d) => (d.namespace === "*" && (d.server === "*" || d.name === "*") ? "*" : `${d.namespace ?? "*"} on ${d.name ?? d.server ?? "*"}`))) },
                  { title: "Roles", end: true, cell: (p) => p.spec.roles?.length ?? 0 },
                  { title: "Windows", end: true, cell: (p) => p.spec.syncWindows?.length ?? 0 },
                ]}
              />
            </>
          )
        }
      </Answered>
      {making && <ProjectEditor onClose={() => setMaking(false)} />}
    </Page>
  );
}
