/** Drafts in this browser, so that a reload loses nothing: a few, and none too large. */
import { type Plan } from "./document";
import { planOf } from "./file";

export interface Draft {
  plan: Plan;
  /** By category, as they were typed. */
  prices: Record<string, number | null>;
}

const PREFIX = "onrush.plan.";
/** Characters of one draft, and how many drafts. A browser has some 5 million for all of a site. */
export const MAX_CHARS = 2_000_000;
export const MAX_DRAFTS = 4;

/** The draft for an event, if there is one that can be read. */
export function load(event: string, storage: Storage = localStorage): Draft | undefined {
  try {
    const text = storage.getItem(PREFIX + event);
    if (text === null) return undefined;
    const { plan, prices } = JSON.parse(text) as { plan: unknown; prices?: Draft["prices"] };
    return { plan: planOf(plan), prices: prices ?? {} };
  } catch {
    // Something else wrote it, or storing is forbidden here.
    return undefined;
  }
}

/** Whether it was kept: it may be too large, or the browser has no room. */
export function save(event: string, draft: Draft, storage: Storage = localStorage): boolean {
  const { plan, prices } = draft;
  const text = JSON.stringify({ at: Date.now(), prices, plan });
  try {
    if (text.length > MAX_CHARS) {
      storage.removeItem(PREFIX + event);
      return false;
    }
    storage.setItem(PREFIX + event, text);
    forgetOldest(storage);
    return true;
  } catch {
    return false;
  }
}

export function forget(event: string, storage: Storage = localStorage): void {
  storage.removeItem(PREFIX + event);
}

function forgetOldest(storage: Storage): void {
  const drafts: { name: string; at: number }[] = [];
  for (let nth = 0; nth < storage.length; nth += 1) {
    const name = storage.key(nth);
    if (!name?.startsWith(PREFIX)) continue;
    const at = /^\{"at":(\d+)/.exec(storage.getItem(name) ?? "")?.[1];
    drafts.push({ name, at: Number(at ?? 0) });
  }
  drafts.sort((one, other) => other.at - one.at);
  for (const { name } of drafts.slice(MAX_DRAFTS)) storage.removeItem(name);
}
