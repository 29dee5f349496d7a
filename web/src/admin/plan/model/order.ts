/**
 * How the seats of a row follow each other in the file, and how far neighbours are from each other: by the
 * same rules as in `crates/api/src/plans/best.rs`.
 */
import type { Point } from "./document";

/** Farther apart than so many times the usual distance in their row, seats have an aisle between them. */
const AISLE = 1.6;
/**
 * A seat that is nearer to the middle between two others than this share of their distance stands between
 * them: on a straight row, and on one that turns by up to some 160 degrees from one of them to the other.
 */
const BETWEEN = 0.45;
/** So many seats are looked at between two, as a run can have; a longer row has aisles anyway. */
const MAX_LOOKS = 250;

/** Where a seat of a row is, and in which of the row's objects. */
interface Spot extends Point {
  row?: object;
}

export interface Order {
  /** How far each seat is from the one before. */
  gaps: readonly number[];
  /**
   * The usual distance of neighbours by which each gap is judged: inside a row object that object's own,
   * since armchairs may go on where chairs end; between two of them the whole row's, as in all of a jumbled
   * row.
   */
  usual: readonly number[];
  /** After which seats the file jumps over another one of the row. */
  jumps: ReadonlySet<number>;
  /** A jump is no farther than neighbours seem to be: the row is listed by number, say. */
  isJumbled: boolean;
}

/** The order of a row, whose seats come as they are listed. */
export function orderOf(row: readonly Spot[]): Order {
  const gaps = gapsOf(row);
  const along = alongOf(row);
  const standing = [...row].sort((one, other) => one[along] - other[along]);
  const jumps = new Set<number>();
  for (const nth of gaps.keys()) {
    if (hasBetween(standing, along, row[nth]!, row[nth + 1]!)) jumps.add(nth);
  }
  const listed = middleOf(gaps);
  // Then the file does not tell how far neighbours are.
  const isJumbled = [...jumps].some((nth) => gaps[nth]! <= listed * AISLE);
  const whole = isJumbled ? middleOf(gapsOf(standing)) : listed;
  const usual = isJumbled ? gaps.map(() => whole) : usualOf(row, gaps, whole);
  return { gaps, usual, jumps, isJumbled };
}

/** The seats after which their row has an aisle, as the server finds them. */
export function aislesIn(row: readonly Spot[]): number[] {
  const { gaps, usual, jumps } = orderOf(row);
  return gaps.flatMap((gap, nth) => (jumps.has(nth) || gap > usual[nth]! * AISLE ? [nth] : []));
}

/** The aisles that are gaps, without another seat between: they can be closed. */
export function roomsIn({ gaps, usual, jumps }: Order): number[] {
  return gaps.flatMap((gap, nth) => (!jumps.has(nth) && gap > usual[nth]! * AISLE ? [nth] : []));
}

function usualOf(row: readonly Spot[], gaps: readonly number[], whole: number): number[] {
  const usual = gaps.map(() => whole);
  let from = 0;
  for (let to = 1; to <= row.length; to += 1) {
    if (to < row.length && row[to]!.row === row[from]!.row) continue;
    const own = middleOf(gaps.slice(from, to - 1));
    usual.fill(own, from, to - 1);
    from = to;
  }
  return usual;
}

function gapsOf(row: readonly Point[]): number[] {
  return row.slice(1).map((place, nth) => Math.hypot(place.x - row[nth]!.x, place.y - row[nth]!.y));
}

function middleOf(gaps: readonly number[]): number {
  const sorted = [...gaps].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** The longer side of a row. */
function alongOf(row: readonly Point[]): "x" | "y" {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const { x, y } of row) {
    box.left = Math.min(box.left, x);
    box.right = Math.max(box.right, x);
    box.top = Math.min(box.top, y);
    box.bottom = Math.max(box.bottom, y);
  }
  return box.bottom - box.top > box.right - box.left ? "y" : "x";
}

/** Without `Math.hypot`, which is not the same to the last digit on the server. */
function square(x: number, y: number): number {
  return x * x + y * y;
}

/** Whether a seat of the row stands between these two; `standing` is sorted along the row. */
function hasBetween(standing: readonly Point[], along: "x" | "y", one: Point, next: Point): boolean {
  const reach = Math.sqrt(square(next.x - one.x, next.y - one.y)) * BETWEEN;
  const [x, y] = [(one.x + next.x) / 2, (one.y + next.y) / 2];
  const middle = (one[along] + next[along]) / 2;
  let [from, to] = [0, standing.length];
  while (from < to) {
    const half = (from + to) >> 1;
    if (standing[half]![along] <= middle - reach) from = half + 1;
    else to = half;
  }
  for (let at = from; at < Math.min(standing.length, from + MAX_LOOKS); at += 1) {
    const seat = standing[at]!;
    if (seat[along] >= middle + reach) return false;
    if (square(seat.x - x, seat.y - y) < reach * reach) return true;
  }
  return false;
}
