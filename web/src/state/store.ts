import { useSyncExternalStore } from "react";

/** Store is a value that components can watch. A change is another value; nobody changes one in place. */
export class Store<T> {
  #value: T;
  readonly #listeners = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get = (): T => this.#value;

  set = (next: T): void => {
    if (Object.is(next, this.#value)) return;
    this.#value = next;
    for (const tell of [...this.#listeners]) tell();
  };

  update = (change: (value: T) => T): void => this.set(change(this.#value));

  subscribe = (tell: () => void): (() => void) => {
    this.#listeners.add(tell);
    return () => this.#listeners.delete(tell);
  };
}

export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.get);
}
