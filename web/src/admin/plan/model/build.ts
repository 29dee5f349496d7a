/** Rows of seats, made by the block: straight ones, and ones on circles around a middle. */
import {
  KEY,
  newKey,
  type Plan,
  placesOf,
  type Point,
  round,
  type Row,
  type Seat,
  textOf,
  type Zone,
} from "./document";
import { labelsAfter } from "./labels";
import { idMaker } from "./number";

export interface Block {
  /** A new one, or one to which rows are added. */
  section: string;
  shape: "straight" | "curved";
  rows: number;
  seats: number;
  /** Seats that each row has more than the one in front of it. */
  growth: number;
  seatGap: number;
  rowGap: number;
  /** Straight: the middle of the first row. Curved: the middle of the circles, such as the stage's. */
  x: number;
  y: number;
  /** Curved: how far the first row is from that middle. */
  radius: number;
  /** In degrees: 0 looks up to the stage; more is farther to the right, and turned with it. */
  angle: number;
  category: string;
}

/** What a block may be at most; the server takes no more in one plan. */
export const MAX_SEATS = 250_000;
export const MAX_ROWS = 500;
export const MAX_SEATS_IN_ROW = 1_000;

/** How many seats a block has. */
export function sizeOf({ rows, seats, growth }: Block): number {
  let size = 0;
  for (let row = 0; row < rows; row += 1) size += inRow(seats, growth, row);
  return size;
}

function inRow(seats: number, growth: number, row: number): number {
  return Math.max(1, seats + growth * row);
}

/** Why a block cannot be made, by the name of the sentence; `undefined` if it can. */
export function wrongWith(plan: Plan, block: Block): "block_numbers" | "block_too_large" | undefined {
  const { rows, seats, growth, seatGap, rowGap, radius, x, y, angle } = block;
  const isWhole = (value: number, most: number) => Number.isInteger(value) && value >= 1 && value <= most;
  const lengths = block.shape === "curved" ? [seatGap, rowGap, radius] : [seatGap, rowGap];
  const isSane = [x, y, angle, growth].every((number) => Math.abs(number) <= 100_000);
  if (!isWhole(rows, MAX_ROWS) || !isWhole(seats, MAX_SEATS_IN_ROW) || !Number.isInteger(growth) || !isSane)
    return "block_numbers";
  if (!lengths.every((length) => length > 0 && length <= 10_000)) return "block_numbers";
  if (placesOf(plan).length + sizeOf(block) > MAX_SEATS) return "block_too_large";
  return undefined;
}

/** The plan with the block, and the keys of its seats. Rows go on after the section's last label. */
export function addBlock(plan: Plan, block: Block): { plan: Plan; keys: Set<number> } {
  const idOf = idMaker(plan);
  const there = plan.zones.findIndex((zone) => (zone.name ?? "") === block.section);
  const zone: Zone = plan.zones[there] ?? {
    [KEY]: newKey(),
    name: block.section,
    ...{ zone_id: `zone-${plan.zones.length + 1}` },
    position: { x: round(block.x), y: round(block.y) },
    rows: [],
    areas: [],
  };
  const from = { x: zone.position?.x ?? 0, y: zone.position?.y ?? 0 };
  const before = zone.rows ?? [];
  // A plan may have several parts of one name, which are one section to buyers.
  const rowsThere = plan.zones
    .filter((zone) => (zone.name ?? "") === block.section)
    .flatMap(({ rows }) => rows ?? []);
  const labels = labelsAfter(rowsThere.map(({ row_number }) => textOf(row_number)));
  const keys = new Set<number>();
  const rows: Row[] = [];
  for (let nth = 0; nth < block.rows; nth += 1) {
    const name = labels.next().value;
    const seats = pointsOf(block, nth).map(({ x, y }, place): Seat => {
      const key = newKey();
      keys.add(key);
      return {
        [KEY]: key,
        seat_number: String(place + 1),
        seat_guid: idOf(block.section, name, String(place + 1)),
        position: { x: round(x - from.x), y: round(y - from.y) },
        category: block.category,
      };
    });
    rows.push({ [KEY]: newKey(), row_number: name, position: { x: 0, y: 0 }, seats });
  }
  const filled = { ...zone, rows: [...before, ...rows] };
  const zones =
    there < 0 ? [...plan.zones, filled] : plan.zones.map((it, nth) => (nth === there ? filled : it));
  return { plan: grown({ ...plan, zones }), keys };
}

/** Where the seats of one row are, from left to right as the stage is seen. */
function pointsOf(block: Block, row: number): Point[] {
  const count = inRow(block.seats, block.growth, row);
  const turn = (block.angle * Math.PI) / 180;
  const points: Point[] = [];
  for (let place = 0; place < count; place += 1) {
    const along = (place - (count - 1) / 2) * block.seatGap;
    if (block.shape === "curved") {
      const radius = block.radius + row * block.rowGap;
      const at = turn + along / radius;
      points.push({ x: block.x + radius * Math.sin(at), y: block.y + radius * Math.cos(at) });
    } else {
      const back = row * block.rowGap;
      points.push({
        x: block.x + along * Math.cos(turn) + back * Math.sin(turn),
        y: block.y - along * Math.sin(turn) + back * Math.cos(turn),
      });
    }
  }
  return points;
}

/** Below what is drawn, in the plan's units. */
const MARGIN = 30;

/**
 * The plan so high that its seats are within it. Its width stays: the middle of the upper edge is the
 * stage for the ranks.
 */
function grown(plan: Plan): Plan {
  const height = placesOf(plan).reduce(
    (most, { y }) => Math.max(most, Math.ceil(y + MARGIN)),
    plan.size.height,
  );
  return height === plan.size.height ? plan : { ...plan, size: { ...plan.size, height } };
}
