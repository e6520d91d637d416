import * as api from "../api/applications";
import { ApiError } from "../api/client";
import type { Facet, Row } from "../api/types";
import { type Filters, queryOf } from "../model/filters";
import { begin, onChange, onReset, type Change } from "./live";
import { Store } from "./store";

/** Fleet is the part of the list that was read: rows from the beginning on, how many there are in all, and the counts. */
export interface Fleet {
  rows: readonly Row[];
  total: number;
  facets: readonly Facet[];
  loading: boolean;
  more: boolean;
  error?: ApiError;
  /** read says that this is the answer to what was asked, and not to what was asked before. */
  read: boolean;
}

const nothing: Fleet = { rows: [], total: 0, facets: [], loading: true, more: false, read: false };
const pageSize = 500;
/** settle is how long changes are gathered before the list is read again: they come in bursts. */
const settle = 400;
/** again is up to how many rows are read anew where their order may be another; longer lists are corrected row by row. */
const again = 2000;

const facets = ["health", "sync", "operation", "autosync", "project", "cluster", "namespace", "repo", "label"];

export const rowKey = (r: Row) => `${r.metadata.namespace}/${r.metadata.name}`;

/** FleetReader keeps the rows of one question current: it reads pages when they are needed, and again after changes. */
export class FleetReader {
  readonly store = new Store<Fleet>(nothing);
  #query: Record<string, string | string[]> = {};
  #key = "";
  #facets = "";
  #token: string | undefined;
  #running: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wanted = pageSize;
  #moved = false;
  /** #still says that rows stand where they stand whatever becomes of them: nothing is left out, and names do not change. */
  #still = true;

  /** start listens to the stream, until the function that it returns is called. */
  start(): () => void {
    const ends = [onChange((c) => this.#changed(c)), onReset(() => void this.#read(this.#length()))];
    return () => {
      for (const end of ends) end();
      clearTimeout(this.#timer);
      this.#running?.abort();
      this.#key = "";
    };
  }

  /** ask sets the question. The rows of the last one stay until the answer is there. */
  ask(f: Filters): void {
    const query = queryOf(f);
    const wanted = [...facets, ...(f.group.startsWith("label:") ? [f.group] : [])].join(",");
    const key = JSON.stringify([query, wanted]);
    if (key === this.#key) return;
    this.#key = key;
    this.#query = query;
    this.#still = Object.keys(query).every((k) => k === "sort") && query["sort"] === "name";
    this.#facets = wanted;
    this.#wanted = pageSize;
    this.store.update((s) => ({ ...s, read: false }));
    void this.#read(pageSize);
  }

  retry = (): void => void this.#read(this.#length());

  /** need reads on until so many rows are there. */
  need(count: number): void {
    this.#wanted = Math.max(this.#wanted, Math.min(count, this.store.get().total));
    const s = this.store.get();
    if (!s.loading && s.more && s.rows.length < this.#wanted) void this.#next();
  }

  #length = () => Math.min(Math.max(this.store.get().rows.length, pageSize), again);

  async #read(limit: number): Promise<void> {
    this.#running?.abort();
    const running = (this.#running = new AbortController());
    this.store.update((s) => ({ ...s, loading: true }));
    const askedAt = performance.now();
    try {
      const page = await api.list({ ...this.#query, limit, facets: this.#facets, facetLimit: 30 }, running.signal);
      this.#token = page.metadata.continue;
      begin(page.cursor, askedAt);
      this.store.set({
        rows: page.items,
        total: page.total,
        facets: page.facets ?? [],
        loading: false,
        more: page.metadata.continue !== undefined,
        read: true,
      });
      this.need(this.#wanted);
    } catch (error) {
      this.#failed(running, error);
    }
  }

  async #next(): Promise<void> {
    const running = (this.#running = new AbortController());
    this.store.update((s) => ({ ...s, loading: true }));
    try {
      const page = await api.list({ ...this.#query, limit: pageSize * 2, continue: this.#token }, running.signal);
      this.#token = page.metadata.continue;
      this.store.update((s) => ({ ...s, rows: [...s.rows, ...page.items], loading: false, more: page.metadata.continue !== undefined }));
      this.need(this.#wanted);
    } catch (error) {
      this.#failed(running, error);
    }
  }

  #failed(running: AbortController, error: unknown): void {
    if (running.signal.aborted) return;
    const problem = error instanceof ApiError ? error : new ApiError(500, String(error));
    this.store.update((s) => ({ ...s, loading: false, error: problem, read: true }));
  }

  /** #changed shows a change at once where its row is, and has the rest read soon: counts, order, what came and went. */
  #changed({ type, application }: Change): void {
    const s = this.store.get();
    const { namespace, name } = application.metadata;
    const at = s.rows.findIndex(({ metadata: m }) => m.name === name && m.namespace === namespace);
    if (at >= 0) {
      const rows = type === "DELETED" ? s.rows.toSpliced(at, 1) : s.rows.with(at, application);
      this.store.set({ ...s, rows, total: s.total - (type === "DELETED" ? 1 : 0) });
    }
    // By name, and without a filter, a change moves nothing: only the counts may be others.
    if (type !== "MODIFIED" || at < 0 || !this.#still) this.#moved = true;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const moved = this.#moved;
      this.#moved = false;
      void (moved ? this.#read(this.#length()) : this.#count());
    }, settle);
  }

  /** #count reads the counts alone; the rows are as they should be. */
  async #count(): Promise<void> {
    const asked = this.#key;
    try {
      const page = await api.list({ ...this.#query, limit: 1, facets: this.#facets, facetLimit: 30 });
      if (asked !== this.#key) return;
      const { total } = this.store.get();
      if (page.total !== total) void this.#read(this.#length());
      else this.store.update((s) => ({ ...s, facets: page.facets ?? [] }));
    } catch {
      // The next change asks again, and what is shown is right but for the counts.
    }
  }
}

export const fleet = new FleetReader();
