/** What a choice costs if it is held now, fees and all, as the server reckons it. */
import { ask, path } from "../../api/client";
import type { Quote, Wish } from "../../api/schema";

/** A buyer who clicks four seats in a row asks once. */
const CALM_MS = 200;

export class Cost {
  readonly #event: string;
  #quote = $state.raw<Quote>();
  #waiting: ReturnType<typeof setTimeout> | undefined;
  #asking: AbortController | undefined;
  #of = "";

  constructor(event: string) {
    this.#event = event;
  }

  /** What the server said of the choice that was last asked about; `undefined` until it has. */
  get quote(): Quote | undefined {
    return this.#quote;
  }

  /** Asks about a choice, soon. `sumMinor` is what the page reckons: where that changes, prices did. */
  of(wish: Wish, sumMinor: number): void {
    const of = JSON.stringify([wish, sumMinor]);
    if (of === this.#of) return;
    this.stop();
    this.#of = of;
    this.#quote = undefined;
    if (Object.keys(wish).length > 0) this.#waiting = setTimeout(() => void this.#ask(wish, of), CALM_MS);
  }

  stop(): void {
    clearTimeout(this.#waiting);
    this.#asking?.abort();
    this.#of = "";
  }

  async #ask(wish: Wish, of: string): Promise<void> {
    this.#asking = new AbortController();
    const { signal } = this.#asking;
    try {
      const quote = await ask<Quote>(path`/events/${this.#event}/quote`, {
        method: "POST",
        body: wish,
        signal,
      });
      if (of === this.#of) this.#quote = quote;
    } catch {
      // The page's own sum stays: it is at most some cents of rounded fees away.
    }
  }
}
