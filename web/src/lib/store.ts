/**
 * What this browser keeps by name. A store may be forbidden or full: what it does not take is
 * remembered as long as the page lives.
 */
class Store {
  /** Browsers that keep nothing refuse even to name their store. */
  readonly #storage: () => Storage;
  /** What the browser did not take, and what it had instead. */
  readonly #unkept = new Map<string, { text: string; instead: string | null }>();

  constructor(storage: () => Storage) {
    this.#storage = storage;
  }

  get(name: string): string | null {
    const kept = this.#kept(name);
    const unkept = this.#unkept.get(name);
    // Another tab may have come to write since.
    return unkept && unkept.instead === kept ? unkept.text : kept;
  }

  set(name: string, text: string): void {
    this.#unkept.delete(name);
    try {
      this.#storage().setItem(name, text);
    } catch {
      this.#unkept.set(name, { text, instead: this.#kept(name) });
    }
  }

  remove(name: string): void {
    this.#unkept.delete(name);
    try {
      this.#storage().removeItem(name);
    } catch {
      // Nothing is kept.
    }
  }

  /** Whether what is there by this name, if anything is, is there after the page as well. */
  keeps(name: string): boolean {
    const unkept = this.#unkept.get(name);
    return !unkept || unkept.instead !== this.#kept(name);
  }

  /** What `write` put there; `undefined` if it cannot be read. */
  read<T>(name: string): T | undefined {
    try {
      return (JSON.parse(this.get(name) ?? "null") as T | null) ?? undefined;
    } catch {
      return undefined;
    }
  }

  write(name: string, value: unknown): void {
    this.set(name, JSON.stringify(value));
  }

  #kept(name: string): string | null {
    try {
      return this.#storage().getItem(name);
    } catch {
      return null;
    }
  }
}

/** For all tabs, and for the next visit. */
export const store = new Store(() => localStorage);
/** For this tab, over a reload. */
export const tabStore = new Store(() => sessionStorage);
