/** What the pools of an event are: nights of a kind of room, or things that are bought by quantity. */
import type { Pool, Wish } from "../../api/schema";
import { firstNight, nightOf, tonight } from "../../lib/pools";
import { unitMinor } from "./types";

const DAY_MS = 86_400_000;

export interface Night {
  date: string;
  pool: Pool;
}

/** A kind of room, by night. */
export interface Kind {
  name: string;
  nights: Map<string, Pool>;
  first: string;
  last: string;
}

export interface Stock {
  kinds: Kind[];
  /** Standing places, vouchers and the like. */
  others: Pool[];
}

/** What pools there are; nights that are over are left out. */
export function stockOf(pools: readonly Pool[]): Stock {
  const earliest = firstNight();
  const kinds = new Map<string, Kind>();
  const others: Pool[] = [];
  for (const pool of pools) {
    const night = nightOf(pool.pool);
    if (!night) {
      others.push(pool);
      continue;
    }
    const { room: name, date } = night;
    if (date < earliest) continue;
    const kind = kinds.get(name) ?? { name, nights: new Map<string, Pool>(), first: date, last: date };
    kind.nights.set(date, pool);
    if (date < kind.first) kind.first = date;
    if (date > kind.last) kind.last = date;
    kinds.set(name, kind);
  }
  return { kinds: [...kinds.values()], others };
}

/**
 * The night that is shown first: a season may be long and its first nights gone. One that may be over
 * is shown where there is no other.
 */
export function firstFreeNight(kind: Kind): string {
  const free = [...kind.nights].filter(([, pool]) => pool.free > 0).map(([date]) => date);
  free.sort();
  const today = tonight();
  return free.find((date) => date >= today) ?? free[0] ?? kind.first;
}

/** The day so many days after this one. */
export function dayAfter(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

export function nightsOf(from: string, nights: number): string[] {
  return Array.from({ length: nights }, (_, at) => dayAfter(from, at));
}

/** Units of each pool that a wish asks for, those of its stays' nights among them. */
export function poolsOf(wish: Wish): Record<string, number> {
  const pools = { ...wish.pools };
  for (const stay of wish.stays ?? []) {
    for (const night of nightsOf(stay.from, stay.nights)) {
      const pool = `${stay.pool}.${night}`;
      pools[pool] = (pools[pool] ?? 0) + (stay.rooms ?? 1);
    }
  }
  return pools;
}

export interface StayTerms {
  /** One room, all nights, with the percentage fee on each. */
  priceMinor: number;
  /** Rooms that are free in every one of the nights. */
  free: number;
  nights: { date: string; priceMinor: number; free: number }[];
}

/** What a stay costs and how many rooms there are; `undefined` if one of its nights is not on sale at all. */
export function termsOf(kind: Kind, from: string, count: number): StayTerms | undefined {
  const nights = [];
  for (const date of nightsOf(from, count)) {
    const pool = kind.nights.get(date);
    if (!pool) return undefined;
    nights.push({ date, priceMinor: unitMinor(pool), free: pool.free });
  }
  return {
    priceMinor: nights.reduce((sum, night) => sum + night.priceMinor, 0),
    free: Math.min(...nights.map((night) => night.free)),
    nights,
  };
}

/** How many nights in a row from this one on are on sale. */
export function nightsFrom(kind: Kind, from: string, most: number): number {
  let count = 0;
  while (count < most && kind.nights.has(dayAfter(from, count))) count += 1;
  return count;
}
