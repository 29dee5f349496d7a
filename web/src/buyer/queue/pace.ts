/** How fast the line moves, and what that means for a position in it. */
import { ask, path, Refused } from "../../api/client";
import type { Event, Pace as Answer, Units } from "../../api/schema";

/**
 * What is left, and how many places the line moves on a minute, as a range; that is missing while
 * too little is known.
 */
export type Pace = Pick<Answer, "admission" | "units" | "per_min">;

/** A wait in whole minutes. No end is known of a line that may be standing still. */
export interface Wait {
  from: number;
  to?: number;
}

/** The line's pace. Where it cannot be had, at least what is left; `undefined` if not even that. */
export async function askPace(event: string): Promise<Pace | undefined> {
  try {
    return await ask<Answer>(path`/events/${event}/pace`);
  } catch (error) {
    // A server that is busy is not asked for something else at once.
    if (!(error instanceof Refused) || error.retryable) return undefined;
    try {
      const { admission, units } = await ask<Event>(path`/events/${event}`);
      return { admission, units };
    } catch {
      return undefined;
    }
  }
}

/** The wait at a position. Long ones are rounded outwards, as nobody knows them to the minute. */
export function waitAt(position: number, perMin: Pace["per_min"]): Wait | undefined {
  if (!perMin || perMin.to <= 0) return undefined;
  const from = position / perMin.to;
  const to = perMin.from > 0 ? position / perMin.from : undefined;
  const stepOf = (minutes: number) => (minutes < 10 ? 1 : minutes < 60 ? 5 : 15);
  const step = stepOf(to ?? from);
  const down = Math.floor(from / stepOf(from)) * stepOf(from);
  return to === undefined ? { from: down } : { from: down, to: Math.max(1, Math.ceil(to / step) * step) };
}

/** Whether more people are ahead than there is left for them: what is held may come back. */
export function isLineTooLong(position: number, units: Units): boolean {
  return position > units.free + units.held;
}
