/** Where things stand: moved, turned, taken out, and set apart by aisles. */
import {
  areasOf,
  KEY,
  type Keys,
  mapAreas,
  mapSeats,
  type Place,
  type Plan,
  placesOf,
  type Point,
  round,
  wholeRowsOf,
  without,
} from "./document";
import { aislesIn, orderOf, roomsIn } from "./order";

/** Which way what was moved to make a plan. */
interface Move {
  keys: Keys;
  x: number;
  y: number;
}
const moves = new WeakMap<Plan, Move>();

/** Moves what is chosen. */
export function moveBy(plan: Plan, keys: Keys, x: number, y: number): Plan {
  if (x === 0 && y === 0) return plan;
  const moved = <T extends { position?: Point }>(thing: T): T => ({
    ...thing,
    position: {
      ...thing.position,
      x: round((thing.position?.x ?? 0) + x),
      y: round((thing.position?.y ?? 0) + y),
    },
  });
  const next = mapAreas(mapSeats(plan, keys, moved), keys, moved);
  if (next !== plan) moves.set(next, { keys, x, y });
  return next;
}

/** Whether both plans were made by the same move of the same things, as a held key makes them. */
export function isSameMove(plan: Plan, next: Plan): boolean {
  const [one, other] = [moves.get(plan), moves.get(next)];
  if (!one || !other || one.x !== other.x || one.y !== other.y) return false;
  return one.keys.size === other.keys.size && [...one.keys].every((key) => other.keys.has(key));
}

/** Turns what is chosen around its middle, by degrees to the right. */
export function rotate(plan: Plan, keys: Keys, degrees: number): Plan {
  const middle = middleOf(plan, keys);
  if (!middle || degrees % 360 === 0) return plan;
  const turn = (degrees * Math.PI) / 180;
  const ways = new Map<number, Point>();
  for (const { key, x, y } of [...placesOf(plan), ...areasOf(plan)]) {
    if (!keys.has(key)) continue;
    const to = turned({ x, y }, middle, turn);
    ways.set(key, { x: to.x - x, y: to.y - y });
  }
  const moved = shifted(plan, ways);
  return mapAreas(moved, keys, (area) => ({
    ...area,
    rotation: round(((area.rotation ?? 0) + degrees) % 360),
  }));
}

/** The middle of the box around what is chosen. */
export function middleOf(plan: Plan, keys: Keys): Point | undefined {
  const points = [...placesOf(plan), ...areasOf(plan)].filter(({ key }) => keys.has(key));
  if (points.length === 0) return undefined;
  const middle = (axis: "x" | "y") => {
    const all = points.map((point) => point[axis]).sort((one, other) => one - other);
    return (all[0]! + all.at(-1)!) / 2;
  };
  return { x: middle("x"), y: middle("y") };
}

/** Takes out what is chosen, with the rows and sections of which nothing is left. */
export function remove(plan: Plan, keys: Keys): Plan {
  const ids = new Set<string>();
  for (const { key, seat } of placesOf(plan)) if (keys.has(key)) ids.add(seat.seat_guid);
  const zones = plan.zones.flatMap((zone) => {
    const rows = zone.rows?.flatMap((row) => {
      const left = row.seats?.filter((seat) => !keys.has(seat[KEY]));
      if (left?.length === row.seats?.length) return [row];
      return left!.length === 0 ? [] : [{ ...row, seats: left! }];
    });
    const areas = zone.areas?.filter((area) => !keys.has(area[KEY]));
    const isSame =
      areas?.length === zone.areas?.length &&
      rows?.length === zone.rows?.length &&
      (rows ?? []).every((row, nth) => row === zone.rows![nth]);
    if (isSame) return [zone];
    if ((rows ?? []).length === 0 && (areas ?? []).length === 0) return [];
    return [{ ...zone, ...(rows && { rows }), ...(areas && { areas }) }];
  });
  const isSame = zones.length === plan.zones.length && zones.every((zone, nth) => zone === plan.zones[nth]);
  if (isSame) return plan;
  // A companion's seat whose place is gone is a seat like any other.
  const orphans = new Set<number>();
  const left = { ...plan, zones };
  for (const { key, seat } of placesOf(left)) {
    if (seat.companion_of && ids.has(seat.companion_of)) orphans.add(key);
  }
  return mapSeats(left, orphans, (seat) => without(seat, "companion_of"));
}

