import type { Name } from "../api/applications";
import { shortRevision } from "../model/status";
import { Ago } from "../parts/Ago";
import { Copy } from "../parts/Copy";
import { Icon } from "../parts/Icon";
import { useCommit } from "../state/application";

/** Revision is a revision with what its commit says. */
export function Revision({ name, revision }: { name: Name; revision: string }) {
  const commit = useCommit(name, revision);
  const author = commit?.author?.replace(/\s*<.*>$/, "");
  return (
    <>
      <span className="line">
        <span className="mono revision" title={revision}>
          <Icon name="commit" size={14} /> {shortRevision(revision)}
        </span>
        <Copy text={revision} label="Copy the revision" />
        {commit?.tags?.map((t) => (
          <span key={t} className="tag">
            {t}
          </span>
        ))}
      </span>
      {commit && (
        <span className="soft line" title={commit.message}>
          {commit.message?.split("\n")[0]} · {author}, <Ago at={commit.date} />
        </span>
      )}
    </>
  );
}
