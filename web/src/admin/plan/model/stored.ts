/** Drafts in this browser, so that a reload loses nothing. */
import { createStore, get, update, type UseStore } from "idb-keyval";
import { newKey } from "../../../api/client";
import { store } from "../../../lib/store";
import type { Plan } from "./document";
import { planOf } from "./file";

export interface Draft {
  plan: Plan;
  /** By category, as they were typed. */
  prices: Record<string, number | null>;
}

/** A draft with what tells it from the one before. */
interface Kept extends Draft {
  stamp: string;
}

/**
 * Where drafts were once, and where one is put by a page that goes before the browser could do more:
 * text, in the little room that all of a site has there.
 */
const TEXT_PREFIX = "onrush.plan.";
/** Characters of such a text: a browser has some 5 million for all of a site. */
const MAX_CHARS = 2_000_000;

let opened: UseStore | undefined;

/** Drafts of one event, one after the other: another page may have it open too. */
export class Shelf {
  readonly #event: string;
  /** The draft that was read or written here last. */
  #stamp: string | undefined;

  constructor(event: string) {
    this.#event = event;
  }

  /** The draft, if there is one that can be read; from now on it is known here. */
  async take(): Promise<Draft | undefined> {
    try {
      const kept: unknown = await get(this.#event, drafts());
      this.#stamp = (kept as Partial<Kept> | undefined)?.stamp;
      return this.#left() ?? (kept === undefined ? undefined : read(kept));
    } catch {
      // Something else wrote it, or storing is forbidden here.
      return undefined;
    }
  }

  /** Puts a draft where it takes no time, if it fits there. It counts if no other was put meanwhile. */
  leave(draft: Draft): void {
    const text = JSON.stringify({ ...draft, stamp: this.#stamp });
    if (text.length <= MAX_CHARS) store.set(TEXT_PREFIX + this.#event, text);
  }

  /** What a page left that had the draft which is there now. */
  #left(): Draft | undefined {
    const left = store.read<Kept>(TEXT_PREFIX + this.#event);
    return left && left.stamp === this.#stamp ? read(left) : undefined;
  }

  /** Puts a draft there. One that is not known here stays, unless it is taken over on purpose. */
  async put(draft: Draft, isOnPurpose = false): Promise<"kept" | "elsewhere" | "unkept"> {
    const stamp = newKey();
    let isOurs = false;
    try {
      await update<Kept>(
        this.#event,
        (there) => {
          isOurs = isOnPurpose || there === undefined || there.stamp === this.#stamp;
          return isOurs ? { ...draft, stamp } : there!;
        },
        drafts(),
      );
      if (!isOurs) return "elsewhere";
      this.#stamp = stamp;
      store.remove(TEXT_PREFIX + this.#event);
      return "kept";
    } catch {
      return "unkept";
    }
  }
}

function drafts(): UseStore {
  return (opened ??= createStore("onrush-plans", "drafts"));
}

function read(kept: unknown): Draft {
  const { plan, prices } = kept as { plan: unknown; prices?: Draft["prices"] };
  return { plan: planOf(plan), prices: prices ?? {} };
}
