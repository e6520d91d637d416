import { useEffect, useRef, useState, type FormEvent } from "react";
import { ApiError, home } from "../api/client";
import * as people from "../api/people";
import { Button } from "../parts/Button";
import { Icon } from "../parts/Icon";
import { Logo } from "./Logo";
import { useAsk } from "../state/ask";
import { afterSignIn, signIn } from "../state/session";
import { ThemeButton } from "./ThemeButton";

/** Login asks who somebody is: by a local account, or elsewhere where the installation says so. */
export function Login() {
  const { data: settings } = useAsk("settings", people.settings);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const name = useRef<HTMLInputElement>(null);
  const password = useRef<HTMLInputElement>(null);
  const local = !settings?.userLoginsDisabled;
  useEffect(() => {
    document.title = "Sign in · Towline";
    name.current?.focus();
  }, [local]);
  const submit = async (e: FormEvent) => {
    e.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      await signIn(name.current?.value ?? "", password.current?.value ?? "");
    } catch (error) {
      setProblem(wrong(error));
      password.current?.select();
    } finally {
      setBusy(false);
    }
  };
  const elsewhere = settings?.oidcConfig?.name ?? (settings?.oidcConfig || settings?.dexConfig ? "SSO" : undefined);
  const sso = `${home}auth/login?return_url=${encodeURIComponent(new URL(afterSignIn(), location.href).href)}`;
  return (
    <main className="login">
      <div className="login-theme">
        <ThemeButton />
      </div>
      <section className="login-card" aria-labelledby="login-title">
        <Logo size={44} />
        <h1 id="login-title">Sign in to Towline</h1>
        <p className="soft">What Git says, what the clusters have, and what lies between.</p>
        {elsewhere && (
          <a className="button main wide" href={sso}>
            Sign in with {elsewhere}
          </a>
        )}
        {elsewhere && local && <div className="or">or with a local account</div>}
        {local && (
          <form onSubmit={(e) => void submit(e)}>
            <label>
              Name
              <input ref={name} name="username" autoComplete="username" autoCapitalize="none" spellCheck={false} required />
            </label>
            <label>
              Password
              <input ref={password} name="password" type="password" autoComplete="current-password" required />
            </label>
            <p className="login-problem" role="alert">
              {problem && (
                <>
                  <Icon name="degraded" /> {problem}
                </>
              )}
            </p>
            <Button type="submit" kind={elsewhere ? "plain" : "main"} className="wide" busy={busy}>
              Sign in
            </Button>
          </form>
        )}
      </section>
    </main>
  );
}

function wrong(error: unknown): string {
  if (!(error instanceof ApiError)) return String(error);
  if (error.offline) return "The server does not answer. Try again in a moment.";
  if (error.status === 401) return "The name or the password is not right.";
  return error.message;
}
