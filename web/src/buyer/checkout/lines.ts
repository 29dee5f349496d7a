/**
 * The lines of a booking as people read them: seats by where they are, nights of a stay together,
 * pools by name.
 */
import { path, persist } from "../../api/client";
import type { Availability, CostLine, Lines, TypeOfUnit, UnitsOfType } from "../../api/schema";
import { day } from "../../lib/format";
import { t } from "../../lib/i18n.svelte";
import { nightOf, poolName } from "../../lib/pools";
import { seatNames } from "../../lib/seatmap/names";
import { recall, remember, type Names } from "./memory";

export interface SeatLine {
  kind: "seat";
  seat: string;
  section: string;
  row: string;
  number: string;
  category?: string;
  /** What it was bought as, where that is one of several things. */
  type?: TypeOfUnit;
  /** Missing where the price could not be found out. */
  priceMinor?: number;
  hasRestrictedView?: true;
}

export interface PoolLine {
  kind: "pool";
  pool: string;
  units: number;
  type?: TypeOfUnit;
  /** Of one unit. */
  priceMinor?: number;
}

export interface StayLine {
  kind: "stay";
  /** The kind of room: the pools' name without the night. */
  room: string;
  /** The first night, as `2026-12-24`. */
  from: string;
  nights: number;
  rooms: number;
  type?: TypeOfUnit;
  /** Of all rooms and nights together. */
  priceMinor?: number;
}

export type Line = SeatLine | PoolLine | StayLine;

const DAY_MS = 24 * 3_600_000;
/** How long a page waits for names before it is shown without them. */
const MOMENT_MS = 1_000;

/**
 * Reads what a booking's lines are called. A house may have tens of thousands of seats, so what was found
 * out about a booking is remembered: its lines never change.
 */
export async function namesOf(booking: string, event: string, lines: Lines): Promise<Names> {
  const known = recall(booking).names;
  if (known) return known;
  const [stock, seats] = await Promise.all([
    lines.pools ? persist<Availability>(path`/events/${event}/availability`) : undefined,
    seatNames(event, lines.seats ?? []),
  ]);
  const names: Names = { seats, pools: {} };
  for (const pool of stock?.pools ?? []) {
    if (lines.pools?.[pool.pool] !== undefined) names.pools[pool.pool] = pool.price_minor;
  }
  remember(booking, { names });
  return names;
}

/** Waits a moment for names, and no longer: those that come at once spare the page a second drawing. */
export async function briefly(named: Promise<unknown>): Promise<void> {
  await Promise.race([named, new Promise((resolve) => setTimeout(resolve, MOMENT_MS))]);
}

/** So many units of a pool that are of one type or of none. */
interface Part {
  units: number;
  type?: TypeOfUnit;
  /** Of one unit. */
  priceMinor?: number;
}

interface Night extends Part {
  room: string;
  from: string;
}

/**
 * The lines to show. Without names, seats are called by their ids and prices are left out. What has a
 * ticket type costs what the booking says, each type in a line of its own.
 */
export function readableLines(
  lines: Lines,
  names: Names | undefined,
  types: readonly UnitsOfType[] = [],
): Line[] {
  const pools: Line[] = [];
  const nights: Night[] = [];
  for (const [pool, units] of Object.entries(lines.pools ?? {})) {
    const night = nightOf(pool);
    for (const part of partsOf(pool, { units, priceMinor: names?.pools[pool] }, types)) {
      if (night) nights.push({ room: night.room, from: night.date, ...part });
      else pools.push({ kind: "pool", pool, ...part });
    }
  }
  const seats = (lines.seats ?? []).map((seat): Line => {
    const name = names?.seats[seat];
    const line: SeatLine = { kind: "seat", seat, section: "", row: "", number: seat, ...name };
    const of = types.find(({ seats }) => seats?.includes(seat));
    return of ? { ...line, type: of.type, priceMinor: of.price_minor } : line;
  });
  return [...pools, ...staysOf(nights), ...seats];
}

function partsOf(pool: string, all: Part, types: readonly UnitsOfType[]): Part[] {
  const parts = types.flatMap(({ type, price_minor, pools }): Part[] => {
    const units = pools?.[pool];
    return units === undefined ? [] : [{ units, type, priceMinor: price_minor }];
  });
  return parts.length > 0 ? parts : [all];
}

function staysOf(nights: Night[]): Line[] {
  const stays: StayLine[] = [];
  const typeName = ({ type }: { type?: TypeOfUnit }) => type?.name ?? "";
  nights.sort(
    (a, b) =>
      a.room.localeCompare(b.room) || typeName(a).localeCompare(typeName(b)) || a.from.localeCompare(b.from),
  );
  for (const { room, from, units, type, priceMinor } of nights) {
    const costMinor = priceMinor === undefined ? undefined : priceMinor * units;
    const last = stays.at(-1);
    const isLike = last?.room === room && last.rooms === units && last.type?.id === type?.id;
    if (last && isLike && dayAfter(last.from, last.nights) === from) {
      last.nights += 1;
      const isPriced = last.priceMinor !== undefined && costMinor !== undefined;
      last.priceMinor = isPriced ? last.priceMinor! + costMinor : undefined;
    } else {
      const of = type && { type };
      stays.push({ kind: "stay", room, from, nights: 1, rooms: units, ...of, priceMinor: costMinor });
    }
  }
  return stays;
}

