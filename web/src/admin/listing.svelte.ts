/** A list that comes page by page: the rows so far, and whether there are more. */

export interface Page<T> {
  rows: T[];
  /** What the next page is asked for with; missing on the last one. */
  next?: string;
}

export class Listing<T> {
  rows = $state.raw<T[]>();
  hasMore = $state(false);
  isBusy = $state(false);
  trouble = $state.raw<unknown>();
  readonly #ask: (after?: string) => Promise<Page<T>>;
  #next: string | undefined;
  /** An answer to an earlier wish must not overwrite that to a later one. */
  #round = 0;

  constructor(ask: (after?: string) => Promise<Page<T>>) {
    this.#ask = ask;
  }

  /** From the first page, in place of what is there. */
  begin = async (): Promise<void> => {
    await this.#load(undefined, (rows) => rows);
  };

  more = async (): Promise<void> => {
    await this.#load(this.#next, (rows) => [...(this.rows ?? []), ...rows]);
  };

  async #load(after: string | undefined, merge: (rows: T[]) => T[]): Promise<void> {
    this.#round += 1;
    const round = this.#round;
    this.isBusy = true;
    try {
      const page = await this.#ask(after);
      if (round !== this.#round) return;
      this.rows = merge(page.rows);
      this.#next = page.next;
      this.hasMore = page.next !== undefined;
      this.trouble = undefined;
    } catch (error) {
      if (round !== this.#round) return;
      this.trouble = error;
    }
    this.isBusy = false;
  }
}
