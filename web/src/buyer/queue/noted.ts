/**
 * The fingerprints of a draw, and its promise, as this browser saw them first: what was noted before
 * the draw is proof afterwards.
 */
import { ask, path } from "../../api/client";
import type { Draw } from "../../api/schema";
import { clock } from "../../lib/clock";
import { store } from "../../lib/store";

export interface Noted {
  hash: string;
  at: number;
}

export interface NotedSource {
  text: string;
  at: number;
}

export interface NotedDraw {
  seedHash?: Noted;
  entrantsHash?: Noted;
  /** Which public value was promised; missing in older notes, too. */
  source?: NotedSource;
}

const name = (event: string) => `onrush.draw.${event}`;

export function notedDraw(event: string): NotedDraw {
  return store.read<NotedDraw>(name(event)) ?? {};
}

/** Notes what is new of a draw, and keeps what was noted before. */
export function note(event: string, draw: Draw): NotedDraw {
  const noted = notedDraw(event);
  const at = clock.now();
  noted.seedHash ??= { hash: draw.seed_hash, at };
  if (draw.entrants_hash) noted.entrantsHash ??= { hash: draw.entrants_hash, at };
  if (draw.public_value_source !== undefined) noted.source ??= { text: draw.public_value_source, at };
  // A browser that keeps nothing is a witness as long as the page lives.
  store.write(name(event), noted);
  return noted;
}

/**
 * The same for pages that show no draw: whoever waits sees the fingerprint before they can know how
 * it ends. `undefined` if the draw cannot be had.
 */
export async function noteDraw(event: string): Promise<Draw | undefined> {
  try {
    const draw = await ask<Draw>(path`/events/${event}/draw`);
    note(event, draw);
    return draw;
  } catch {
    // The page of the draw notes it when it is opened.
    return undefined;
  }
}
