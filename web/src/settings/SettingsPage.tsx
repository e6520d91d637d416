import * as people from "../api/people";
import { Answered } from "../parts/Answered";
import { Facts, Items } from "../parts/Facts";
import { Icon, type IconName } from "../parts/Icon";
import { Link } from "../parts/Link";
import { Page, Section } from "../parts/Page";
import { useAsk } from "../state/ask";
import { href } from "../state/route";

const rooms: { to: string; icon: IconName; title: string; about: string }[] = [
  { to: "settings/clusters", icon: "monitor", title: "Clusters", about: "Where applications go" },
  { to: "settings/repos", icon: "branch", title: "Repositories", about: "Where they come from, and the logins for it" },
  { to: "projects", icon: "box", title: "Projects", about: "What may go where, when, and by whom" },
  { to: "settings/accounts", icon: "user", title: "Accounts and tokens", about: "Local accounts, and what programs sign in with" },
  { to: "settings/trust", icon: "lock", title: "Certificates and keys", about: "Whom we trust when we read" },
  { to: "settings/why", icon: "unknown", title: "Why can I not …", about: "Which line of the rules says so" },
];

/** SettingsPage leads to what can be set, and says how this installation is set up. */
export function SettingsPage() {
  const settings = useAsk("settings", people.settings);
  const version = useAsk("version", people.version);
  const plugins = useAsk("plugins", people.plugins).data ?? [];
  return (
    <Page title="Settings">
      <div className="cards">
        {rooms.map((r) => (
          <Link key={r.to} className="card" to={href(r.to)}>
            <Icon name={r.icon} size={20} />
            <div>
              <strong>{r.title}</strong>
              <span className="soft">{r.about}</span>
            </div>
          </Link>
        ))}
      </div>
      <div className="columns">
        <Section title="This installation">
          <Answered answer={settings} what="the settings">
            {(s) => (
              <Facts
                of={[
                  ["Address", s.url],
                  ["Namespace", s.controllerNamespace],
                  ["Name among others", s.installationID],
                  ["Objects are marked by", s.trackingMethod],
                  ["Label", s.appLabelKey && <span className="mono">{s.appLabelKey}</span>],
                  ["Applications elsewhere", s.appsInAnyNamespaceEnabled ? "in other namespaces too" : "in its own namespace alone"],
                  ["Acts as", s.impersonationEnabled ? "the service account that a project names" : "itself"],
                  ["kustomize is run with", s.kustomizeOptions?.buildOptions && <span className="mono">{s.kustomizeOptions.buildOptions}</span>],
                  ["Plugins", plugins.length > 0 && <Items of={plugins.map((p) => p.name)} />],
                ]}
              />
            )}
          </Answered>
          <p className="soft">
            It is set by the config maps <code>argocd-cm</code>, <code>argocd-rbac-cm</code> and <code>argocd-cmd-params-cm</code>, best from Git. A change holds at once.
          </p>
        </Section>
        <div className="stack">
          <Section title="Signing in">
            <Answered answer={settings} what="the settings">
              {(s) => (
                <Facts
                  of={[
                    ["Local accounts", s.userLoginsDisabled ? "are turned off" : "may sign in"],
                    ["Elsewhere", s.oidcConfig?.name ?? (s.dexConfig ? (s.dexConfig.connectors ?? []).map((c) => c.name).join(", ") || "Dex" : "not set up")],
                    ["Provider", s.oidcConfig?.issuer],
                  ]}
                />
              )}
            </Answered>
          </Section>
          <Section title="Version">
            <Answered answer={version} what="the version">
              {(v) => <Facts of={Object.entries(v).map(([k, value]) => [worded(k), value && <span className="mono">{String(value)}</span>] as const)} />}
            </Answered>
          </Section>
        </div>
      </div>
    </Page>
  );
}

/** worded is a name of the API as people write it: GitTreeState is "Git tree state". */
const worded = (name: string) => name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
