/**
 * A seating plan as it is edited: the pretix file itself, with a key for whatever can be chosen in it.
 * Nothing here changes a plan; whoever does makes another one that shares what stays. Members that we
 * do not know are carried along, and keys are not written: `JSON.stringify` leaves symbols out.
 */

/** Tells things of one plan apart, whatever they are called. */
export const KEY = Symbol("key");

export interface Keyed {
  [KEY]: number;
}

/** What people call something; most plans write a text, some a number. */
export type Name = string | number | null;

export interface Point {
  x: number;
  y: number;
}

export interface Seat extends Keyed {
  seat_guid: string;
  seat_number?: Name;
  position?: Point;
  category?: string;
  rank?: number | null;
  wheelchair?: boolean;
  companion_of?: string | null;
  easy_access?: boolean;
  restricted_view?: boolean;
}

export interface Row extends Keyed {
  row_number?: Name;
  position?: Point;
  seats?: Seat[];
}

export interface Area extends Keyed {
  shape: string;
  position?: Point;
  rotation?: number;
  color?: string | null;
  border_color?: string | null;
  rectangle?: { width: number; height: number } | null;
  circle?: { radius: number } | null;
  ellipse?: { radius: Point } | null;
  polygon?: { points: Point[] } | null;
  text?: { text?: string; position?: Point; color?: string | null; size?: number | null } | null;
}

export interface Zone extends Keyed {
  name?: string;
  position?: Point;
  rows?: Row[];
  areas?: Area[];
}

export interface Category {
  name: string;
  color?: string;
}

export interface Plan {
  name?: string;
  size: { width: number; height: number };
  categories: Category[];
  zones: Zone[];
}

/** The seats and areas that are chosen, by their keys. */
export type Keys = ReadonlySet<number>;

/** A seat with where it is. */
export interface Place {
  key: number;
  seat: Seat;
  row: Row;
  zone: Zone;
  /** From the left and from the top, in the plan's units. */
  x: number;
  y: number;
}

/** An area with where it is. */
export interface AreaPlace {
  key: number;
  area: Area;
  zone: Zone;
  x: number;
  y: number;
}

/** Colours of new categories, one after the other. */
export const COLOURS = ["#2f6fb0", "#b3261e", "#3f9a6b", "#d9772b", "#7b4fa3", "#0f8b8d"];
/** For categories whose plan has no colour. */
export const GREY = "#767b8c";

let last = 0;

/** A key that no other thing has. */
export function newKey(): number {
  last += 1;
  return last;
}

/** A plan with nothing in it but a first category, which seats need. */
export function emptyPlan(name: string, category: string): Plan {
  return {
    name,
    size: { width: 1_000, height: 800 },
    categories: [{ name: category, color: COLOURS[0]! }],
    zones: [],
  };
}

export function textOf(name: Name | undefined): string {
  return String(name ?? "");
}

const places = new WeakMap<Plan, Place[]>();
/** A change looks into the plan before it and the one after it; all others that can be undone need none. */
const MAX_INDEXES = 2;
/** The plans whose seats are listed, the newest last. */
const listed: WeakRef<Plan>[] = [];

/** All seats in the order of the plan; kept for the plans that were asked for last. */
export function placesOf(plan: Plan): readonly Place[] {
  let all = places.get(plan);
  if (!all) {
    all = listOf(plan);
    places.set(plan, all);
    listed.push(new WeakRef(plan));
    const oldest = listed.length > MAX_INDEXES ? listed.shift()!.deref() : undefined;
    if (oldest) places.delete(oldest);
  }
  return all;
}

function listOf(plan: Plan): Place[] {
  const all: Place[] = [];
  for (const zone of plan.zones) {
    for (const row of zone.rows ?? []) {
      for (const seat of row.seats ?? []) {
        const { x, y } = spotOf(seat, row, zone);
        all.push({ key: seat[KEY], seat, row, zone, x, y });
      }
    }
  }
  return all;
}

