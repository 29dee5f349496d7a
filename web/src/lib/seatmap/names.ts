/** What seats are called: by section, row and number, as the drawing has them. */
import { path, persist } from "../../api/client";
import type { SeatPlan } from "../../api/schema";
import { categoryIn, idIn, numberIn } from "./plan-row";

export interface SeatName {
  /** Empty where no map has the seat, as `row` is. */
  section: string;
  row: string;
  /** The seat's id where no map has it. */
  number: string;
  category: string;
  priceMinor?: number;
  hasRestrictedView?: true;
}

/** A drawing may be large and a line slow; nobody waits for it to the end. */
const PLAN_PATIENCE_MS = 120_000;

/** Reads the drawing for the names of these seats, by their ids. @throws as `persist` does. */
export async function seatNames(event: string, seats: readonly string[]): Promise<Record<string, SeatName>> {
  if (seats.length === 0) return {};
  const drawing = path`/events/${event}/seats/plan`;
  return namesIn(await persist<SeatPlan>(drawing, { patienceMs: PLAN_PATIENCE_MS }), new Set(seats));
}

function namesIn(plan: SeatPlan, wanted: ReadonlySet<string>): Record<string, SeatName> {
  const names: Record<string, SeatName> = {};
  for (const drawn of plan.rows) {
    for (const nth of drawn.ids.keys()) {
      const id = idIn(drawn, nth);
      if (!wanted.has(id)) continue;
      const { section = "", row = "" } = drawn;
      const category = plan.categories[categoryIn(drawn, nth)]!;
      const number = numberIn(drawn, nth) ?? id;
      const name = { section, row, number, category: category.name, priceMinor: category.price_minor };
      names[id] = drawn.traits?.[nth]?.restricted_view ? { ...name, hasRestrictedView: true } : name;
    }
  }
  return names;
}
