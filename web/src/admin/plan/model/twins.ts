/**
 * Which chairs of a plan are on sale already under other ids: where they stand, or where they would if the
 * plan were moved.
 */
import type { SeatLike } from "../../../lib/seatmap/house";

export type Chair = Pick<SeatLike, "id" | "x" | "y">;

export interface Twins {
  count: number;
  /** They are if the plan is moved: it was, or it only has the shape of what is on sale. */
  isMoved: boolean;
}

/** In hundredths of a unit: what was summed up elsewhere may differ in the last digits. */
interface Spot {
  x: number;
  y: number;
}

interface Placed extends Spot {
  id: string;
}

/** The ids of what is on sale, by where it stands. */
type House = ReadonlyMap<string, ReadonlySet<string>>;

/** What comes of a plan that is moved, or stays where it is. */
interface Landing {
  /** Its seats that stand where something is on sale. */
  landed: readonly Placed[];
  /** How many of them have other ids than what is there. */
  twins: number;
}

/** How far a plan may have been moved, and how many pairs of seats tell of it. */
interface Move {
  by: Spot;
  pairs: number;
}

/** Pairs of seats that tell how far a plan was moved, at most; two seats of each shape are always asked. */
const MAX_PAIRS = 200_000;
/** So many moves are tried with all seats: those that most pairs tell of. */
const MAX_MOVES = 3;
/** What was moved was rounded, too: its places are a hundredth more or less. */
const NEAR = [-1, 0, 1];

/** How many seats of a plan are twins of what is on sale, by the move that most of the plan agrees on. */
export function twinsOf(plan: readonly Chair[], onSale: readonly Chair[]): Twins {
  const seats = plan.map(placed);
  // Those of no plan stand nowhere.
  const there = onSale.filter(({ x }) => x !== undefined).map(placed);
  const house = new Map<string, Set<string>>();
  for (const { id, x, y } of there) {
    const others = house.get(keyOf(x, y));
    if (others) others.add(id);
    else house.set(keyOf(x, y), new Set([id]));
  }
  const still = unmoved(seats, house);
  // No move brings more of the plan onto what is on sale.
  if (still.landed.length === seats.length) return { count: still.twins, isMoved: false };
  let best = still;
  for (const by of likelyMoves(seats, there)) {
    const next = moved(seats, house, by);
    // Of equals the first: a plan that was not moved says most.
    if (next.landed.length > best.landed.length && isTelling(next.landed, by, seats, there)) best = next;
  }
  return best.twins > still.twins
    ? { count: best.twins, isMoved: true }
    : { count: still.twins, isMoved: false };
}

function placed({ id, x = 0, y = 0 }: Chair): Placed {
  return { id, x: Math.round(x * 100), y: Math.round(y * 100) };
}

/** Whatever its section: ids follow that, too. */
function keyOf(x: number, y: number): string {
  return `${x} ${y}`;
}

function unmoved(seats: readonly Placed[], house: House): Landing {
  const landed = seats.filter(({ x, y }) => house.has(keyOf(x, y)));
  // Two of one plan may have been drawn on top of each other: each is there, then.
  return { landed, twins: landed.filter(({ id, x, y }) => !house.get(keyOf(x, y))!.has(id)).length };
}

function moved(seats: readonly Placed[], house: House, by: Spot): Landing {
  const landed: Placed[] = [];
  let twins = 0;
  let missed = 0;
  for (const seat of seats) {
    const ids = idsNear(house, seat.x + by.x, seat.y + by.y);
    if (ids) {
      landed.push(seat);
      if (!ids.has(seat.id)) twins += 1;
    } else {
      missed += 1;
      // It is no move to ask about any more.
      if (missed * 2 > seats.length) break;
    }
  }
  return { landed, twins };
}

function idsNear(house: House, x: number, y: number): ReadonlySet<string> | undefined {
  const ids = house.get(keyOf(x, y));
  if (ids) return ids;
  for (const dx of NEAR) {
    for (const dy of NEAR) {
      const near = house.get(keyOf(x + dx, y + dy));
      if (near) return near;
    }
  }
  return undefined;
}

/**
 * Whether a move is one to ask about. It brings half of the plan onto what is on sale; and that is half of
 * the house, or the plan stands over it in part and less than a neighbour away: a row that is added stands
 * behind the one it is like, or between two such.
 */
