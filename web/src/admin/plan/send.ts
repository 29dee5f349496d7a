/** A seating plan on its way to the server, from the editor or from a file. */
import { ask, NoAnswer, path } from "../../api/client";
import { askAsOrganiser } from "../../api/organiser";
import type { SeatMap } from "../../api/schema";
import type { SeatLike } from "../../lib/seatmap/house";
import { type Plan, placesOf } from "./model/document";
import { seatsOf } from "./model/file";

/** Large plans take their time on a slow line: 32 MiB are two minutes of some 2 Mbit/s. */
const PATIENCE_MS = 120_000;

/**
 * Puts the seats of a plan on sale, each category at its price in minor units. A plan whose answer was
 * lost counts as sent if all its seats are there.
 */
export async function sendPlan(event: string, plan: Plan, prices: Record<string, number>): Promise<void> {
  try {
    await askAsOrganiser(path`/admin/events/${event}/seat-map`, {
      method: "PUT",
      body: { plan, prices },
      patienceMs: PATIENCE_MS,
    });
  } catch (error) {
    if (!(error instanceof NoAnswer) || !(await isThere(event, plan))) throw error;
  }
}

/** How many seats of a plan stand where one with another id is on sale already. */
export async function countTwins(event: string, plan: Plan): Promise<number> {
  const { seats } = await ask<SeatMap>(path`/events/${event}/seats`, { patienceMs: PATIENCE_MS });
  // Those of no plan stand nowhere.
  const drawn = seats.filter(({ x }) => x !== undefined);
  const there = new Map<string, Set<string>>();
  for (const seat of drawn) {
    const spot = spotOf(seat);
    there.set(spot, (there.get(spot) ?? new Set()).add(seat.id));
  }
  // Two of one plan may have been drawn on top of each other: each is there, then.
  return seatsOf(plan).filter((seat) => there.get(spotOf(seat))?.has(seat.id) === false).length;
}

/**
 * To the hundredth: what was summed up elsewhere may differ in the last digits. Whatever its section:
 * ids follow that, too.
 */
function spotOf({ x, y }: Pick<SeatLike, "x" | "y">): string {
  return JSON.stringify([x, y].map((place) => Math.round((place ?? 0) * 100)));
}

async function isThere(event: string, plan: Plan): Promise<boolean> {
  try {
    const { seats } = await ask<SeatMap>(path`/events/${event}/seats`);
    const there = new Set(seats.map(({ id }) => id));
    return placesOf(plan).every(({ seat }) => there.has(seat.seat_guid));
  } catch {
    return false;
  }
}
