/** A seating plan on its way to the server, from the editor or from a file. */
import { ask, NoAnswer, path } from "../../api/client";
import { askAsOrganiser } from "../../api/organiser";
import type { SeatMap } from "../../api/schema";
import { type Plan, placesOf } from "./model/document";
import { seatsOf } from "./model/file";
import { type Twins, twinsOf } from "./model/twins";

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

/** How many seats of a plan are on sale already under other ids. */
export async function findTwins(event: string, plan: Plan): Promise<Twins> {
  const { seats } = await ask<SeatMap>(path`/events/${event}/seats`, { patienceMs: PATIENCE_MS });
  return twinsOf(seatsOf(plan), seats);
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
