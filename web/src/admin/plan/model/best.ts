/**
 * How good seats are, as the server will rank them: what the plan leaves out it makes from the drawing.
 * The same rules as in `crates/api/src/plans/best.rs`, for the preview only.
 */
import { type Place, type Plan, placesOf, textOf } from "./document";

/** Steps of rank from the middle of a row to its ends. */
const STEPS = 3;

/** The rank of each seat, by its key. */
export function ranksOf(plan: Plan): Map<number, number> {
  const used = new Set(placesOf(plan).map(({ seat }) => seat.category ?? ""));
  const inUse = plan.categories.filter(({ name }) => used.has(name));
  const order = new Map(inUse.map(({ name }, nth) => [name, nth]));
  const rows: { category: number; distance: number; places: Place[] }[] = [];
  let before: string | undefined;
  for (const place of placesOf(plan)) {
    const name = JSON.stringify([place.zone.name ?? "", textOf(place.row.row_number)]);
    if (name !== before) rows.push({ category: 0, distance: 0, places: [] });
    before = name;
    rows.at(-1)!.places.push(place);
  }
  for (const row of rows) {
    const mean = (axis: "x" | "y") => row.places.reduce((sum, it) => sum + it[axis], 0) / row.places.length;
    row.distance = Math.round(Math.hypot(mean("x") - plan.size.width / 2, mean("y")));
    row.category = Math.min(...row.places.map(({ seat }) => order.get(seat.category ?? "") ?? Infinity));
    if (row.category === Infinity) row.category = 0;
  }
  const keyOf = (row: (typeof rows)[number]) => row.category * 10_000_000 + row.distance;
  const sorted = [...new Set(rows.map(keyOf))].sort((one, other) => one - other);
  const nthOf = new Map(sorted.map((key, nth) => [key, nth]));
  const ranks = new Map<number, number>();
  for (const row of rows) {
    const nth = nthOf.get(keyOf(row))!;
    const middle = (row.places.length - 1) / 2;
    for (const [at, { key, seat }] of row.places.entries()) {
      const fromMiddle = Math.abs(at - middle) / (middle + 0.5);
      const step = Math.min(Math.floor(fromMiddle * STEPS), STEPS - 1);
      ranks.set(key, seat.rank ?? nth * STEPS + step);
    }
  }
  return ranks;
}