/** What stands beside an aisle, in the whole plan, by the key of the seat before it. */
export function aislesOf(plan: Plan): Set<number> {
  const found = new Set<number>();
  for (const all of wholeRowsOf(plan)) {
    for (const nth of aislesIn(all)) found.add(all[nth]!.key);
  }
  return found;
}

/**
 * The rows of the chosen seats, in which both sides of an aisle give way. Not those that are listed otherwise
 * than they stand: of the seats after one in the file, some are on either side of it.
 */
function rowsAround(plan: Plan, keys: Keys): Place[][] {
  const isMeant = (row: readonly Place[]) => row.some(({ key }) => keys.has(key)) && !orderOf(row).isJumbled;
  return wholeRowsOf(plan).filter(isMeant).flatMap(partsOf).filter(isMeant);
}

/**
 * A row, or those parts of it that give way by themselves. Where the file jumps from one row object over its
 * seats to another, as from the odd ones on the left to the even ones on the right, the other does not go on
 * where the one ends.
 */
function partsOf(row: Place[]): Place[][] {
  if (row[0]!.row === row.at(-1)!.row) return [row];
  const { jumps } = orderOf(row);
  const parts: Place[][] = [];
  for (const [nth, place] of row.entries()) {
    const isNext = nth > 0 && (row[nth - 1]!.row === place.row || !jumps.has(nth - 1));
    if (isNext) parts.at(-1)!.push(place);
    else parts.push([place]);
  }
  return parts;
}

/**
 * After which seats of a row an aisle is wished for: the last chosen one of each of its row objects, but for
 * the row's last seat and where the chosen ones go on in the next object.
 */
function lastChosen(row: readonly Place[], keys: Keys): number[] {
  const last = new Map<number, number>();
  for (const [nth, place] of row.entries()) if (keys.has(place.key)) last.set(place.row[KEY], nth);
  return [...last.values()].filter((nth) => nth < row.length - 1 && !keys.has(row[nth + 1]!.key));
}

/**
 * Makes room for an aisle after the last chosen seat of each row object. Both parts of the row give way by
 * half of it, along the row's own curve. A row that is listed otherwise than it stands stays as it is.
 * @param width in seats
 */
export function addAisle(plan: Plan, keys: Keys, width: number): Plan {
  const ways = new Map<number, Point>();
  for (const all of rowsAround(plan, keys)) {
    const { usual } = orderOf(all);
    const rooms = lastChosen(all, keys).map((after) => ({ after, room: usual[after]! * width }));
    if (rooms.length > 0) addWays(all, parted(all, rooms), ways);
  }
  return shifted(plan, ways);
}

/**
 * Closes the aisles beside the chosen seats, but for those between which another seat stands, and those of a
 * row that is listed otherwise than it stands.
 */
export function removeAisles(plan: Plan, keys: Keys): Plan {
  const ways = new Map<number, Point>();
  for (const all of rowsAround(plan, keys)) {
    const places = closed(all, keys);
    if (places !== all) addWays(all, places, ways);
  }
  return shifted(plan, ways);
}

/** How the seats of a row come from where they are to where they will be. */
function addWays(from: readonly Place[], to: readonly Place[], ways: Map<number, Point>): void {
  for (const [nth, { key, x, y }] of from.entries()) {
    ways.set(key, { x: to[nth]!.x - x, y: to[nth]!.y - y });
  }
}

/** Rounds in which the aisles of a row close: on a curve the first leaves a little of a wide one. */
const MAX_ROUNDS = 8;

/** Where the seats of a row are without the aisles beside those chosen. */
function closed(row: readonly Place[], keys: Keys): readonly Place[] {
  let places = row;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const order = orderOf(places);
    const { gaps, usual } = order;
    const aisles = roomsIn(order).filter(
      (nth) => usual[nth]! > 0 && (keys.has(places[nth]!.key) || keys.has(places[nth + 1]!.key)),
    );
    if (aisles.length === 0) break;
    places = parted(
      places,
      aisles.map((after) => ({ after, room: usual[after]! - gaps[after]! })),
    );
  }
  return places;
}

/** Room in a row after one of its seats; less than 0 takes some away. */
interface Room {
  after: number;
  room: number;
}

/**
 * Where the seats of a row are with this room, in the row's order. What is before it and what is after
 * it give way by half of it each, along the row's own curve.
 */
