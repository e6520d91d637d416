// The one place that speaks HTTP. The session is a cookie that scripts cannot read.

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
    this.name = "ApiError";
  }

  /** offline says that nobody answered. */
  get offline(): boolean {
    return this.status === 0;
  }
}

/** home is where the pages live, with a slash at the end: the server says so in the page. */
export const home = new URL(document.baseURI).pathname.replace(/[^/]*$/, "");

export type Query = Record<string, string | number | boolean | readonly string[] | undefined>;

/** address is a path below the API with its parameters; empty ones are left out. */
export function address(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === "" || value === false) continue;
    if (typeof value === "object") for (const v of value) params.append(name, v);
    else params.set(name, String(value));
  }
  const text = params.toString();
  return home + path + (text ? "?" + text : "");
}

let signedOut: () => void = () => {};

/** onSignedOut is called when the server does not know who we are any more. */
export function onSignedOut(f: () => void): void {
  signedOut = f;
}

interface Asking {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  body?: unknown;
  signal?: AbortSignal | undefined;
}

async function send(url: string, { method = "GET", body, signal }: Asking): Promise<Response> {
  const init: RequestInit = { method, credentials: "same-origin", headers: { Accept: "application/json" } };
  if (signal) init.signal = signal;
  if (body !== undefined) {
    init.headers = { Accept: "application/json", "Content-Type": "application/json" };
    init.body = JSON.stringify(body);
  }
  let answer: Response;
  try {
    answer = await fetch(url, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "The server does not answer.");
  }
  if (answer.ok) return answer;
  const problem = await problemOf(answer);
  if (answer.status === 401 && !url.endsWith("/api/v1/session")) signedOut();
  throw new ApiError(answer.status, problem);
}

async function problemOf(answer: Response): Promise<string> {
  try {
    const told = (await answer.json()) as { message?: string; error?: string };
    return told.message ?? told.error ?? answer.statusText;
  } catch {
    return answer.statusText || `The server answered ${answer.status}.`;
  }
}

export async function ask<T>(path: string, query?: Query, asking: Asking = {}): Promise<T> {
  const answer = await send(address(path, query), asking);
  return (await answer.json()) as T;
}

/** lines reads an answer of many lines, each with a result or an error. */
export async function lines<T>(path: string, query: Query, signal: AbortSignal, tell: (line: T) => void): Promise<void> {
  const answer = await send(address(path, query), { signal });
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      if (part.trim() === "") continue;
      const line = JSON.parse(part) as { result?: T; error?: { message?: string } };
      if (line.error) throw new ApiError(500, line.error.message ?? "The stream ended early.");
      if (line.result !== undefined) tell(line.result);
    }
  }
}
