/**
 * What an event offers, as people think of it: zones and categories at a price, rooms for a range
 * of nights.
 */
import type { Availability, Category, Pool, PriceStep } from "../../api/schema";
import { firstNight, nightOf, poolName } from "../../lib/pools";

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
  /** What it can be bought as, and at which price. */
  types?: { id: string; name: string; priceMinor: number }[];
  /** For rooms: the nights there are, and on how many of them some are free. */
  nights?: { first: string; last: string; count: number; free: number };
}

/** What there is to buy; nights that are over are left out. */
export function offersOf(availability: Availability): Offer[] {
  const offers: Offer[] = [];
  const rooms = new Map<string, Offer>();
  const earliest = firstNight();
  for (const category of availability.categories) {
    const { name, free, held } = category;
    offers.push({ id: `category ${name}`, name, free, held, ...termsOf(category) });
  }
  for (const priced of availability.pools) {
    const { pool, free, held } = priced;
    const night = nightOf(pool);
    if (!night) {
      offers.push({ id: `pool ${pool}`, name: poolName(pool), free, held, ...termsOf(priced) });
      continue;
    }
    const { room, date } = night;
    if (date < earliest) continue;
    const { fromMinor, toMinor } = termsOf(priced);
    let offer = rooms.get(room);
    if (!offer) {
      const nights = { first: date, last: date, count: 0, free: 0 };
      offer = {
        id: `room ${room}`,
        name: poolName(room),
        fromMinor,
        toMinor,
        free: 0,
        held: 0,
        nights,
      };
      rooms.set(room, offer);
      offers.push(offer);
    }
    addNight(offer, date, { fromMinor, toMinor, free, held });
  }
  return offers;
}

/** What one costs; with ticket types the cheapest and the dearest, whose prices to come nobody tells. */
function termsOf({
  all_in_minor,
  later,
  types,
}: Pool | Category): Pick<Offer, "fromMinor" | "toMinor" | "next" | "types"> {
  if (!types) return { fromMinor: all_in_minor, toMinor: all_in_minor, next: later?.[0] };
  const listed = types.map(({ id, name, all_in_minor }) => ({ id, name, priceMinor: all_in_minor }));
  const prices = listed.map(({ priceMinor }) => priceMinor);
  return { fromMinor: Math.min(...prices), toMinor: Math.max(...prices), types: listed };
}

function addNight(
  offer: Offer,
  date: string,
  { fromMinor, toMinor, free, held }: Pick<Offer, "fromMinor" | "toMinor" | "free" | "held">,
): void {
  const nights = offer.nights!;
  // Dates of this form sort as texts.
  if (date < nights.first) nights.first = date;
  if (date > nights.last) nights.last = date;
  nights.count += 1;
  if (free > 0) nights.free += 1;
  offer.fromMinor = Math.min(offer.fromMinor, fromMinor);
  offer.toMinor = Math.max(offer.toMinor, toMinor);
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
