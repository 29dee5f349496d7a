/**
 * What an event offers, as people think of it: zones and categories at a price, rooms for a range
 * of nights.
 */
import type { Availability, PriceStep } from "../../api/schema";
import { nightOf, poolName } from "../../lib/pools";

export interface Offer {
  /** Distinguishes offers; not shown. */
  id: string;
  name: string;
  /** What one costs, with the percentage fee on it. */
  fromMinor: number;
  toMinor: number;
  free: number;
  held: number;
  /** The next price to come, if there is one. */
  next?: PriceStep | undefined;
  /** For rooms: the nights there are, and on how many of them some are free. */
  nights?: { first: string; last: string; count: number; free: number };
}

export function offersOf(availability: Availability): Offer[] {
  const offers: Offer[] = [];
  const rooms = new Map<string, Offer>();
  for (const { name, all_in_minor, later, free, held } of availability.categories) {
    const [fromMinor, toMinor, next] = [all_in_minor, all_in_minor, later?.[0]];
    offers.push({ id: `category ${name}`, name, fromMinor, toMinor, free, held, next });
  }
  for (const { pool, all_in_minor, later, free, held } of availability.pools) {
    const night = nightOf(pool);
    if (!night) {
      const name = poolName(pool);
      const [fromMinor, toMinor, next] = [all_in_minor, all_in_minor, later?.[0]];
      offers.push({ id: `pool ${pool}`, name, fromMinor, toMinor, free, held, next });
      continue;
    }
    const { room, date } = night;
    let offer = rooms.get(room);
    if (!offer) {
      const nights = { first: date, last: date, count: 0, free: 0 };
      offer = {
        id: `room ${room}`,
        name: poolName(room),
        fromMinor: all_in_minor,
        toMinor: all_in_minor,
        free: 0,
        held: 0,
        nights,
      };
      rooms.set(room, offer);
      offers.push(offer);
    }
    addNight(offer, date, all_in_minor, free, held);
  }
  return offers;
}

function addNight(offer: Offer, date: string, priceMinor: number, free: number, held: number): void {
  const nights = offer.nights!;
  // Dates of this form sort as texts.
  if (date < nights.first) nights.first = date;
  if (date > nights.last) nights.last = date;
  nights.count += 1;
  if (free > 0) nights.free += 1;
  offer.fromMinor = Math.min(offer.fromMinor, priceMinor);
  offer.toMinor = Math.max(offer.toMinor, priceMinor);
  offer.free += free;
  offer.held += held;
}

/** The lowest and the highest price; `undefined` where nothing is offered. */
export function priceRange(offers: Offer[]): { from: number; to: number } | undefined {
  if (offers.length === 0) return undefined;
  return {
    from: Math.min(...offers.map((offer) => offer.fromMinor)),
    to: Math.max(...offers.map((offer) => offer.toMinor)),
  };
}
