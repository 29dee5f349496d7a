/** Plans as they lie in files: read with care, written as they were but for what was changed. */
import type { MapArea } from "../../../api/schema";
import type { SeatLike } from "../../../lib/seatmap/house";
import { type Area, areasOf, GREY, KEY, newKey, type Plan, placesOf, textOf } from "./document";

/** The file is no seating plan: `where` says which part of it is not what it must be. */
export class NotAPlan extends Error {
  readonly where: string;

  constructor(where: string, cause?: unknown) {
    super(`not a seating plan: ${where}`, { cause });
    this.where = where;
  }
}

/** @throws {NotAPlan} */
export function readPlan(text: string): Plan {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch (error) {
    throw new NotAPlan("JSON", error);
  }
  return planOf(file);
}

/** The same for what is parsed already. */
export function planOf(file: unknown): Plan {
  const plan = object(file, "{}");
  optional(plan, "name", "", isText);
  sizeOf(plan.size, "size");
  for (const [nth, category] of list(plan.categories, "categories").entries()) {
    const where = `categories[${nth}]`;
    if (!isText(object(category, where).name)) throw new NotAPlan(`${where}.name`);
    optional(object(category, where), "color", where, isText);
  }
  const zones = list(plan.zones, "zones").map((zone, nth) => zoneOf(zone, `zones[${nth}]`));
  return { ...plan, zones } as unknown as Plan;
}

/** The file of a plan. */
export function writePlan(plan: Plan): string {
  return `${JSON.stringify(plan, null, 1)}\n`;
}

