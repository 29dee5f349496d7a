/** What a choice costs if it is held now, fees and all, as the server reckons it. */
import { ask, NoAnswer, path, Refused } from "../../api/client";
import type { Quote, Wish } from "../../api/schema";

/** A buyer who clicks four seats in a row asks once. */
const CALM_MS = 200;
/** The pause after a question that was not answered. */
const AGAIN_MS = 3_000;

export class Cost {
  readonly #event: string;
  #quote = $state.raw<Quote>();
  #isUnknown = $state(false);
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

  /** The server was asked, and does not say. */
  get isUnknown(): boolean {
    return this.#isUnknown;
  }

  /** Asks about a choice, soon; and again where what one of its units costs is another by now. */
  of(wish: Wish, eachMinor: readonly number[]): void {
    const of = JSON.stringify([wish, eachMinor]);
    if (of === this.#of) return;
    this.stop();
    this.#of = of;
    this.#quote = undefined;
    this.#isUnknown = false;
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
        effect: "look",
        body: wish,
        signal,
      });
      if (of !== this.#of) return;
      this.#quote = quote;
      this.#isUnknown = false;
    } catch (error) {
      if (of !== this.#of) return;
      this.#isUnknown = true;
      const isWorthIt = error instanceof NoAnswer || (error instanceof Refused && error.retryable);
      if (!isWorthIt) return;
      const wantedMs = error instanceof Refused ? (error.retryAfterS ?? 0) * 1_000 : 0;
      const waitMs = Math.max(AGAIN_MS, wantedMs) * (1 + Math.random());
      this.#waiting = setTimeout(() => void this.#ask(wish, of), waitMs);
    }
  }
}
