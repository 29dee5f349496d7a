/**
 * Holding what was chosen, once: the key of a choice is kept until its answer is known, also over a
 * reload.
 */
import { NoAnswer, newKey, path, Refused } from "../../api/client";
import type { Booking, Lines, Wish } from "../../api/schema";
import { askAsVisitor } from "../../api/visitor";
import { tabStore } from "../../lib/store";
import { poolsOf } from "./stock";

const TRIES = 5;
const PAUSE_MS = 700;

interface Kept {
  key: string;
  /** What it was for. */
  body: string;
  /** What the visitor held by then: none of it is what came of this. */
  before?: string[];
}

export type Outcome =
  | { is: "held"; booking: Booking }
  | { is: "refused"; refusal: Refused }
  /** No answer came: it may be held. */
  | { is: "unknown" };

/** What was asked for in this event, and no answer came before the page was left. */
export function unanswered(event: string): Wish | undefined {
  const before = kept(event);
  return before && (JSON.parse(before.body) as Wish);
}

/** Whether a booking may be what came of what was asked for and not answered: it was not there before. */
export function isNew(event: string, booking: string): boolean {
  return !kept(event)?.before?.includes(booking);
}

/**
 * Asks for a hold, and asks again with the same key while no answer comes. `before` are the bookings
 * that the visitor has; `unheard` is told each time that no answer comes. @throws what is neither the
 * server's word nor its silence.
 */
export async function hold(
  event: string,
  wish: Wish,
  before: string[],
  unheard: () => void,
): Promise<Outcome> {
  const body = JSON.stringify(wish);
  let key = keyFor(event, body, before);
  let isRenewed = false;
  for (let round = 1; ; round += 1) {
    try {
      const booking = await askAsVisitor<Booking>(path`/events/${event}/bookings`, {
        method: "POST",
        key,
        body: wish,
      });
      // The key of a hold that was given back or ran out names that one for good: another wish
      // needs another key.
      if (["released", "expired", "cancelled"].includes(booking.status) && !isRenewed) {
        isRenewed = true;
        forget(event);
        key = keyFor(event, body, before);
        continue;
      }
      forget(event);
      return { is: "held", booking };
    } catch (error) {
      if (error instanceof Refused && error.status < 500 && error.status !== 429) {
        forget(event);
        return { is: "refused", refusal: error };
      }
      if (!(error instanceof NoAnswer || error instanceof Refused)) throw error;
      if (round >= TRIES)
        return error instanceof Refused ? { is: "refused", refusal: error } : { is: "unknown" };
      if (error instanceof NoAnswer) unheard();
      const wantedMs = error instanceof Refused ? (error.retryAfterS ?? 0) * 1_000 : 0;
      const waitMs = Math.max(wantedMs, PAUSE_MS * round) * (1 + Math.random());
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}

/**
 * Whether a booking is what this wish asked for first. Which seats were the best nobody knows here, so
 * that only its key can tell; but for a first choice that was had.
 */
export function isFor(booking: Booking, wish: Wish): boolean {
  const best = wish.best?.first_choice;
  if (wish.best && !best) return false;
  const text = (lines: Lines) => {
    const byName = Object.entries(lines.pools ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
    return JSON.stringify([byName, [...(lines.seats ?? [])].sort()]);
  };
  const isOfLines =
    text(booking.lines) === text({ pools: poolsOf(wish), seats: [...(wish.seats ?? []), ...(best ?? [])] });
  return isOfLines && isOfTypes(booking, wish);
}

/** Whether the units of a booking are of the types that a wish named for them. */
function isOfTypes({ types = [] }: Booking, { types: named = {} }: Wish): boolean {
  const ofPool = (pool: string, id: string) =>
    types.filter(({ type }) => type.id === id).reduce((sum, { pools }) => sum + (pools?.[pool] ?? 0), 0);
  const isOfPools = Object.entries(named.pools ?? {}).every(([pool, counts]) =>
    Object.entries(counts).every(([id, count]) => ofPool(pool, id) === count),
  );
  const ofSeats = (id: string) =>
    types.filter(({ type }) => type.id === id).flatMap(({ seats = [] }) => seats);
  const isOfSeats = Object.entries(named.seats ?? {}).every(([seat, id]) => ofSeats(id).includes(seat));
  return (
    isOfPools && isOfSeats && Object.entries(named.best ?? {}).every(([id, n]) => ofSeats(id).length >= n)
  );
}

/** The answer is known by other means, or the choice is another now. */
export function forget(event: string): void {
  tabStore.remove(nameOf(event));
}

function keyFor(event: string, body: string, before: string[]): string {
  const known = kept(event);
  if (known?.body === body) return known.key;
  const key = newKey();
  tabStore.write(nameOf(event), { key, body, before } satisfies Kept);
  return key;
}

function kept(event: string): Kept | undefined {
  return tabStore.read<Kept>(nameOf(event));
}

function nameOf(event: string): string {
  return `onrush.hold.${event}`;
}
