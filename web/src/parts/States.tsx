import type { ReactNode } from "react";
import type { ApiError } from "../api/client";
import { Button } from "./Button";
import { Icon, type IconName } from "./Icon";
import { Link } from "./Link";
import { href } from "../state/route";

export function Notice({ icon, title, children, action }: { icon: IconName; title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="notice">
      <Icon name={icon} size={28} />
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action}
    </div>
  );
}

/** Loading is announced, and shown only after a moment: what comes at once does not flicker. */
export function Loading({ what }: { what: string }) {
  return (
    <div className="loading" role="status">
      <Icon name="progressing" size={20} spin /> Reading {what} …
    </div>
  );
}

/** Failure says what went wrong and what to do about it. */
export function Failure({ error, what, again }: { error: ApiError; what: string; again?: () => void }) {
  const retry = again && (
    <Button icon="refresh" onClick={again}>
      Try again
    </Button>
  );
  if (error.offline) {
    return (
      <Notice icon="offline" title="The server does not answer" action={retry}>
        Nothing is known of {what} now. This goes on by itself once the server answers again.
      </Notice>
    );
  }
  if (error.status === 403) {
    return (
      <Notice icon="lock" title="You may not see this, or it is not there" action={retry}>
        The two are told apart only to those who may see {what}. Whoever looks after this installation can give you the right in{" "}
        <code>argocd-rbac-cm</code>; <Link to={href("settings/why")}>ask which line says so</Link>.
      </Notice>
    );
  }
  if (error.status === 404) {
    return (
      <Notice icon="unknown" title="It is not there" action={retry}>
        {error.message}
      </Notice>
    );
  }
  return (
    <Notice icon="degraded" title={`Reading ${what} failed`} action={retry}>
      {error.message}
    </Notice>
  );
}

/** Stale says above what is shown that it is not what is now. */
export function Stale({ error, again }: { error: ApiError; again: () => void }) {
  return (
    <div className="strip tone-warn" role="status">
      <Icon name="offline" />
      <span>This may be out of date: {error.message}</span>
      <Button kind="bare" onClick={again}>
        Try again
      </Button>
    </div>
  );
}