/** Where a seat is in the plan. */
export function spotOf(seat: Seat, row: Row, zone: Zone): Point {
  return {
    x: (zone.position?.x ?? 0) + (row.position?.x ?? 0) + (seat.position?.x ?? 0),
    y: (zone.position?.y ?? 0) + (row.position?.y ?? 0) + (seat.position?.y ?? 0),
  };
}

/** The seats of each row object that has some, by its key. */
export function rowsOf(plan: Plan): Map<number, Place[]> {
  const rows = new Map<number, Place[]>();
  for (const place of placesOf(plan)) {
    const others = rows.get(place.row[KEY]);
    if (others) others.push(place);
    else rows.set(place.row[KEY], [place]);
  }
  return rows;
}

/**
 * The seats of each row as it is to the server, which knows rows by their names: row objects that follow each
 * other with one section and number are one row, but for those without a number.
 */
export function wholeRowsOf(plan: Plan): Place[][] {
  const rows: Place[][] = [];
  let before: Place | undefined;
  for (const place of placesOf(plan)) {
    if (before && isOneRow(before, place)) rows.at(-1)!.push(place);
    else rows.push([place]);
    before = place;
  }
  return rows;
}

function isOneRow(one: Place, next: Place): boolean {
  if (one.row === next.row) return true;
  const number = textOf(next.row.row_number);
  const isSame = number === textOf(one.row.row_number) && (one.zone.name ?? "") === (next.zone.name ?? "");
  return isSame && number !== "";
}

/** The chosen seats by their row objects, all in the order of the plan; `all` seats of these. */
export function byRow(plan: Plan, keys: Keys): { all: Place[]; chosen: Place[] }[] {
  return [...rowsOf(plan).values()]
    .map((all) => ({ all, chosen: all.filter(({ key }) => keys.has(key)) }))
    .filter(({ chosen }) => chosen.length > 0);
}

export function areasOf(plan: Plan): AreaPlace[] {
  return plan.zones.flatMap((zone) =>
    (zone.areas ?? []).map((area) => ({
      key: area[KEY],
      area,
      zone,
      x: (zone.position?.x ?? 0) + (area.position?.x ?? 0),
      y: (zone.position?.y ?? 0) + (area.position?.y ?? 0),
    })),
  );
}

/** Hundredths of a unit are finer than any drawing. */
export function round(number: number): number {
  // Not -0, which JSON would write as 0 and a comparison would tell apart.
  return Math.round(number * 100) / 100 + 0;
}

/** The plan with these seats changed; what `change` gives back as it is stays the same object. */
export function mapSeats(plan: Plan, keys: Keys, change: (seat: Seat) => Seat): Plan {
  return mapRows(plan, (row) => {
    const seats = mapped(row.seats, (seat) => (keys.has(seat[KEY]) ? change(seat) : seat));
    return seats === row.seats ? row : { ...row, seats: seats! };
  });
}

export function mapRows(plan: Plan, change: (row: Row, zone: Zone) => Row): Plan {
  return mapZones(plan, (zone) => {
    const rows = mapped(zone.rows, (row) => change(row, zone));
    return rows === zone.rows ? zone : { ...zone, rows: rows! };
  });
}

export function mapAreas(plan: Plan, keys: Keys, change: (area: Area) => Area): Plan {
  return mapZones(plan, (zone) => {
    const areas = mapped(zone.areas, (area) => (keys.has(area[KEY]) ? change(area) : area));
    return areas === zone.areas ? zone : { ...zone, areas: areas! };
  });
}

export function mapZones(plan: Plan, change: (zone: Zone) => Zone): Plan {
  const zones = mapped(plan.zones, change)!;
  return zones === plan.zones ? plan : { ...plan, zones };
}

/** The same list if nothing in it is another. */
function mapped<T>(list: T[] | undefined, change: (item: T) => T): T[] | undefined {
  const changed = list?.map(change);
  return changed?.some((item, nth) => item !== list![nth]) ? changed : list;
}

/** The same thing without some of its members. */
export function without<T extends object, K extends keyof T>(thing: T, ...members: K[]): Omit<T, K> {
  const rest = { ...thing };
  for (const member of members) delete rest[member];
  return rest;
}
