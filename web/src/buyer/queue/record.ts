/** What this browser remembers of its place in an event's queue, for all its tabs and after a reload. */
import { userNow } from "../../api/visitor";
import type { LiveMessage, SessionEnd } from "../../lib/live/message";
import { store } from "../../lib/store";

/**
 * How a place or session ended. `gave_up` is a session that was left before anything was booked;
 * `kept` is over, and what the visitor holds keeps its slot.
 */
export type Ended = SessionEnd | "lapsed" | "kept" | "gave_up";

export interface PlaceRecord {
  /** Whose place it is: this browser may have become another visitor since. */
  user?: string | undefined;
  /** The last that was heard of the place. */
  last?: Extract<LiveMessage, { type: "position" | "your_turn" }>;
  /** When that was, by the server's clock. */
  heardAt?: number;
  /** The position that was seen first, which progress is measured from. */
  from?: number;
  /** The place whose turn was announced, so that a reload does not sound again. */
  announced?: string;
  ended?: Ended;
}

const name = (event: string) => `onrush.queue.${event}`;

export function readRecord(event: string): PlaceRecord {
  const record = store.read<PlaceRecord>(name(event)) ?? {};
  return record.user === undefined || record.user === userNow() ? record : {};
}

export function writeRecord(event: string, record: PlaceRecord): void {
  store.write(name(event), { ...record, user: userNow() });
}

/** Forgets how it ended, so that opening the waiting room joins again. */
export function forgetEnd(event: string): void {
  const record = readRecord(event);
  if (record.ended) store.remove(name(event));
}