function isTelling(
  landed: readonly Placed[],
  by: Spot,
  seats: readonly Placed[],
  there: readonly Placed[],
): boolean {
  const [width, height] = [extentOf(landed, "x"), extentOf(landed, "y")];
  // One spot comes to lie on any other.
  if (landed.length * 2 < seats.length || (width === 0 && height === 0)) return false;
  if (landed.length * 2 >= there.length) return true;
  const isOver = (way: number, extent: number) => way === 0 || Math.abs(way) < extent;
  return isOver(by.x, width) && isOver(by.y, height) && Math.hypot(by.x, by.y) < usualWay(seats);
}

/** How far neighbours of a plan usually are from each other. */
function usualWay(seats: readonly Placed[]): number {
  const wayTo = ({ x, y }: Placed, nth: number) => Math.hypot(x - seats[nth]!.x, y - seats[nth]!.y);
  const ways = Float64Array.from(seats.slice(1), wayTo).sort();
  return ways[Math.floor(ways.length / 2)] ?? 0;
}

function extentOf(seats: readonly Placed[], axis: "x" | "y"): number {
  let [least, most] = [Infinity, -Infinity];
  for (const seat of seats) {
    least = Math.min(least, seat[axis]);
    most = Math.max(most, seat[axis]);
  }
  return most < least ? 0 : most - least;
}

/** Moves of the plan that bring seats onto such as their neighbours stand to alike, the likeliest first. */
function likelyMoves(seats: readonly Placed[], there: readonly Placed[]): Spot[] {
  const shapes = byShape(there);
  const shared = [...byShape(seats)]
    .map(([shape, own]) => ({ own, others: shapes.get(shape) ?? [] }))
    .filter(({ others }) => others.length > 0)
    // The rarest shapes first, such as the ends of rows: in the middle of a block all seats are alike.
    .sort((one, other) => one.own.length * one.others.length - other.own.length * other.others.length);
  const moves = new Map<string, Move>();
  let left = MAX_PAIRS;
  for (const { own, others } of shared) {
    const asked = someOf(own, Math.max(2, Math.floor(left / others.length)));
    left = Math.max(0, left - asked.length * others.length);
    for (const seat of asked) {
      for (const other of others) {
        const by = { x: other.x - seat.x, y: other.y - seat.y };
        const move = moves.get(keyOf(by.x, by.y));
        if (move) move.pairs += 1;
        else moves.set(keyOf(by.x, by.y), { by, pairs: 1 });
      }
    }
  }
  moves.delete(keyOf(0, 0));
  const likely: Move[] = [];
  for (const move of moves.values()) {
    if (likely.length === MAX_MOVES && compared(move, likely.at(-1)!) >= 0) continue;
    likely.push(move);
    likely.sort(compared);
    likely.splice(MAX_MOVES);
  }
  return likely.map(({ by }) => by);
}

/** The likelier first; a house may have many blocks of one shape, of which the nearest is likeliest. */
function compared(one: Move, other: Move): number {
  return other.pairs - one.pairs || Math.hypot(one.by.x, one.by.y) - Math.hypot(other.by.x, other.by.y);
}

/**
 * Seats by how those before and after them in the file stand to them. That stays when a plan is moved and
 * its rows are called something else; tenths of a unit, as hundredths may have been rounded.
 */
function byShape(seats: readonly Placed[]): Map<string, Placed[]> {
  const shapes = new Map<string, Placed[]>();
  for (const [nth, seat] of seats.entries()) {
    const shape = `${wayOf(seats[nth - 1], seat)}, ${wayOf(seat, seats[nth + 1])}`;
    const others = shapes.get(shape);
    if (others) others.push(seat);
    else shapes.set(shape, [seat]);
  }
  return shapes;
}

function wayOf(from: Placed | undefined, to: Placed | undefined): string {
  if (!from || !to) return "";
  return keyOf(Math.round((to.x - from.x) / 10), Math.round((to.y - from.y) / 10));
}

/** At most so many of them, at least two, from the first to the last. */
function someOf<T>(all: readonly T[], most: number): readonly T[] {
  if (all.length <= most) return all;
  const step = (all.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, nth) => all[Math.round(nth * step)]!);
}
