/** How long a plan is on its way to the server. */
import { type Plan, placesOf, type Row } from "./document";

/** The longest request in which a plan is sent. */
export const MAX_SENT_BYTES = 32 * 1024 * 1024;
/** The longest price that the server takes, in minor units. */
const MAX_PRICE_MINOR = 1_000_000_000_000;

const encoder = new TextEncoder();
/** Most rows of a plan are those of the plan before. */
const rowBytes = new WeakMap<Row, number>();

/** The bytes of the request with the plan, and with the longest price for each category that has seats. */
export function sentBytes(plan: Plan): number {
  const used = new Set(placesOf(plan).map(({ seat }) => seat.category ?? ""));
  const prices = Object.fromEntries([...used].map((name) => [name, MAX_PRICE_MINOR]));
  const zones = plan.zones.map((zone) => (zone.rows ? { ...zone, rows: [] } : zone));
  let bytes = bytesOf({ plan: { ...plan, zones }, prices });
  for (const { rows = [] } of plan.zones) {
    for (const row of rows) {
      let own = rowBytes.get(row);
      if (own === undefined) rowBytes.set(row, (own = bytesOf(row)));
      bytes += own;
    }
    // The commas between them.
    bytes += Math.max(0, rows.length - 1);
  }
  return bytes;
}

function bytesOf(value: unknown): number {
  return encoder.encode(JSON.stringify(value)).length;
}