/** The day so many days after another. */
export function dayAfter(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** What all units of a line cost. */
export function costMinor(line: Line): number | undefined {
  if (line.kind !== "pool") return line.priceMinor;
  return line.priceMinor === undefined ? undefined : line.priceMinor * line.units;
}

/** Whether the lines' prices add up to what the booking costs. If not, showing them would mislead. */
export function areTrue(lines: Line[], unitsMinor: number): boolean {
  let sum = 0;
  for (const line of lines) {
    const cost = costMinor(line);
    if (cost === undefined) return false;
    sum += cost;
  }
  return sum === unitsMinor;
}

export function lineTitle(line: Line): string {
  switch (line.kind) {
    case "seat":
      return seatName(line);
    case "pool":
      return unitsName(line.units, poolName(line.pool), line.type);
    case "stay":
      return t("checkout.rooms_of_kind", { rooms: line.rooms, kind: poolName(line.room) });
  }
}

/** Units of a pool by what they are bought as: "2 × Child, Standing". */
function unitsName(units: number, pool: string, type: TypeOfUnit | undefined): string {
  if (!type) return t("checkout.units_of_pool", { units, pool });
  return t("checkout.units_of_type", { units, type: type.name, pool });
}

/** The same where a line stands alone, without its note: a seat with its type. */
export function wholeTitle(line: Line): string {
  const title = lineTitle(line);
  return line.kind === "pool" || !line.type
    ? title
    : t("checkout.unit_as_type", { unit: title, type: line.type.name });
}

/** What stands below a line's title. */
export function lineNote(line: Line): string | undefined {
  const notes = [];
  if (line.kind === "seat" && line.category && line.category !== line.section) notes.push(line.category);
  if (line.kind === "seat" && line.hasRestrictedView) notes.push(t("checkout.restricted_view"));
  if (line.kind === "stay") {
    const to = day(dayAfter(line.from, line.nights));
    notes.push(t("checkout.nights", { from: day(line.from), to, n: line.nights }));
  }
  if (line.kind !== "pool" && line.type) notes.push(line.type.name);
  if (line.type?.proof) notes.push(t("checkout.bring_proof"));
  return notes.length > 0 ? notes.join(" · ") : undefined;
}

export function seatName(seat: { section: string; row: string; number: string }): string {
  const { section, row, number } = seat;
  if (section && row) return t("checkout.seat_in_section_and_row", { section, row, seat: number });
  if (section) return t("checkout.seat_in_section", { section, seat: number });
  if (row) return t("checkout.seat_in_row", { row, seat: number });
  return t("checkout.seat", { seat: number });
}

/** Seats by where they are, those of a row together: "Stalls, row A, seats 4, 5, and 6". */
export function seatsByRow(lines: readonly Line[], language: string): string[] {
  const rows = new Map<string, SeatLine[]>();
  for (const line of lines) {
    if (line.kind !== "seat") continue;
    const key = JSON.stringify([line.section, line.row]);
    rows.set(key, [...(rows.get(key) ?? []), line]);
  }
  return [...rows.values()].map((seats) => {
    const { section, row } = seats[0]!;
    const numbers = seats.map(({ number }) => number);
    numbers.sort((a, b) => a.localeCompare(b, language, { numeric: true }));
    const values = { section, row, n: seats.length, seats: new Intl.ListFormat(language).format(numbers) };
    if (section && row) return t("checkout.seats_in_section_and_row", values);
    if (section) return t("checkout.seats_in_section", values);
    if (row) return t("checkout.seats_in_row", values);
    return t("checkout.seats_alone", values);
  });
}

/** What one ticket lets its bearer into. */
export function unitName(unit: { pool?: string; seat?: string }, names: Names | undefined): string {
  if (unit.seat !== undefined) {
    return seatName(names?.seats[unit.seat] ?? { section: "", row: "", number: unit.seat });
  }
  const pool = unit.pool ?? "";
  const night = nightOf(pool);
  if (night) return t("checkout.one_night", { kind: poolName(night.room), date: day(night.date) });
  return poolName(pool);
}

/** What a line of the summary is about: units, a seat, or the fees. */
export function summaryTitle(line: CostLine, names: Names | undefined): string {
  if (line.pool === undefined && line.seat === undefined) return t("checkout.fees");
  const name = unitName(line, names);
  if ((line.quantity ?? 1) > 1) return unitsName(line.quantity!, name, line.type);
  return line.type ? t("checkout.unit_as_type", { unit: name, type: line.type.name }) : name;
}

/** The few letters by which people tell their bookings apart; an organiser's search finds it by them. */
export function reference(booking: string): string {
  const random = /\.([0-9a-f]{32})$/.exec(booking)?.[1];
  return random ? random.slice(0, 8).toUpperCase() : booking;
}
