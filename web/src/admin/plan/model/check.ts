/** What is wrong with a plan: what the server refuses, and what somebody may not have meant. */
import { MAX_SEATS } from "./build";
import { MAX_SENT_BYTES, sentBytes } from "./bytes";
import {
  type AreaPlace,
  areasOf,
  type Name,
  type Place,
  type Plan,
  placesOf,
  textOf,
  wholeRowsOf,
} from "./document";
import { isRank } from "./mark";
import { orderOf } from "./order";
import { isColour, isLong, isTurned, saysSomething } from "./texts";

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
  | "turned_text"
  | "bad_colour"
  | "bad_number"
  | "too_many_bytes"
  | "too_many_areas"
  | "bad_area"
  | "same_name"
  | "on_top"
  | "empty_category"
  | "unnamed_row"
  | "unnamed_seat"
  | "split_row"
  | "long_row"
  | "jumbled_row"
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

const MAX_COORDINATE = 1_000_000;
const MAX_AREAS = 1_000;
const MAX_POINTS = 500;
const MAX_WORDS_SIZE = 10_000;
const MAX_CATEGORIES = 1_000;
/** What a row or a seat is called by a number has 32 bits at most. */
const [MIN_NUMBER, MAX_NUMBER] = [-(2 ** 31), 2 ** 31 - 1];
const MIB = 1024 * 1024;
/** Seats that the rules take for one run, at most. */
const MAX_RUN = 250;
const ID = /^[A-Za-z0-9._-]{1,128}$/;
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
    ...checkTexts(plan, seats),
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

function rowNameOf({ zone, row }: Place): string {
  return `${zone.name ?? ""} ${textOf(row.row_number)}`.trim();
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
  const seen = new Set<string>();
  const twice = names.find((name) => seen.size === seen.add(name).size);
  if (twice !== undefined) problems.push(of("same_category", true, twice, [], 2));
  if (known.has("")) problems.push(of("unnamed_category", true, "", []));
  const pale = plan.categories.filter(({ color }) => !isColour(color));
  if (pale.length > 0) problems.push(of("bad_colour", true, pale[0]!.name, [], pale.length));
  for (const name of known) if (!used.has(name)) problems.push(of("empty_category", false, name, []));
  return problems;
}

