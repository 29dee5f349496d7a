/** Names of rows and seats by a scheme, and ids that tell them. */
import {
  byRow,
  KEY,
  type Keys,
  mapRows,
  mapSeats,
  type Name,
  type Place,
  type Plan,
  placesOf,
  textOf,
} from "./document";

export interface Scheme {
  style: "numbers" | "letters";
  /** The first one; for letters 1 is A. */
  start: number;
  which: "all" | "odd" | "even";
  /**
   * Rows begin in front or at the back, seats on the left, on the right, or in the middle: then odd
   * ones go to the left and even ones to the right.
   */
  from: "front" | "back" | "left" | "right" | "middle";
  /** Without I and O, which look like 1 and 0. */
  skipsIO: boolean;
}

/** `letters(1)` is A, `letters(27)` AA. */
export function letters(nth: number, alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"): string {
  let name = "";
  for (let rest = nth; rest > 0; rest = Math.floor((rest - 1) / alphabet.length)) {
    name = alphabet[(rest - 1) % alphabet.length]! + name;
  }
  return name;
}

/** The first so many names of a scheme. */
export function names(scheme: Scheme, count: number): string[] {
  const parity = scheme.which === "all" ? undefined : scheme.which === "odd" ? 1 : 0;
  const step = parity === undefined ? 1 : 2;
  const first = parity === undefined || scheme.start % 2 === parity ? scheme.start : scheme.start + 1;
  return Array.from({ length: count }, (_, nth) => nameOf(scheme, first + nth * step));
}

function nameOf(scheme: Scheme, nth: number): string {
  if (scheme.style === "numbers") return String(nth);
  return letters(Math.max(1, nth), scheme.skipsIO ? "ABCDEFGHJKLMNPQRSTUVWXYZ" : undefined);
}

/** Names the rows of the chosen seats, each section's by itself. */
export function numberRows(plan: Plan, keys: Keys, scheme: Scheme): Plan {
  const bySection = new Map<number, { key: number; distance: number }[]>();
  for (const { all } of byRow(plan, keys)) {
    const { row, zone } = all[0]!;
    const rows = bySection.get(zone[KEY]) ?? [];
    rows.push({ key: row[KEY], distance: fromStage(plan, all) });
    bySection.set(zone[KEY], rows);
  }
  const named = new Map<number, string>();
  for (const rows of bySection.values()) {
    rows.sort((one, other) => one.distance - other.distance);
    if (scheme.from === "back") rows.reverse();
    for (const [nth, name] of names(scheme, rows.length).entries()) named.set(rows[nth]!.key, name);
  }
  return idsFollow(plan, (before) =>
    mapRows(before, (row) => {
      const name = named.get(row[KEY]);
      return name === undefined || name === row.row_number ? row : { ...row, row_number: name };
    }),
  );
}

/** Numbers the chosen seats, each row's by themselves. */
export function numberSeats(plan: Plan, keys: Keys, scheme: Scheme): Plan {
  const named = new Map<number, string>();
  for (const { chosen } of byRow(plan, keys)) {
    const places = leftToRight(chosen);
    const count = places.length;
    if (scheme.from === "middle") {
      const left = places.slice(0, Math.ceil(count / 2)).reverse();
      const right = places.slice(Math.ceil(count / 2));
      const odd = names({ ...scheme, which: "odd" }, left.length);
      const even = names({ ...scheme, which: "even" }, right.length);
      for (const [nth, { key }] of left.entries()) named.set(key, odd[nth]!);
      for (const [nth, { key }] of right.entries()) named.set(key, even[nth]!);
      continue;
    }
    if (scheme.from === "right") places.reverse();
    for (const [nth, name] of names(scheme, count).entries()) named.set(places[nth]!.key, name);
  }
  return idsFollow(plan, (before) =>
    mapSeats(before, new Set(named.keys()), (seat) => {
      const name = named.get(seat[KEY])!;
      return seat.seat_number === name ? seat : { ...seat, seat_number: name };
    }),
  );
}

/** As people look at the stage; a row that stands upright keeps its order. */
function leftToRight(row: readonly Place[]): Place[] {
  const isBackwards = row.length > 1 && row.at(-1)!.x < row[0]!.x - 1e-6;
  return isBackwards ? [...row].reverse() : [...row];
}

/** The stage is taken to be in the middle of the upper edge, as the server does. */
function fromStage(plan: Plan, row: readonly Place[]): number {
  const x = row.reduce((sum, place) => sum + place.x, 0) / row.length;
  const y = row.reduce((sum, place) => sum + place.y, 0) / row.length;
  return Math.hypot(x - plan.size.width / 2, y);
}

/**
 * Gives seats that a change has named anew the ids of their names. Companions go on with their places.
 */
export function idsFollow(before: Plan, change: (plan: Plan) => Plan): Plan {
  const after = change(before);
  if (after === before) return before;
  const was = new Map(placesOf(before).map((place) => [place.key, nameKey(place)]));
  const renamed = placesOf(after).filter((place) => was.get(place.key) !== nameKey(place));
  const keys = new Set(renamed.map(({ key }) => key));
  const idOf = idMaker(after, keys);
  const ids = new Map<number, string>();
  const moved = new Map<string, string>();
  for (const { key, seat, row, zone } of renamed) {
    const id = idOf(zone.name ?? "", textOf(row.row_number), textOf(seat.seat_number));
    ids.set(key, id);
    moved.set(seat.seat_guid, id);
  }
  return mapRows(after, (row) => {
    const seats = row.seats?.map((seat) => {
      const seat_guid = ids.get(seat[KEY]) ?? seat.seat_guid;
      const place = seat.companion_of ? moved.get(seat.companion_of) : undefined;
      if (seat_guid === seat.seat_guid && place === undefined) return seat;
      return { ...seat, seat_guid, ...(place !== undefined && { companion_of: place }) };
    });
    return seats?.some((seat, nth) => seat !== row.seats![nth]) ? { ...row, seats } : row;
  });
}

function nameKey({ seat, row, zone }: Place): string {
  return JSON.stringify([zone.name ?? "", textOf(row.row_number), textOf(seat.seat_number)]);
}

/** Makes ids of names that no seat of the plan has, but for those that get new ones. */
export function idMaker(
  plan: Plan,
  but: Keys = new Set(),
): (section: string, row: Name, seat: string) => string {
  const taken = new Set<string>();
  for (const { key, seat } of placesOf(plan)) if (!but.has(key)) taken.add(seat.seat_guid);
  const sections = new Map<string, string>();
  return (section, row, seat) => {
    let prefix = sections.get(section);
    if (prefix === undefined) {
      prefix = plain(section).slice(0, 60);
      if (prefix === "") {
        // A name in other letters has none that an id may have: its place in the plan tells it.
        const nth = plan.zones.findIndex((zone) => (zone.name ?? "") === section);
        prefix = `S${nth < 0 ? plan.zones.length + 1 : nth + 1}`;
      }
      sections.set(section, prefix);
    }
    const parts = [prefix, plain(textOf(row)).slice(0, 25), plain(seat).slice(0, 25)];
    const wanted = parts.filter((part) => part !== "").join("-");
    let id = wanted;
    for (let nth = 2; taken.has(id); nth += 1) id = `${wanted}.${nth}`;
    taken.add(id);
    return id;
  };
}

/** What an id may have of a name. */
function plain(name: string): string {
  const bare = name.normalize("NFKD").replace(/\p{M}/gu, "");
  return bare.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^-+|-+$/g, "");
}
