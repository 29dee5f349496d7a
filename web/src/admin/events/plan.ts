/** A pretix seating plan as it lies in a file: what is in it, before the server has it. */

export interface PlanSeat {
  id: string;
  section: string;
  row: string;
  number: string;
  category: string;
  x: number;
  y: number;
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
      seats?: { seat_guid: string; seat_number?: Name; position?: Point; category?: string }[];
    }[];
  }[];
}
type Point = { x: number; y: number };

/** @throws {NotAPlan} */
export function readPlan(text: string): ReadPlan {
  let file: File;
  const seats: PlanSeat[] = [];
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
            status: "free",
          });
        }
      }
    }
    const counts = new Map<string, number>();
    for (const seat of seats) counts.set(seat.category, (counts.get(seat.category) ?? 0) + 1);
    const categories = file.categories
      .map(({ name, color }) => ({ name, color: color ?? "#767b8c", seats: counts.get(name) ?? 0 }))
      .filter((category) => category.seats > 0);
    if (seats.length === 0) throw new NotAPlan("no seats");
    return { plan: file, name: textOf(file.name), seats, categories };
  } catch (error) {
    throw new NotAPlan("not a seating plan", { cause: error });
  }
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
