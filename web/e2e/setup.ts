import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** Stage is where everything is: what test/ui/stage says when it stands. */
export interface Stage {
  url: string;
  username: string;
  password: string;
  kubectl: string;
  kubeconfig: string;
  repository: string;
  log: string;
  server: string;
  sso: boolean;
}

/** setup starts a control plane, a git server and towline, and ends them after the last test. */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env["STAGE"]) return undefined;
  const binary = process.env["TOWLINE"];
  const program = process.env["STAGE_PROGRAM"];
  const [command, args] = program ? [program, [] as string[]] : ["go", ["run", "./test/ui/stage"]];
  const child = spawn(command, [...args, ...(binary ? ["-towline", binary] : [])], { cwd: "..", stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<never>((_, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the stage ended with ${code}`)));
  });
  ended.catch(() => {});
  const line = new Promise<string>((resolve) => createInterface({ input: child.stdout }).once("line", resolve));
  process.env["STAGE"] = await Promise.race([line, ended]);
  return async () => {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.stdin.end();
    await gone;
  };
}
