import { useState } from "react";
import * as api from "../api/sets";
import type { ApplicationSet } from "../api/sets";
import { generatorWords } from "../model/sets";
import { Answered } from "../parts/Answered";
import { Button } from "../parts/Button";
import { Filter, fitting } from "../parts/Filter";
import { Grid } from "../parts/Grid";
import { Link } from "../parts/Link";
import { Page } from "../parts/Page";
import { Notice } from "../parts/States";
import { HealthBadge } from "../parts/Status";
import { href, useRoute } from "../state/route";
import { useTopic } from "../state/topic";
import { SetEditor } from "./SetEditor";
import { SetState } from "./SetState";

export const setHref = (s: ApplicationSet) => href(`applicationsets/${encodeURIComponent(s.metadata.namespace)}/${encodeURIComponent(s.metadata.name)}`);

/** SetsPage is all ApplicationSets that somebody may see. */
export function SetsPage() {
  const answer = useTopic("applicationsets", "list", api.list);
  const text = useRoute().params.get("search") ?? "";
  const [making, setMaking] = useState(false);
  return (
    <Page
      title="ApplicationSets"
      lead="Each makes applications of one template: for every cluster, folder, pull request or line of a list."
      actions={
        <Button kind="main" icon="plus" onClick={() => setMaking(true)}>
          New set …
        </Button>
      }
    >
      <Answered answer={answer} what="the ApplicationSets">
        {(sets) =>
          sets.length === 0 ? (
            <Notice icon="tiles" title="There are no ApplicationSets">
              Write one here and see what it would make before it does, or commit one for an application of applications to sync.
            </Notice>
          ) : (
            <>
              <Filter label="Search ApplicationSets" />
              <Grid
                label="ApplicationSets"
                items={fitting(sets, text, (s) => `${s.metadata.name} ${s.spec.template?.spec?.project ?? ""}`)}
                keyOf={(s) => `${s.metadata.namespace}/${s.metadata.name}`}
                columns={[
                  { title: "Name", cell: (s) => <Link to={setHref(s)}>{s.metadata.name}</Link> },
                  { title: "State", cell: (s) => <SetState set={s} /> },
                  { title: "Health", minor: true, cell: (s) => (s.status?.health?.status ? <HealthBadge health={s.status.health.status} /> : <span className="soft">–</span>) },
                  { title: "Generators", minor: true, cell: (s) => generatorWords(s.spec.generators).join(", ") },
                  { title: "Project", minor: true, cell: (s) => s.spec.template?.spec?.project ?? "default" },
                  { title: "Applications", end: true, cell: (s) => s.status?.resourcesCount ?? s.status?.resources?.length ?? 0 },
                ]}
              />
            </>
          )
        }
      </Answered>
      {making && <SetEditor onClose={() => setMaking(false)} />}
    </Page>
  );
}
