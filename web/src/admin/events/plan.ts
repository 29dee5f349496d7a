/** A pretix seating plan as it lies in a file: what is in it, before the server has it. */
import type { MapArea } from "../../api/schema";

export interface PlanSeat {
  id: string;
  section: string;
  row: string;
  number: string;
  category: string;
  x: number;
  y: number;
  wheelchair: boolean;
  companion_of?: string;
  easy_access: boolean;
  restricted_view: boolean;
  status: "free";
}

export interface PlanCategory {
  name: string;
  color: string;
  seats: number;
}

export interface ReadPlan {
  /** The file's content, which the server is sent as it is. */
  plan: unknown;
  name: string;
  seats: PlanSeat[];
  /** What is drawn beside the seats. */
  areas: MapArea[];
  /** Those that seats are in. */
  categories: PlanCategory[];
}

/** The file is no seating plan. */
export class NotAPlan extends Error {}

/** What people call something. */
type Name = string | number | null;

interface File {
  name?: Name;
  categories: { name: string; color?: string }[];
  zones: {
    name?: Name;
    position?: Point;
    rows?: {
      row_number?: Name;
      position?: Point;
      seats?: {
        seat_guid: string;
        seat_number?: Name;
        position?: Point;
        category?: string;
        wheelchair?: boolean;
        companion_of?: string;
        easy_access?: boolean;
        restricted_view?: boolean;
      }[];
    }[];
    areas?: FileArea[];
  }[];
}
interface FileArea {
  shape?: string;
  position?: Point;
  rotation?: number;
  color?: string;
  border_color?: string;
  rectangle?: { width: number; height: number };
  circle?: { radius: number };
  ellipse?: { radius: Point };
  polygon?: { points: Point[] };
  text?: { text?: string; position?: Point; color?: string; size?: number };
}
type Point = { x: number; y: number };

/** @throws {NotAPlan} */
export function readPlan(text: string): ReadPlan {
  let file: File;
  const seats: PlanSeat[] = [];
  const areas: MapArea[] = [];
  try {
    file = JSON.parse(text) as File;
    for (const zone of file.zones) {
      for (const row of zone.rows ?? []) {
        for (const seat of row.seats ?? []) {
          seats.push({
            id: String(seat.seat_guid),
            section: textOf(zone.name),
            row: textOf(row.row_number),
            number: textOf(seat.seat_number),
            category: seat.category ?? "",
            x: sum(zone.position, row.position, seat.position, "x"),
            y: sum(zone.position, row.position, seat.position, "y"),
            wheelchair: seat.wheelchair ?? false,
            easy_access: seat.easy_access ?? false,
            restricted_view: seat.restricted_view ?? false,
            ...(seat.companion_of !== undefined && { companion_of: seat.companion_of }),
            status: "free",
          });
        }
      }
      for (const area of zone.areas ?? []) areas.push(areaOf(area, zone.position));
    }
    const counts = new Map<string, number>();
    for (const seat of seats) counts.set(seat.category, (counts.get(seat.category) ?? 0) + 1);
    const categories = file.categories
      .map(({ name, color }) => ({ name, color: color ?? "#767b8c", seats: counts.get(name) ?? 0 }))
      .filter((category) => category.seats > 0);
    if (seats.length === 0) throw new NotAPlan("no seats");
    return { plan: file, name: textOf(file.name), seats, areas, categories };
  } catch (error) {
    throw new NotAPlan("not a seating plan", { cause: error });
  }
}

/** An area as the server will draw it: what it refuses shows here all the same, or not at all. */
function areaOf(area: FileArea, zone: Point | undefined): MapArea {
  const { rectangle, circle, ellipse, polygon, text } = area;
  const words = text?.text?.trim();
  return {
    x: (zone?.x ?? 0) + (area.position?.x ?? 0),
    y: (zone?.y ?? 0) + (area.position?.y ?? 0),
    rotation: area.rotation ?? 0,
    ...(rectangle && { outline: { rectangle: [rectangle.width, rectangle.height] } }),
    ...(circle && { outline: { ellipse: [circle.radius, circle.radius] } }),
    ...(ellipse && { outline: { ellipse: [ellipse.radius.x, ellipse.radius.y] } }),
    ...(polygon && { outline: { polygon: polygon.points.map(({ x, y }) => [x, y]) } }),
    ...(area.color && { color: area.color }),
    ...(area.border_color && { border_color: area.border_color }),
    ...(words && {
      text: {
        text: words,
        x: text?.position?.x ?? 0,
        y: text?.position?.y ?? 0,
        ...(text?.color && { color: text.color }),
        ...(text?.size !== undefined && { size: text.size }),
      },
    }),
  };
}

function textOf(name: Name | undefined): string {
  return String(name ?? "");
}

function sum(
  zone: Point | undefined,
  row: Point | undefined,
  seat: Point | undefined,
  axis: "x" | "y",
): number {
  return (zone?.[axis] ?? 0) + (row?.[axis] ?? 0) + (seat?.[axis] ?? 0);
}
