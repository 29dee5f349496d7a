/** Sections: called something else, filled with seats of others, and copied to the other side. */
import {
  byRow,
  KEY,
  type Keys,
  newKey,
  type Place,
  type Plan,
  placesOf,
  round,
  type Row,
  type Seat,
  without,
  type Zone,
} from "./document";
import { idMaker, idsFollow } from "./number";

/** The names of sections, each once: a file may have two of one name. */
export function sectionsOf(plan: Plan): string[] {
  return [...new Set(plan.zones.flatMap(({ name }) => name || []))];
}

/**
 * Calls a section something else; ids stay, as others may know them. A name that another section
 * has is refused by no change.
 */
export function renameSection(plan: Plan, zone: number, name: string): Plan {
  if (plan.zones.some((it) => it[KEY] !== zone && it.name === name)) return plan;
  const zones = plan.zones.map((it) => (it[KEY] === zone && it.name !== name ? { ...it, name } : it));
  return zones.some((it, nth) => it !== plan.zones[nth]) ? { ...plan, zones } : plan;
}

/** Puts the chosen seats into another section, where they are; their ids follow. */
export function moveToSection(plan: Plan, keys: Keys, name: string): Plan {
  const moving = new Set<number>();
  for (const { key, zone } of placesOf(plan)) {
    if (keys.has(key) && (zone.name ?? "") !== name) moving.add(key);
  }
  if (moving.size === 0) return plan;
  return idsFollow(plan, (before) => {
    const target = sectionOf(before, name);
    const rows = byRow(before, moving).map(({ all, chosen }): Row => {
      const { row } = chosen[0]!;
      const seats = chosen.map((place) => placed(place.seat, place, target));
      const isWhole = chosen.length === all.length;
      return { ...row, [KEY]: isWhole ? row[KEY] : newKey(), position: { x: 0, y: 0 }, seats };
    });
    const left = before.zones.flatMap((zone) => {
      const kept = zone.rows?.flatMap((row) => {
        const seats = row.seats?.filter((seat) => !moving.has(seat[KEY]));
        if (seats?.length === row.seats?.length) return [row];
        return seats!.length === 0 ? [] : [{ ...row, seats: seats! }];
      });
      const isEmpty = (kept ?? []).length === 0 && (zone.areas ?? []).length === 0;
      const wasEmpty = (zone.rows ?? []).length === 0;
      return isEmpty && !wasEmpty && zone[KEY] !== target[KEY]
        ? []
        : [{ ...zone, ...(kept && { rows: kept }) }];
    });
    return withRows({ ...before, zones: left }, target, rows);
  });
}

/**
 * Copies the chosen seats to the other side of the plan's middle, into another section. Rows and
 * numbers are the same there, so that number 1 is outside on both sides, or inside.
 */
export function copyMirrored(plan: Plan, keys: Keys, name: string): { plan: Plan; keys: Set<number> } {
  const target = sectionOf(plan, name);
  const idOf = idMaker(plan);
  const copies = new Set<number>();
  const ids = new Map<string, string>();
  const rows = byRow(plan, keys).map(({ chosen }): Row => {
    const { row } = chosen[0]!;
    const seats = [...chosen].reverse().map(({ seat, x, y }): Seat => {
      const key = newKey();
      copies.add(key);
      const id = idOf(name, row.row_number ?? "", String(seat.seat_number ?? ""));
      ids.set(seat.seat_guid, id);
      const copy = { ...seat, [KEY]: key, seat_guid: id };
      return placed(copy, { x: plan.size.width - x, y }, target);
    });
    return { ...row, [KEY]: newKey(), position: { x: 0, y: 0 }, seats };
  });
  // A companion's seat goes with the copy of its place, and is anybody's where that was not copied.
  for (const row of rows) {
    row.seats = row.seats!.map((seat) => {
      if (!seat.companion_of) return seat;
      const place = ids.get(seat.companion_of);
      return place === undefined ? without(seat, "companion_of") : { ...seat, companion_of: place };
    });
  }
  if (rows.length === 0) return { plan, keys: copies };
  return { plan: withRows(plan, target, rows), keys: copies };
}

/** The section of this name, or a new one. */
function sectionOf(plan: Plan, name: string): Zone {
  const found = plan.zones.find((zone) => (zone.name ?? "") === name);
  const zone_id = `zone-${plan.zones.length + 1}`;
  return found ?? { [KEY]: newKey(), name, ...{ zone_id }, position: { x: 0, y: 0 }, rows: [], areas: [] };
}

/** A seat at a point of the plan, as it is written in a section. */
function placed(seat: Seat, at: Pick<Place, "x" | "y">, zone: Zone): Seat {
  const x = round(at.x - (zone.position?.x ?? 0));
  const y = round(at.y - (zone.position?.y ?? 0));
  return { ...seat, position: { ...seat.position, x, y } };
}

function withRows(plan: Plan, target: Zone, rows: Row[]): Plan {
  const at = plan.zones.findIndex((zone) => zone[KEY] === target[KEY]);
  const zone = plan.zones[at] ?? target;
  const filled = { ...zone, rows: [...(zone.rows ?? []), ...rows] };
  const zones = at < 0 ? [...plan.zones, filled] : plan.zones.map((it, nth) => (nth === at ? filled : it));
  return { ...plan, zones };
}