function parted(row: readonly Place[], rooms: readonly Room[]): Place[] {
  const circle = circleOf(row);
  // All ways, as if each seat stood before all that room; then those it stands after, one by one.
  const way = { x: 0, y: 0, along: 0 };
  const add = ({ after, room }: Room) => {
    const [before, next] = [row[after]!, row[after + 1]!];
    const length = Math.hypot(next.x - before.x, next.y - before.y) || 1;
    way.x += ((next.x - before.x) / length) * room;
    way.y += ((next.y - before.y) / length) * room;
    way.along += room;
  };
  for (const { after, room } of rooms) add({ after, room: -room / 2 });
  let passed = 0;
  return row.map((place, nth) => {
    for (; passed < rooms.length && rooms[passed]!.after < nth; passed += 1) add(rooms[passed]!);
    const to = circle
      ? turned(place, circle.middle, (way.along / circle.radius) * circle.sense)
      : { x: place.x + way.x, y: place.y + way.y };
    return { ...place, ...to };
  });
}

interface Circle {
  middle: Point;
  radius: number;
  /** 1 if the row goes round to the right. */
  sense: 1 | -1;
}

/** The circle that a row is on; `undefined` if it is straight, or no curve. */
export function circleOf(row: readonly Place[]): Circle | undefined {
  if (row.length < 3) return undefined;
  const [a, b, c] = [row[0]!, row[Math.floor(row.length / 2)]!, row.at(-1)!];
  const cross = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
  const span = Math.hypot(c.x - a.x, c.y - a.y);
  // Flatter than this is straight: drawings are rounded.
  if (span === 0 || Math.abs(cross) / span < 0.002 * span + 0.05) return undefined;
  const square = (point: Point) => point.x ** 2 + point.y ** 2;
  const twice = 2 * (a.x * (b.y - c.y) + b.x * (c.y - a.y) + c.x * (a.y - b.y));
  const middle = {
    x: (square(a) * (b.y - c.y) + square(b) * (c.y - a.y) + square(c) * (a.y - b.y)) / twice,
    y: (square(a) * (c.x - b.x) + square(b) * (a.x - c.x) + square(c) * (b.x - a.x)) / twice,
  };
  const radius = Math.hypot(a.x - middle.x, a.y - middle.y);
  const isOn = row.every(
    ({ x, y }) => Math.abs(Math.hypot(x - middle.x, y - middle.y) - radius) < radius * 0.02,
  );
  return isOn ? { middle, radius, sense: cross > 0 ? 1 : -1 } : undefined;
}

function turned(point: Point, middle: Point, turn: number): Point {
  const [x, y] = [point.x - middle.x, point.y - middle.y];
  return {
    x: middle.x + x * Math.cos(turn) - y * Math.sin(turn),
    y: middle.y + x * Math.sin(turn) + y * Math.cos(turn),
  };
}

/** Moves each thing by its own way. */
function shifted(plan: Plan, ways: ReadonlyMap<number, Point>): Plan {
  const move = <T extends { [KEY]: number; position?: Point }>(thing: T): T => {
    const way = ways.get(thing[KEY])!;
    const position = {
      ...thing.position,
      x: round((thing.position?.x ?? 0) + way.x),
      y: round((thing.position?.y ?? 0) + way.y),
    };
    const isSame = position.x === thing.position?.x && position.y === thing.position.y;
    return isSame ? thing : { ...thing, position };
  };
  const keys = new Set(ways.keys());
  return mapAreas(mapSeats(plan, keys, move), keys, move);
}

/** What the plan's drawing reaches to. */
export interface Extent {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/**
 * Makes the plan as large as what is drawn in it, with a margin. What was in the middle of its width
 * stays there: the stage, for the ranks.
 */
export function fitSize(plan: Plan, extent: Extent, margin = 30): Plan {
  const middle = plan.size.width / 2;
  const half = Math.ceil(Math.max(middle - extent.left, extent.right - middle)) + margin;
  const x = round(half - middle);
  const y = round(margin - extent.top);
  const width = half * 2;
  const height = Math.ceil(extent.bottom - extent.top) + 2 * margin;
  const isSame = x === 0 && y === 0 && width === plan.size.width && height === plan.size.height;
  if (isSame) return plan;
  const zones = plan.zones.map((zone) => ({
    ...zone,
    position: { x: round((zone.position?.x ?? 0) + x), y: round((zone.position?.y ?? 0) + y) },
  }));
  return { ...plan, size: { ...plan.size, width, height }, zones };
}
