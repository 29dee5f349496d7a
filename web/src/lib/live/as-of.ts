/**
 * How far each event had come when its visitor was last told where they stand. A node of a cluster
 * may answer from a copy that is a second old; none does from an older state than this.
 */
import type { Place } from "../../api/schema";

const told = new Map<string, string>();

export function noteAsOf(event: string, place: Place): void {
  if (place.status === "queued" && place.as_of !== undefined) told.set(event, place.as_of);
  else forgetAsOf(event);
}

/** Something newer was told that does not say what it is of: the next question is of the present. */
export function forgetAsOf(event: string): void {
  told.delete(event);
}

export function asOf(event: string): string | undefined {
  return told.get(event);
}