/** Gives the browser the file of a plan. */
export function download(plan: Plan, event: string): void {
  const url = URL.createObjectURL(new Blob([writePlan(plan)], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${event}-plan.json`;
  link.click();
  URL.revokeObjectURL(url);
}

type Json = Record<string, unknown>;

function zoneOf(value: unknown, where: string): Json {
  const zone = object(value, where);
  optional(zone, "name", where, isText);
  pointOf(zone, "position", where);
  return {
    ...zone,
    ...keyed(zone, "rows", where, rowOf),
    ...keyed(zone, "areas", where, areaOf),
    [KEY]: newKey(),
  };
}

function rowOf(value: unknown, where: string): Json {
  const row = object(value, where);
  optional(row, "row_number", where, isName);
  pointOf(row, "position", where);
  return { ...row, ...keyed(row, "seats", where, seatOf), [KEY]: newKey() };
}

function seatOf(value: unknown, where: string): Json {
  const seat = object(value, where);
  if (!isText(seat.seat_guid)) throw new NotAPlan(`${where}.seat_guid`);
  optional(seat, "seat_number", where, isName);
  optional(seat, "category", where, isText);
  optional(seat, "rank", where, (rank) => rank === null || Number.isInteger(rank));
  optional(seat, "companion_of", where, (place) => place === null || isText(place));
  for (const trait of ["wheelchair", "easy_access", "restricted_view"]) {
    optional(seat, trait, where, (is) => typeof is === "boolean");
  }
  pointOf(seat, "position", where);
  return { ...seat, [KEY]: newKey() };
}

function areaOf(value: unknown, where: string): Json {
  const area = object(value, where);
  if (!isText(area.shape)) throw new NotAPlan(`${where}.shape`);
  pointOf(area, "position", where);
  optional(area, "rotation", where, isNumber);
  for (const colour of ["color", "border_color"]) optional(area, colour, where, isTextOrNull);
  // A shape whose measures are missing is drawn by nobody.
  if (isThere(area.rectangle)) sizeOf(area.rectangle, `${where}.rectangle`);
  if (area.shape === "rectangle" && !isThere(area.rectangle)) throw new NotAPlan(`${where}.rectangle`);
  if (isThere(area.circle) || area.shape === "circle") {
    if (!isNumber(object(area.circle, `${where}.circle`).radius))
      throw new NotAPlan(`${where}.circle.radius`);
  }
  if (isThere(area.ellipse) || area.shape === "ellipse") {
    isPoint(object(area.ellipse, `${where}.ellipse`).radius, `${where}.ellipse.radius`);
  }
  if (isThere(area.polygon) || area.shape === "polygon") {
    const points = list(object(area.polygon, `${where}.polygon`).points, `${where}.polygon.points`);
    for (const [nth, point] of points.entries()) isPoint(point, `${where}.polygon.points[${nth}]`);
  }
  if (isThere(area.text)) {
    const text = object(area.text, `${where}.text`);
    optional(text, "text", `${where}.text`, isText);
    optional(text, "color", `${where}.text`, isTextOrNull);
    optional(text, "size", `${where}.text`, (size) => size === null || isNumber(size));
    pointOf(text, "position", `${where}.text`);
  }
  return { ...area, [KEY]: newKey() };
}

function object(value: unknown, where: string): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new NotAPlan(where);
  return value as Json;
}

function list(value: unknown, where: string): unknown[] {
  if (!Array.isArray(value)) throw new NotAPlan(where);
  return value;
}

/** A list of things with keys, if there is one. */
function keyed(
  holder: Json,
  name: string,
  where: string,
  read: (value: unknown, where: string) => Json,
): Json {
  if (holder[name] === undefined) return {};
  const path = `${where}.${name}`;
  return { [name]: list(holder[name], path).map((value, nth) => read(value, `${path}[${nth}]`)) };
}

function optional(holder: Json, name: string, where: string, is: (value: unknown) => boolean): void {
  if (holder[name] !== undefined && !is(holder[name])) {
    throw new NotAPlan(where === "" ? name : `${where}.${name}`);
  }
}

function pointOf(holder: Json, name: string, where: string): void {
  if (holder[name] !== undefined) isPoint(holder[name], `${where}.${name}`);
}

function isPoint(value: unknown, where: string): void {
  const point = object(value, where);
  if (!isNumber(point.x) || !isNumber(point.y)) throw new NotAPlan(where);
}

function sizeOf(value: unknown, where: string): void {
  const size = object(value, where);
  if (!isNumber(size.width) || !isNumber(size.height)) throw new NotAPlan(where);
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isTextOrNull(value: unknown): boolean {
  return value === null || isText(value);
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function isName(value: unknown): boolean {
  return value === null || isText(value) || Number.isInteger(value);
}

/** The seats as a map of them takes them: all free. */
export function seatsOf(plan: Plan): SeatLike[] {
  return placesOf(plan).map(({ seat, row, zone, x, y }) => ({
    id: seat.seat_guid,
    section: zone.name ?? "",
    row: textOf(row.row_number),
    number: textOf(seat.seat_number),
    category: seat.category ?? "",
    x,
    y,
    wheelchair: seat.wheelchair ?? false,
    easy_access: seat.easy_access ?? false,
    restricted_view: seat.restricted_view ?? false,
    ...(seat.companion_of && { companion_of: seat.companion_of }),
    status: "free",
  }));
}

/** The areas as the server will draw them: what it refuses shows here all the same, or not at all. */
export function drawnAreas(plan: Plan): MapArea[] {
  return areasOf(plan).map(({ area, x, y }) => drawnArea(area, x, y));
}

export function drawnArea(area: Area, x: number, y: number): MapArea {
  const { shape, rectangle, circle, ellipse, polygon, text } = area;
  const words = text?.text?.trim();
  return {
    x,
    y,
    rotation: area.rotation ?? 0,
    ...(shape === "rectangle" &&
      rectangle && { outline: { rectangle: [rectangle.width, rectangle.height] } }),
    ...(shape === "circle" && circle && { outline: { ellipse: [circle.radius, circle.radius] } }),
    ...(shape === "ellipse" && ellipse && { outline: { ellipse: [ellipse.radius.x, ellipse.radius.y] } }),
    ...(shape === "polygon" &&
      polygon && { outline: { polygon: polygon.points.map(({ x, y }): [number, number] => [x, y]) } }),
    ...(area.color && { color: area.color }),
    ...(area.border_color && { border_color: area.border_color }),
    ...(words && {
      text: {
        text: words,
        x: text?.position?.x ?? 0,
        y: text?.position?.y ?? 0,
        ...(text?.color && { color: text.color }),
        ...(typeof text?.size === "number" && { size: text.size }),
      },
    }),
  };
}

export interface CountedCategory {
  name: string;
  color: string;
  seats: number;
}

/** The plan's categories with how many seats are in each. */
export function countsOf(plan: Plan): CountedCategory[] {
  const counts = new Map<string, number>();
  for (const { seat } of placesOf(plan)) {
    counts.set(seat.category ?? "", (counts.get(seat.category ?? "") ?? 0) + 1);
  }
  return plan.categories.map(({ name, color }) => ({
    name,
    color: color || GREY,
    seats: counts.get(name) ?? 0,
  }));
}
