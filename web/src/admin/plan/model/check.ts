/** What is wrong with a plan: what the server refuses, and what somebody may not have meant. */
import { MAX_SEATS } from "./build";
import { type Area, areasOf, type Place, type Plan, placesOf, rowsOf, textOf, usualGap } from "./document";
import { MAX_RANK } from "./mark";

/** The sentence's name in the catalogue, after `check_`. */
export type Finding =
  | "no_seats"
  | "too_many_seats"
  | "same_id"
  | "bad_id"
  | "no_category"
  | "same_category"
  | "unnamed_category"
  | "too_many_categories"
  | "no_place"
  | "two_marks"
  | "bad_rank"
  | "too_far"
  | "too_long"
  | "too_many_areas"
  | "bad_area"
  | "same_name"
  | "on_top"
  | "empty_category"
  | "unnamed_row"
  | "unnamed_seat"
  | "split_row"
  | "long_row"
  | "outside";

export interface Problem {
  finding: Finding;
  /** The server refuses it; else it is a warning. */
  isError: boolean;
  /** A seat, row or category that has it, for the sentence. */
  name: string;
  /** How many there are. */
  n: number;
  /** The seats and areas that it is about. */
  keys: readonly number[];
}

const MAX_TEXT_CHARS = 500;
const MAX_COORDINATE = 1_000_000;
const MAX_AREAS = 1_000;
const MAX_POINTS = 500;
const MAX_CATEGORIES = 1_000;
/** Seats that the rules take for one run, at most. */
const MAX_RUN = 250;
const ID = /^[A-Za-z0-9._-]{1,128}$/;
const COLOUR = /^(#([0-9a-fA-F]{3}|[0-9a-fA-F]{4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})|[A-Za-z]{1,30})$/;
// Signs that do not show, or that make the letters around them run the other way.
const HIDDEN = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
/** Nearer than this share of the usual distance, seats are on top of each other. */
const TOO_NEAR = 0.45;

/** All there is, errors first. */
export function check(plan: Plan): Problem[] {
  const seats = placesOf(plan);
  const found = [
    ...checkCount(seats),
    ...checkIds(seats),
    ...checkCategories(plan, seats),
    ...checkMarks(seats),
    ...checkSizes(plan, seats),
    ...checkAreas(plan),
    ...checkNames(seats),
    ...checkPlaces(plan, seats),
  ];
  return [...found.filter(({ isError }) => isError), ...found.filter(({ isError }) => !isError)];
}

/** What a file must not have to be opened: what else is wrong with it can be mended here. */
export function obstacle(plan: Plan): Problem | undefined {
  const seats = placesOf(plan);
  return [...checkCount(seats), ...checkIds(seats)].find(
    ({ finding }) => finding === "too_many_seats" || finding === "same_id",
  );
}

function of(
  finding: Finding,
  isError: boolean,
  name: string,
  keys: readonly number[],
  n = keys.length,
): Problem {
  return { finding, isError, name, keys, n };
}

/** One problem of all that are wrong in the same way, named by the first. */
function all(finding: Finding, isError: boolean, wrong: readonly Place[], name = nameOf): Problem[] {
  if (wrong.length === 0) return [];
  const keys = wrong.map(({ key }) => key);
  return [of(finding, isError, name(wrong[0]!), keys)];
}

/** How a seat is told in a sentence. */
export function nameOf({ seat, row, zone }: Place): string {
  const parts = [zone.name ?? "", textOf(row.row_number), textOf(seat.seat_number)];
  return parts.filter((part) => part !== "").join(" ") || seat.seat_guid;
}

function checkCount(seats: readonly Place[]): Problem[] {
  if (seats.length === 0) return [of("no_seats", true, "", [])];
  if (seats.length > MAX_SEATS) return [of("too_many_seats", true, "", [], seats.length)];
  return [];
}

function checkIds(seats: readonly Place[]): Problem[] {
  const bad = seats.filter(({ seat }) => !ID.test(seat.seat_guid));
  const twice = groups(seats, ({ seat }) => seat.seat_guid).flat();
  const idOf = ({ seat }: Place) => seat.seat_guid;
  return [...all("same_id", true, twice, idOf), ...all("bad_id", true, bad, idOf)];
}

/** Those that have something in common with others. */
function groups(seats: readonly Place[], by: (place: Place) => string): Place[][] {
  const found = new Map<string, Place[]>();
  for (const place of seats) {
    const others = found.get(by(place));
    if (others) others.push(place);
    else found.set(by(place), [place]);
  }
  return [...found.values()].filter((group) => group.length > 1);
}

function checkCategories(plan: Plan, seats: readonly Place[]): Problem[] {
  const names = plan.categories.map(({ name }) => name);
  const known = new Set(names);
  const used = new Set(seats.map(({ seat }) => seat.category ?? ""));
  const problems = all(
    "no_category",
    true,
    seats.filter(({ seat }) => !known.has(seat.category ?? "")),
  );
  if (names.length > MAX_CATEGORIES) problems.push(of("too_many_categories", true, "", [], names.length));
  const twice = names.find((name, nth) => names.indexOf(name) !== nth);
  if (twice !== undefined) problems.push(of("same_category", true, twice, [], 2));
  if (known.has("")) problems.push(of("unnamed_category", true, "", []));
  for (const name of known) if (!used.has(name)) problems.push(of("empty_category", false, name, []));
  return problems;
}

function checkMarks(seats: readonly Place[]): Problem[] {
  const wheelchairs = new Set(seats.filter(({ seat }) => seat.wheelchair).map(({ seat }) => seat.seat_guid));
  const lost = ({ seat }: Place) => !!seat.companion_of && !wheelchairs.has(seat.companion_of);
  const both = ({ seat }: Place) => seat.wheelchair === true && !!seat.companion_of;
  const isRank = (rank: number) => rank >= 0 && rank <= MAX_RANK;
  return [
    ...all("no_place", true, seats.filter(lost)),
    ...all("two_marks", true, seats.filter(both)),
    ...all(
      "bad_rank",
      true,
      seats.filter(({ seat }) => typeof seat.rank === "number" && !isRank(seat.rank)),
    ),
  ];
}

function isFar(...numbers: (number | undefined)[]): boolean {
  return numbers.some((number) => Math.abs(number ?? 0) > MAX_COORDINATE);
}

function isLong(text: string | undefined): boolean {
  // Signs beyond the first 65,536 are two in `length`.
  return text !== undefined && text.length > MAX_TEXT_CHARS && [...text].length > MAX_TEXT_CHARS;
}

function checkSizes(plan: Plan, seats: readonly Place[]): Problem[] {
  const far = seats.filter(({ seat, row, zone }) =>
    [seat.position, row.position, zone.position].some((at) => isFar(at?.x, at?.y)),
  );
  const long = seats.filter(({ seat, row, zone }) =>
    [seat.category, textOf(seat.seat_number), textOf(row.row_number), zone.name].some(isLong),
  );
  const problems = [...all("too_far", true, far), ...all("too_long", true, long)];
  if (isFar(plan.size.width, plan.size.height)) problems.push(of("too_far", true, plan.name ?? "", []));
  if (isLong(plan.name)) problems.push(of("too_long", true, plan.name!.slice(0, 40), []));
  return problems;
}

function checkAreas(plan: Plan): Problem[] {
  const areas = areasOf(plan);
  if (areas.length > MAX_AREAS) return [of("too_many_areas", true, "", [], areas.length)];
  const bad = areas.filter(({ area, zone }) => isBad(area) || isFar(zone.position?.x, zone.position?.y));
  if (bad.length === 0) return [];
  const [first] = bad;
  return [
    of(
      "bad_area",
      true,
      first!.area.text?.text || first!.area.shape,
      bad.map(({ key }) => key),
    ),
  ];
}

function isBad({
  position,
  rotation,
  color,
  border_color,
  rectangle,
  circle,
  ellipse,
  polygon,
  text,
}: Area): boolean {
  const isColour = (colour: string | null | undefined) => !colour || COLOUR.test(colour);
  const radii = [circle?.radius, ellipse?.radius.x, ellipse?.radius.y];
  return (
    isFar(position?.x, position?.y, rotation, rectangle?.width, rectangle?.height, ...radii) ||
    isFar(text?.position?.x, text?.position?.y) ||
    radii.some((radius) => radius !== undefined && radius < 0) ||
    (polygon?.points.length ?? 0) > MAX_POINTS ||
    (polygon?.points ?? []).some(({ x, y }) => isFar(x, y)) ||
    ![color, border_color, text?.color].every(isColour) ||
    isLong(text?.text) ||
    HIDDEN.test(text?.text?.trim() ? text.text : "") ||
    (typeof text?.size === "number" && (text.size < 0 || text.size > 10_000))
  );
}

function checkNames(seats: readonly Place[]): Problem[] {
  const named = seats.filter(
    ({ row, seat }) => textOf(row.row_number) !== "" && textOf(seat.seat_number) !== "",
  );
  const full = ({ zone, row, seat }: Place) =>
    JSON.stringify([zone.name ?? "", textOf(row.row_number), textOf(seat.seat_number)]);
  const rowOf = ({ zone }: Place) => zone.name || "–";
  return [
    ...all("same_name", false, groups(named, full).flat()),
    ...all("split_row", false, splitRows(named), ({ zone, row }) =>
      `${zone.name ?? ""} ${textOf(row.row_number)}`.trim(),
    ),
    ...all(
      "unnamed_row",
      false,
      seats.filter(({ row }) => textOf(row.row_number) === ""),
      rowOf,
    ),
    ...all(
      "unnamed_seat",
      false,
      seats.filter(({ seat }) => textOf(seat.seat_number) === ""),
    ),
  ];
}

/** Seats of rows that have a name together with another row of their section. */
function splitRows(seats: readonly Place[]): Place[] {
  const byName = groups(seats, ({ zone, row }) => JSON.stringify([zone.name ?? "", textOf(row.row_number)]));
  return byName.filter((group) => group.some(({ row }) => row !== group[0]!.row)).flat();
}

function checkPlaces(plan: Plan, seats: readonly Place[]): Problem[] {
  const { width, height } = plan.size;
  const outside = seats.filter(({ x, y }) => x < 0 || y < 0 || x > width || y > height);
  const long: Place[] = [];
  let usual = Infinity;
  for (const row of rowsOf(plan).values()) {
    if (row.length > MAX_RUN) long.push(...row);
    const gap = usualGap(row);
    if (gap > 0) usual = Math.min(usual, gap);
  }
  return [
    ...all("on_top", false, usual === Infinity ? sameSpots(seats) : tooNear(seats, usual * TOO_NEAR)),
    ...all("long_row", false, long),
    ...all("outside", false, outside),
  ];
}

function sameSpots(seats: readonly Place[]): Place[] {
  return groups(seats, ({ x, y }) => `${x} ${y}`).flat();
}

/** Seats that have another one nearer than this, found by the squares of a grid. */
function tooNear(seats: readonly Place[], reach: number): Place[] {
  const squares = new Map<string, Place[]>();
  const square = (x: number, y: number) => `${Math.floor(x / reach)} ${Math.floor(y / reach)}`;
  const near = new Set<Place>();
  for (const place of seats) {
    for (const dx of [-reach, 0, reach]) {
      for (const dy of [-reach, 0, reach]) {
        // Where nearly all are in one spot, one neighbour says enough.
        const other = squares
          .get(square(place.x + dx, place.y + dy))
          ?.find((it) => Math.hypot(it.x - place.x, it.y - place.y) < reach);
        if (other) near.add(other).add(place);
      }
    }
    const own = square(place.x, place.y);
    const others = squares.get(own);
    if (!others) squares.set(own, [place]);
    // A square has room for a few that are not too near; the rest would be found by these.
    else if (others.length < 16) others.push(place);
  }
  return seats.filter((place) => near.has(place));
}
