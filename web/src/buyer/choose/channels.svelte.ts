/** What is set aside for this visitor: channels that a code or the shop opens. Codes survive a reload. */
import { path, Refused } from "../../api/client";
import type { MyChannels } from "../../api/schema";
import { askAsVisitor } from "../../api/visitor";
import { tabStore } from "../../lib/store";

export type MyChannel = MyChannels["channels"][number];

/** As many codes as one request may name. */
const MOST_CODES = 5;
const EVERY_MS = 30_000;

export class Channels {
  readonly #event: string;
  readonly #name: string;
  #codes = $state.raw<readonly string[]>([]);
  #open = $state.raw<readonly MyChannel[]>([]);
  #timer: ReturnType<typeof setInterval> | undefined;
  /** Is told whenever what is free in them was asked for again. */
  readonly #changed: (channels: readonly MyChannel[]) => Promise<void>;
  /** Codes of before a reload open nothing yet. */
  isLoading = $state(false);

  constructor(event: string, changed: (channels: readonly MyChannel[]) => Promise<void>) {
    this.#event = event;
    this.#name = `onrush.codes.${event}`;
    this.#changed = changed;
    this.#codes = tabStore.read<string[]>(this.#name) ?? [];
    this.isLoading = this.#codes.length > 0;
  }

  /** To go with each hold. */
  get codes(): readonly string[] {
    return this.#codes;
  }

  /** Those that are open, the one that is taken from first before the others. */
  get open(): readonly MyChannel[] {
    return this.#open;
  }

  start(): void {
    if (this.isLoading) {
      const done = () => (this.isLoading = false);
      void this.refresh().then(done, done);
    }
    this.#timer = setInterval(() => {
      if (!document.hidden && this.#open.length > 0) void this.refresh().catch(() => {});
    }, EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Tries a code. @throws {Refused} if it opens nothing. */
  async try(code: string): Promise<void> {
    const others = this.#codes.filter((known) => known.toLowerCase() !== code.toLowerCase());
    const codes = [code, ...others].slice(0, MOST_CODES);
    await this.#ask(codes);
    this.#keep(codes);
  }

  /** What is free now. A code that counts no more is forgotten. */
  async refresh(): Promise<void> {
    try {
      await this.#ask(this.#codes);
    } catch (error) {
      if (!(error instanceof Refused && error.code === "CHANNEL_CODE_NOT_FOUND")) throw error;
      await this.close();
    }
  }

  /** Lets go of all codes. */
  async close(): Promise<void> {
    this.#keep([]);
    this.#open = [];
    await this.#changed([]);
  }

  async #ask(codes: readonly string[]): Promise<void> {
    const to = path`/events/${this.#event}/channels`;
    const wish = { method: "POST", effect: "look", body: { codes } } as const;
    const { channels } = await askAsVisitor<MyChannels>(to, wish);
    this.#open = channels;
    await this.#changed(channels);
  }

  #keep(codes: readonly string[]): void {
    this.#codes = codes;
    tabStore.write(this.#name, codes);
  }
}

/** Free units of a pool for who may use these channels: a line is taken whole from one place. */
export function freeOf(pool: { pool: string; free: number }, channels: readonly MyChannel[]): number {
  const there = channels.map(({ left, pools }) => Math.min(pools[pool.pool] ?? 0, left ?? Infinity));
  return Math.max(pool.free, ...there);
}
