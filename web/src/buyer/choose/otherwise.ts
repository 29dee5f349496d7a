/** What buyers would rather have than nothing, as they say it before they ask for the best seats. */
import type { BestSeats, Booking, Category, OtherWish, Pool, Wish } from "../../api/schema";
import type { House } from "../../lib/seatmap/house";
import { LEAST_TO_SPLIT } from "./best-offers";
import { areTogether } from "./nearby";
import { poolsOf } from "./stock";
import { type Counts, outOfLimits, sorted, sumOf, typesFor, withBestTypes } from "./types";

/** As many other wishes as one request may name. */
export const MOST_OTHERS = 5;
/** So many seats fewer, at most, are asked about. */
const MOST_FEWER = 2;

/** A wish that may be named beside the first one. */
export interface Other {
  /** The same for the same thing, whatever else is asked for: `wider`, `pool standing`, `fewer 3`. */
  id: string;
  /** In groups; of any category and anywhere; units of a pool in place of seats; fewer seats. */
  is: "split" | "wider" | "pool" | "fewer";
  /** Seats, or units of the pool. */
  quantity: number;
  pool?: Pool;
  wish: OtherWish;
}

/** What can be had here beside the seats that are asked for. */
interface OnSale {
  categories: readonly Category[];
  /** Those of which any number can be had: no nights. */
  pools: readonly Pool[];
}

/**
 * What may be wanted rather than nothing by who asks for these best seats, the nearest to it first.
 * What else is chosen goes with each. None of them has ticket types that the buyer has not named, or
 * numbers of them that no booking may have.
 */
export function othersFor(first: Wish, { categories, pools }: OnSale): Other[] {
  const best = first.best;
  if (!best) return [];
  const { quantity, together, accessible } = best;
  const isAccessible = (accessible ?? 0) > 0;
  const types = first.types?.best ?? {};
  const beside = besideOf(first);
  const others: Other[] = [];
  const seats = (is: "split" | "wider" | "fewer", line: BestSeats, of: Counts) => {
    const id = is === "fewer" ? `fewer ${line.quantity}` : is;
    others.push({ id, is, quantity: line.quantity, wish: withBestTypes({ ...beside, best: line }, of) });
  };

  if (together === "must" && quantity >= LEAST_TO_SPLIT && !isAccessible)
    seats("split", { ...best, together: "prefer" }, types);

  if (best.categories || best.sections) {
    const offered = typesFor(categories, undefined);
    const areKnown = Object.keys(types).every((id) => offered.some((type) => type.id === id));
    if (areKnown && outOfLimits(offered, types).length === 0)
      seats("wider", { quantity, ...(isAccessible && { accessible }), together }, types);
  }

  // Who comes in a wheelchair is not sent to where people stand, and does not leave companions behind.
  if (isAccessible) return others;
  for (const pool of pools) {
    const of = typesOfPool(pool, beside.types?.pools?.[pool.pool] ?? {}, types, quantity);
    if (!of) continue;
    const units = quantity + (beside.pools?.[pool.pool] ?? 0);
    const wish = { ...beside, pools: sorted({ ...beside.pools, [pool.pool]: units }) };
    if (Object.keys(of).length > 0)
      wish.types = { ...beside.types, pools: sorted({ ...beside.types?.pools, [pool.pool]: of }) };
    others.push({ id: `pool ${pool.pool}`, is: "pool", quantity, pool, wish });
  }

  const [type, ...moreTypes] = Object.keys(types);
  // Which of several types is to be one less only the buyer knows.
  if (moreTypes.length > 0) return others;
  const offered = typesFor(categories, best.categories?.[0]);
  for (let fewer = quantity - 1; fewer > 0 && fewer >= quantity - MOST_FEWER; fewer -= 1) {
    const of = type === undefined ? {} : { [type]: fewer };
    if (outOfLimits(offered, of).length === 0) seats("fewer", { ...best, quantity: fewer }, of);
  }
  return others;
}

/** What is chosen beside the best seats, with its types. */
function besideOf({ pools, seats, stays, types }: Wish): OtherWish {
  const named = {
    ...(types?.pools && { pools: types.pools }),
    ...(types?.seats && { seats: types.seats }),
  };
  return {
    ...(pools && { pools }),
    ...(seats && { seats }),
    ...(stays && { stays }),
    ...(Object.keys(named).length > 0 && { types: named }),
  };
}

/** The wish, and what is wanted rather than nothing: who takes seats in groups takes all others so, too. */
export function withOthers(first: Wish, others: readonly Other[]): Wish {
  if (others.length === 0) return first;
  const mayBeSplit = others.some(({ is }) => is === "split");
  const otherwise = others.slice(0, MOST_OTHERS).map(({ wish }): OtherWish => {
    return mayBeSplit && wish.best ? { ...wish, best: { ...wish.best, together: "prefer" } } : wish;
  });
  return { ...first, otherwise };
}

/**
 * Whether something else is held than what was asked for first, the best seats. It is told by where the
 * seats are: which of the wishes was granted the server does not say.
 */
export function isOther(house: House, first: Wish, { lines }: Booking): boolean {
  const best = first.best;
  if (!best || !first.otherwise) return false;
  const named = new Set(first.seats);
  const seats = (lines.seats ?? []).filter((id) => !named.has(id)).map((id) => house.indexOf(id));
  const known = seats.filter((seat) => seat !== undefined);
  if (JSON.stringify(sorted(lines.pools ?? {})) !== JSON.stringify(sorted(poolsOf(first)))) return true;
  if (seats.length !== best.quantity) return true;
  const isWithin = (names: readonly string[] | undefined, name: string) => !names || names.includes(name);
  const areWithin = known.every((seat) => {
    const category = house.categories[house.category[seat]!]!.name;
    return (
      isWithin(best.categories, category) &&
      isWithin(best.sections, house.sections[house.section[seat]!]!.name)
    );
  });
  if (!areWithin) return true;
  const mayBeApart = first.otherwise.some((other) => other.best?.together === "prefer");
  return best.together === "must" && mayBeApart && !areTogether(house, known);
}

/** The types of a pool's units in place of seats of these; `undefined` where it has none such. */
function typesOfPool(pool: Pool, chosen: Counts, types: Counts, quantity: number): Counts | undefined {
  const [first] = pool.types ?? [];
  if (!pool.types || !first) return {};
  if (Object.keys(types).some((id) => !pool.types!.some((type) => type.id === id))) return undefined;
  const named = { ...chosen };
  for (const [id, count] of Object.entries(types)) named[id] = (named[id] ?? 0) + count;
  // Units of no named type are of the first.
  const unnamed = quantity - sumOf(types);
  const all = { ...named, [first.id]: (named[first.id] ?? 0) + unnamed };
  return outOfLimits(pool.types, all).length > 0 ? undefined : sorted(named);
}
