/** What a row of the drawing, `GET /events/{event}/seats/plan`, says of the seat at a place in it. */
import type { SeatPlanRow } from "../../api/schema";

export function idIn(row: SeatPlanRow, nth: number): string {
  return row.prefix + row.ids[nth]!;
}

/** `undefined` where no map has these seats. */
export function numberIn(row: SeatPlanRow, nth: number): string | undefined {
  return row.x && (row.numbers?.[nth] ?? row.ids[nth]);
}

/** The category's place in the plan's. */
export function categoryIn(row: SeatPlanRow, nth: number): number {
  return typeof row.category === "number" ? row.category : row.category[nth]!;
}
