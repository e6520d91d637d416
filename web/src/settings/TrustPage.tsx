import * as api from "../api/repositories";
import { Answered } from "../parts/Answered";
import { Grid } from "../parts/Grid";
import { Page, Section } from "../parts/Page";
import { useTopic } from "../state/topic";
import { underSettings } from "./frame";

/** TrustPage is whom we believe when we read: hosts, authorities, and who signs commits. */
export function TrustPage() {
  const certificates = useTopic("repositories", "certificates", api.certificates);
  const keys = useTopic("repositories", "keys", api.signingKeys);
  return (
    <Page
      title="Certificates and keys"
      above={underSettings}
      lead={
        <>
          They stand in the config maps <code>argocd-ssh-known-hosts-cm</code>, <code>argocd-tls-certs-cm</code> and <code>argocd-gpg-keys-cm</code>, and are added by{" "}
          <code>towline cert</code> and <code>towline gpg</code>.
        </>
      }
    >
      <Section title="Hosts and authorities" count={certificates.data?.length}>
        <Answered answer={certificates} what="the certificates">
          {(list) =>
            list.length === 0 ? (
              <p className="soft">None: SSH hosts are unknown, and certificates are held against what the system trusts.</p>
            ) : (
              <Grid
                label="Hosts and authorities"
                items={list}
                keyOf={(c) => `${c.serverName} ${c.certType} ${c.certSubType ?? ""} ${c.certInfo ?? ""}`}
                columns={[
                  { title: "Host", cell: (c) => <strong>{c.serverName}</strong> },
                  { title: "Kind", cell: (c) => `${c.certType} ${c.certSubType ?? ""}` },
                  { title: "Fingerprint", minor: true, cell: (c) => <span className="mono">{c.certInfo}</span> },
                ]}
              />
            )
          }
        </Answered>
      </Section>
      <Section title="Keys that commits may be signed with" count={keys.data?.length}>
        <Answered answer={keys} what="the keys">
          {(list) =>
            list.length === 0 ? (
              <p className="soft">None.</p>
            ) : (
              <Grid
                label="Keys that commits may be signed with"
                items={list}
                keyOf={(k) => k.keyID}
                columns={[
                  { title: "Key", cell: (k) => <span className="mono">{k.keyID}</span> },
                  { title: "Whose", cell: (k) => k.owner ?? "" },
                  { title: "Kind", minor: true, cell: (k) => k.subType ?? "" },
                ]}
              />
            )
          }
        </Answered>
      </Section>
    </Page>
  );
}