function checkMarks(seats: readonly Place[]): Problem[] {
  const wheelchairs = new Set(seats.filter(({ seat }) => seat.wheelchair).map(({ seat }) => seat.seat_guid));
  // An empty text is the id of no place.
  const lost = ({ seat: { companion_of: place } }: Place) =>
    typeof place === "string" && !wheelchairs.has(place);
  const both = ({ seat }: Place) => seat.wheelchair === true && typeof seat.companion_of === "string";
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

function checkSizes(plan: Plan, seats: readonly Place[]): Problem[] {
  const far = seats.filter(({ seat, row, zone }) =>
    [seat.position, row.position, zone.position].some((at) => isFar(at?.x, at?.y)),
  );
  const wide = seats.filter(({ seat, row }) => isWide(seat.seat_number) || isWide(row.row_number));
  const problems = [...all("too_far", true, far), ...all("bad_number", true, wide)];
  if (isFar(plan.size.width, plan.size.height)) problems.push(of("too_far", true, plan.name ?? "", []));
  const bytes = sentBytes(plan);
  if (bytes > MAX_SENT_BYTES) problems.push(of("too_many_bytes", true, "", [], Math.ceil(bytes / MIB)));
  return problems;
}

function isWide(name: Name | undefined): boolean {
  return typeof name === "number" && (name < MIN_NUMBER || name > MAX_NUMBER);
}

/** Names of seats, with their rows, sections and categories; then all that no seat has in its own. */
function checkTexts(plan: Plan, seats: readonly Place[]): Problem[] {
  const parts = [...plan.zones, ...plan.categories].map(({ name }) => name);
  const named = ({ seat, row, zone }: Place) => [
    zone.name,
    seat.category,
    textOf(row.row_number),
    textOf(seat.seat_number),
  ];
  // Thousands of seats have the same few texts.
  const texts = new Set([plan.name, ...parts]);
  for (const place of seats) for (const text of named(place)) texts.add(text);
  const wrongs = [
    ["too_long", isLong],
    ["turned_text", isTurned],
  ] as const;
  return wrongs.flatMap(([finding, isWrong]) => {
    const bad = new Set([...texts].filter(isWrong));
    if (bad.size === 0) return [];
    const wrong = seats.filter((place) => named(place).some((text) => bad.has(text)));
    const said = new Set(wrong.flatMap(({ zone, seat }) => [zone.name, seat.category]));
    const others = [plan.name, ...parts.filter((name) => !said.has(name))].filter(isWrong);
    const problems = all(finding, true, wrong);
    if (others.length > 0) problems.push(of(finding, true, others[0]!, [], others.length));
    return problems;
  });
}

const SHAPES = ["rectangle", "circle", "ellipse", "polygon", "text"];

function checkAreas(plan: Plan): Problem[] {
  // What shows nothing, the server leaves out.
  const areas = areasOf(plan).filter(({ area }) => SHAPES.includes(area.shape));
  const drawn = areas.filter(({ area }) => area.shape !== "text" || saysSomething(area.text?.text ?? ""));
  if (drawn.length > MAX_AREAS) return [of("too_many_areas", true, "", [], drawn.length)];
  const bad = [...areas.filter(isBadInside), ...drawn.filter(isBadOutside)];
  if (bad.length === 0) return [];
  const [first] = bad;
  const name = first!.area.text?.text || first!.area.shape;
  return [of("bad_area", true, name, [...new Set(bad.map(({ key }) => key))])];
}

/** Whether its shape or its words cannot be used. */
function isBadInside({ area: { shape, rectangle, circle, ellipse, polygon, text } }: AreaPlace): boolean {
  const isRadius = (radius: number) => radius >= 0 && !isFar(radius);
  if (shape === "rectangle" && isFar(rectangle?.width, rectangle?.height)) return true;
  if (shape === "circle" && !isRadius(circle!.radius)) return true;
  if (shape === "ellipse" && !(isRadius(ellipse!.radius.x) && isRadius(ellipse!.radius.y))) return true;
  const points = shape === "polygon" ? polygon!.points : [];
  if (points.length > MAX_POINTS || points.some(({ x, y }) => isFar(x, y))) return true;
  const words = text?.text ?? "";
  if (isLong(words) || isTurned(words)) return true;
  if (!saysSomething(words)) return false;
  return (
    /\p{Cc}/u.test(words) ||
    isFar(text?.position?.x, text?.position?.y) ||
    !isColour(text?.color) ||
    (typeof text?.size === "number" && (text.size < 0 || text.size > MAX_WORDS_SIZE))
  );
}

/** Whether the place or the colours of one that shows cannot be used. */
function isBadOutside({ area, zone }: AreaPlace): boolean {
  return (
    isFar(area.position?.x, area.position?.y, area.rotation, zone.position?.x, zone.position?.y) ||
    !isColour(area.color) ||
    !isColour(area.border_color)
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
    ...all("split_row", false, splitRows(named), rowNameOf),
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
  const long: Place[][] = [];
  const jumbled: Place[][] = [];
  let usual = Infinity;
  for (const row of wholeRowsOf(plan)) {
    const order = orderOf(row);
    if (row.length > MAX_RUN) long.push(row);
    if (order.isJumbled) jumbled.push(row);
    for (const own of order.usual) if (own > 0) usual = Math.min(usual, own);
  }
  return [
    ...all("on_top", false, usual === Infinity ? sameSpots(seats) : tooNear(seats, usual * TOO_NEAR)),
    ...all("long_row", false, long.flat()),
    ...all("jumbled_row", false, jumbled.flat(), rowNameOf),
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
