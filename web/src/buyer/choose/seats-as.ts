/** How this browser shows seats to those who choose them one by one: as it was asked to the last time. */
import { store } from "../../lib/store";

export type SeatsAs = "map" | "list";

const STORED = "onrush.seats_as";

export function usualSeatsAs(): SeatsAs {
  const stored = store.get(STORED);
  if (stored === "map" || stored === "list") return stored;
  // Where colours are forced, a canvas of colours is of little use.
  return matchMedia("(forced-colors: active)").matches ? "list" : "map";
}

export function keepSeatsAs(as: SeatsAs): void {
  store.set(STORED, as);
}
