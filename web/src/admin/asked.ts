/**
 * The keys under which this page asked for something, over a reload, until it is known what came of it.
 * Asked again under the same one, the server says what became of that, and of nobody else's wish.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { newKey } from "../api/client";
// Not for all tabs: the same asked for in another one at the same moment is another wish.
import { tabStore } from "../lib/store";

interface Open {
  /** What was asked for as a digest: whoever reads what is stored has no ticket and no address of it. */
  digest: string;
  key: string;
  /** When it was asked for first, in milliseconds since 1970; versions before kept none. */
  at?: number;
}

/** Wishes that are remembered; older ones are forgotten. */
const KEPT = 200;

/** Those of one kind. */
export class Asked {
  readonly #name: string;
  readonly #forMs: number;

  /** Whoever asks for the same later than `forMs` after that wishes for it once more. */
  constructor(name: string, forMs = Infinity) {
    this.#name = name;
    this.#forMs = forMs;
  }

  /** The key to ask for this with, kept before anything is sent; whether it was asked with before. */
  keyFor(wish: string): { key: string; isAgain: boolean } {
    const digest = digestOf(wish);
    const open = this.#all();
    const before = open.find((asked) => asked.digest === digest);
    if (before) return { key: before.key, isAgain: true };
    const key = newKey();
    tabStore.write(this.#name, [...open, { digest, key, at: Date.now() }].slice(-KEPT));
    return { key, isAgain: false };
  }

  /** It is known what came of this. */
  forget(wish: string): void {
    const digest = digestOf(wish);
    const others = this.#all().filter((asked) => asked.digest !== digest);
    tabStore.write(this.#name, others);
  }

  #all(): Open[] {
    const now = Date.now();
    const open = tabStore.read<Open[]>(this.#name) ?? [];
    return open.filter(({ at = now }) => Math.abs(now - at) <= this.#forMs);
  }
}

function digestOf(wish: string): string {
  return bytesToHex(sha256(utf8ToBytes(wish)));
}
