/** Which free seats to offer: next to each other, of the category wanted, near a place. */
import { type House } from "../../lib/seatmap/house";

export interface Offer {
  seats: number[];
  /** Next to each other, all of them. */
  isTogether: boolean;
  /** What these are offered for: the choice without them. */
  replaces: number[];
}

/** Neighbours farther apart than this many ordinary distances have an aisle between them. */
const AISLE = 1.7;

/**
 * The seats between aisles: next to each other in their row. Only free ones that are anybody's, and none
 * of `taken`, are in a run.
 */
function* freeRuns(house: House, taken: ReadonlySet<number>): Iterable<number[]> {
  for (const row of house.rows) {
    let run: number[] = [];
    for (const seat of row.seats) {
      const last = run.at(-1);
      const isNext = last !== undefined && distance(house, last, seat) <= house.pitch * AISLE;
      const isFree = house.isFree(seat) && !taken.has(seat) && !house.isForWheelchairs(seat);
      if (run.length > 0 && !(isNext && isFree)) {
        yield run;
        run = [];
      }
      if (isFree) run.push(seat);
    }
    if (run.length > 0) yield run;
  }
}

export interface Wanted {
  count: number;
  /** Categories by index, in the order they are liked; others come last. */
  categories?: readonly number[];
  near: { x: number; y: number };
  /** A row in which seats count as half as far away. */
  row?: number;
  taken?: ReadonlySet<number>;
}

/** The best `count` free seats next to each other: of the category liked most, and nearest. */
export function together(house: House, wanted: Wanted): number[] | undefined {
  const liked = wanted.categories ?? [];
  let best: { seats: number[]; dislike: number; distance: number } | undefined;
  for (const run of freeRuns(house, wanted.taken ?? new Set())) {
    for (let from = 0; from + wanted.count <= run.length; from += 1) {
      const seats = run.slice(from, from + wanted.count);
      let dislike = 0;
      let away = 0;
      for (const seat of seats) {
        const place = liked.indexOf(house.category[seat]!);
        dislike = Math.max(dislike, place < 0 ? liked.length : place);
        const far = Math.hypot(house.x[seat]! - wanted.near.x, house.y[seat]! - wanted.near.y);
        away += (house.row[seat] === wanted.row ? far / 2 : far) / seats.length;
      }
      const isBetter = !best || dislike < best.dislike || (dislike === best.dislike && away < best.distance);
      if (isBetter) best = { seats, dislike, distance: away };
    }
  }
  return best?.seats;
}

/**
 * What to take in place of seats that were lost. A group that sat together is offered to sit
 * together elsewhere; seats that stood alone, or a group too large for what is left, are replaced
 * one by one, near where they were. What was lost is not offered, also where the house does not know yet
 * that it is gone. For a wheelchair place or its companion's seat no ordinary one will do, and which
 * other place does only those know who come with it: there is no offer.
 */
export function offerFor(house: House, lost: readonly number[], kept: readonly number[]): Offer | undefined {
  const isForWheelchairs = (seat: number) => house.isForWheelchairs(seat);
  if (lost.length === 0 || lost.some(isForWheelchairs)) return undefined;
  const group = [...lost, ...kept];
  const wanted = {
    categories: unique(lost.map((seat) => house.category[seat]!)),
    near: middleOf(house, lost),
    row: house.row[lost[0]!]!,
  };
  // Whose group has a wheelchair place stays there.
  if (group.length > 1 && !kept.some(isForWheelchairs) && areTogether(house, group)) {
    // Those that are still held on to are part of the best place, if their neighbours are free.
    const seats = together(house, { ...wanted, count: group.length, taken: new Set(lost) });
    if (seats) return { seats, isTogether: true, replaces: [...group] };
  }
  const taken = new Set(group);
  const block = together(house, { ...wanted, count: lost.length, taken });
  if (block) return { seats: block, isTogether: lost.length > 1, replaces: [...lost] };
  const singles: number[] = [];
  for (const seat of lost) {
    const near = { x: house.x[seat]!, y: house.y[seat]! };
    const one = together(house, { count: 1, categories: [house.category[seat]!], near, taken });
    if (!one) return undefined;
    singles.push(one[0]!);
    taken.add(one[0]!);
  }
  return { seats: singles, isTogether: false, replaces: [...lost] };
}

/** Whether these seats are one run of a row. */
export function areTogether(house: House, seats: readonly number[]): boolean {
  const row = house.rows[house.row[seats[0]!]!]!;
  const wanted = new Set(seats);
  const places = [...row.seats.keys()].filter((place) => wanted.has(row.seats[place]!));
  if (places.length !== wanted.size) return false;
  return places.every((place, at) => {
    if (at === 0) return true;
    const isNext = place === places[at - 1]! + 1;
    return isNext && distance(house, row.seats[place - 1]!, row.seats[place]!) <= house.pitch * AISLE;
  });
}

function middleOf(house: House, seats: readonly number[]): { x: number; y: number } {
  let x = 0;
  let y = 0;
  for (const seat of seats) {
    x += house.x[seat]! / seats.length;
    y += house.y[seat]! / seats.length;
  }
  return { x, y };
}

function distance(house: House, a: number, b: number): number {
  return Math.hypot(house.x[a]! - house.x[b]!, house.y[a]! - house.y[b]!);
}

function unique(values: number[]): number[] {
  return [...new Set(values)];
}
