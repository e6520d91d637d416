import { useState } from "react";
import * as api from "../api/clusters";
import type { Cluster, Connection } from "../api/clusters";
import type { Tone } from "../model/status";
import { Ago } from "../parts/Ago";
import { Answered } from "../parts/Answered";
import { Button } from "../parts/Button";
import { Confirm } from "../parts/Confirm";
import { Dialog } from "../parts/Dialog";
import { Facts, Items } from "../parts/Facts";
import { Filter, fitting } from "../parts/Filter";
import { Grid } from "../parts/Grid";
import type { IconName } from "../parts/Icon";
import { Link } from "../parts/Link";
import { Page } from "../parts/Page";
import { Notice } from "../parts/States";
import { Badge } from "../parts/Status";
import { href, setParams, useRoute } from "../state/route";
import { attempt } from "../state/toast";
import { topicChanged, useTopic } from "../state/topic";
import { AddCluster } from "./AddCluster";
import { underSettings } from "./frame";

const tone: Record<Connection["status"], readonly [Tone, IconName, string]> = {
  Successful: ["good", "healthy", "Connected"],
  Failed: ["bad", "degraded", "Failed"],
  Unknown: ["none", "unknown", "Not in use"],
};

export function ConnectionBadge({ state }: { state: Connection }) {
  const [t, icon, word] = tone[state.status] ?? tone.Unknown;
  return (
    <Badge tone={t} icon={icon} quiet={state.status !== "Failed"}>
      {word}
    </Badge>
  );
}

/** ClustersPage is all clusters that applications go to: whether they are reached, and how much is known of them. */
export function ClustersPage() {
  const answer = useTopic("clusters", "list", () => api.list());
  const { params } = useRoute();
  const [adding, setAdding] = useState(false);
  const opened = answer.data?.find((c) => c.server === params.get("cluster"));
  return (
    <Page
      title="Clusters"
      above={underSettings}
      lead="A cluster that an application goes to is watched: what changes there is known at once, and nothing is asked again and again."
      actions={
        <>
          <Button icon="refresh" onClick={answer.again}>
            Look again
          </Button>
          <Button kind="main" icon="plus" onClick={() => setAdding(true)}>
            Add a cluster …
          </Button>
        </>
      }
    >
      <Answered answer={answer} what="the clusters">
        {(clusters) =>
          clusters.length === 0 ? (
            <Notice icon="monitor" title="There are no clusters that you may see">
              Whoever looks after this installation can let you see some.
            </Notice>
          ) : (
            <>
              <Filter label="Search clusters" />
              <Grid
                label="Clusters"
                items={fitting(clusters, params.get("search") ?? "", (c) => `${c.name} ${c.server} ${c.project ?? ""}`)}
                keyOf={(c) => c.server}
                columns={[
                  {
                    title: "Name",
                    cell: (c) => (
                      <span className="two">
                        <button type="button" className="plainlink" onClick={() => setParams({ cluster: c.server })}>
                          {c.name}
                        </button>
                        <span className="soft">{c.server}</span>
                      </span>
                    ),
                  },
                  { title: "Connection", cell: (c) => <ConnectionBadge state={c.connectionState} /> },
                  { title: "Version", minor: true, cell: (c) => c.serverVersion || <span className="soft">–</span> },
                  { title: "Applications", minor: true, end: true, cell: (c) => c.info.applicationsCount.toLocaleString() },
                  { title: "Objects known", minor: true, end: true, cell: (c) => (c.info.cacheInfo.resourcesCount ?? 0).toLocaleString() },
                  { title: "Read first", minor: true, cell: (c) => <Ago at={c.info.cacheInfo.lastCacheSyncTime} /> },
                ]}
              />
            </>
          )
        }
      </Answered>
      {opened && <Details cluster={opened} onClose={() => setParams({ cluster: undefined })} />}
      {adding && <AddCluster onClose={() => setAdding(false)} />}
    </Page>
  );
}

function Details({ cluster: c, onClose }: { cluster: Cluster; onClose: () => void }) {
  const [removing, setRemoving] = useState(false);
  const anew = () =>
    void attempt(`${c.name} is read anew.`, async () => {
      await api.readAnew(c.server);
      topicChanged("clusters");
      return true;
    });
  return (
    <Dialog
      title={c.name}
      size="side"
      onClose={onClose}
      footer={
        <>
          <Button icon="refresh" onClick={anew}>
            Read anew
          </Button>
          <Button kind="danger" icon="trash" onClick={() => setRemoving(true)}>
            Remove …
          </Button>
        </>
      }
    >
      <p className="badges">
        <ConnectionBadge state={c.connectionState} />
      </p>
      {c.connectionState.status === "Failed" && <p className="problem">{c.connectionState.message}</p>}
      <Facts
        of={[
          ["Server", <span className="mono">{c.server}</span>],
          ["Connection", c.connectionState.status === "Unknown" && c.connectionState.message],
          ["Version", c.serverVersion],
          ["Applications", <Link to={href("applications", { cluster: c.name })}>{c.info.applicationsCount}</Link>],
          ["Objects known", c.info.cacheInfo.resourcesCount?.toLocaleString()],
          ["Kinds watched", c.info.cacheInfo.apisCount],
          ["Read first", c.info.cacheInfo.lastCacheSyncTime && <Ago at={c.info.cacheInfo.lastCacheSyncTime} />],
          ["Project", c.project],
          ["Namespaces", c.namespaces && c.namespaces.length > 0 ? <Items of={c.namespaces} /> : "all"],
          ["Certificate", c.config?.tlsClientConfig?.insecure ? "is not checked" : "is checked"],
        ]}
      />
      {removing && (
        <Confirm
          title={`Remove ${c.name}`}
          word="Remove"
          typed={c.name}
          done={`${c.name} is off the list.`}
          run={() => api.remove(c.server)}
          onClose={() => setRemoving(false)}
          onDone={() => {
            topicChanged("clusters");
            onClose();
          }}
        >
          <p>
            Nothing is taken out of the cluster. The {c.info.applicationsCount} applications that go there cannot be synced any more.
          </p>
        </Confirm>
      )}
    </Dialog>
  );
}
