/**
 * How far each event had come when its visitor was last told where they stand. A node of a cluster
 * may answer from a copy that is a second old; none does from an older state than this.
 */
import type { Place } from "../../api/schema";

interface Told {
  /** What the last answer was of; undefined if the next question is of the present. */
  asOf: string | undefined;
  /** Answers and other news so far. */
  count: number;
}

const told = new Map<string, Told>();

function known(event: string): Told {
  return told.get(event) ?? { asOf: undefined, count: 0 };
}

/** What a question is asked with, and the count by which its answer finds out that it was overtaken. */
export function asking(event: string): Told {
  return known(event);
}

/**
 * Takes an answer to a question that was asked at this count; whether it is the last word. One that
 * was overtaken may be of an older state than what overtook it.
 */
export function noteAsOf(event: string, place: Place, askedAt: number): boolean {
  const { count } = known(event);
  const isLast = count === askedAt;
  const asOf = isLast && place.status === "queued" ? place.as_of : undefined;
  told.set(event, { asOf, count: count + 1 });
  return isLast;
}

/** Something else was told that does not say what it is of: the next question is of the present. */
export function forgetAsOf(event: string): void {
  told.set(event, { asOf: undefined, count: known(event).count + 1 });
}
