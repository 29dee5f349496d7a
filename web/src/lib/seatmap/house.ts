/**
 * A house: all seats of an event in typed arrays, with what can be asked about them quickly. No
 * drawing here.
 */
import type { MapArea, SeatMap, SeatPlan, SeatTraits } from "../../api/schema";
import type { Box } from "./box";
import { Grid } from "./grid";
import { hullOf } from "./hull";
import { categoryIn, idIn, numberIn } from "./plan-row";

/** A seat's status is its index here: 0 is free. */
export const STATUSES = ["free", "held", "sold", "blocked"] as const;
export type Status = (typeof STATUSES)[number];
export const FREE = 0;
export const HELD = 1;
export const SOLD = 2;
export const BLOCKED = 3;
/** The letters of `GET /events/{event}/seats/status`. */
const LETTERS = "fhsb";
/** For categories whose plan has no colour. */
const COLOURS = ["#2f6fb0", "#b3261e", "#3f9a6b", "#d9772b", "#7b4fa3", "#0f8b8d"];

export interface Category {
  name: string;
  /** As the plan has it; drawn after a check of its contrast. */
  color: string;
  priceMinor: number;
}

/** What is special about a seat, as the plan says. */
export interface Traits {
  wheelchair: boolean;
  /** The wheelchair place whose companion it is meant for; `House.keptFor` knows whether it still is. */
  companionOf?: string;
  easyAccess: boolean;
  restrictedView: boolean;
}

/** Seats that somebody looks for: all, or those with one of these marks. */
export const LOOKED_FOR = ["all", "wheelchair", "easy_access", "full_view"] as const;
export type LookedFor = (typeof LOOKED_FOR)[number];

export interface Section {
  name: string;
  /** The indexes of its rows, front first. */
  rows: number[];
  count: number;
  /** x, y, x, y …: a convex outline around its seats. */
  hull: Float32Array;
  box: Box;
  /** The middle of its seats. */
  x: number;
  y: number;
}

export interface Row {
  name: string;
  section: number;
  /** Seats by their index, in the order they stand, neighbours next to each other. */
  seats: Uint32Array;
}

/** What a caller without the API's answer, such as a plan's preview, has to give of each seat. */
export interface SeatLike {
  id: string;
  section?: string;
  row?: string;
  number?: string;
  category: string;
  x?: number;
  y?: number;
  wheelchair?: boolean;
  companion_of?: string;
  easy_access?: boolean;
  restricted_view?: boolean;
  status: Status;
}

/**
 * All seats by their index, which is their place in the answer. `apply` changes statuses and tells
 * those who `watch`.
 */
export class House {
  readonly count: number;
  readonly ids: string[];
  readonly numbers: string[];
  readonly x: Float32Array;
  readonly y: Float32Array;
  readonly status: Uint8Array;
  readonly category: Uint16Array;
  readonly section: Uint16Array;
  readonly row: Uint32Array;
  readonly categories: Category[];
  readonly sections: Section[] = [];
  readonly rows: Row[] = [];
  readonly bounds: Box;
  /** The ordinary distance between neighbours. */
  readonly pitch: number;
  readonly grid: Grid;
  /** Free seats by section and category: `section * categories.length + category`. */
  readonly #freeBy: Uint32Array;
  /** What is drawn beside the seats. */
  readonly areas: readonly MapArea[];
  /** Those of seats that have some. */
  readonly #traits = new Map<number, Traits>();
  readonly #indexes = new Map<string, number>();
  readonly #watchers = new Set<(changed: readonly number[]) => void>();

  constructor(seats: readonly SeatLike[], categories: Category[], areas: readonly MapArea[] = []) {
    this.areas = areas;
    const count = seats.length;
    this.count = count;
    this.categories = categories;
    this.ids = new Array<string>(count);
    this.numbers = new Array<string>(count);
    this.x = new Float32Array(count);
    this.y = new Float32Array(count);
    this.status = new Uint8Array(count);
    this.category = new Uint16Array(count);
    this.section = new Uint16Array(count);
    this.row = new Uint32Array(count);
    const categoryIndexes = new Map(categories.map((category, index) => [category.name, index]));
    const sectionIndexes = new Map<string, number>();
    const rowIndexes = new Map<string, number>();
    const bySection: number[][] = [];
    const byRow: number[][] = [];
    // A seat that no map places stands in a block with the others of its kind, below one another.
    const side = Math.ceil(Math.sqrt(count));
    for (const [index, seat] of seats.entries()) {
      this.ids[index] = seat.id;
      this.numbers[index] = seat.number ?? seat.id;
      this.#indexes.set(seat.id, index);
      const traits = traitsOf(seat);
      if (traits) this.#traits.set(index, traits);
      this.x[index] = seat.x ?? (index % side) * 25;
      this.y[index] = seat.y ?? Math.floor(index / side) * 25;
      this.status[index] = STATUSES.indexOf(seat.status);
      this.category[index] = categoryIndexes.get(seat.category) ?? 0;
      const sectionName = seat.section ?? "";
      let section = sectionIndexes.get(sectionName);
      if (section === undefined) {
        section = bySection.push([]) - 1;
        sectionIndexes.set(sectionName, section);
      }
      bySection[section]!.push(index);
      this.section[index] = section;
      const rowName = seat.row ?? "";
      const rowKey = `${section}|${rowName}`;
      let row = rowIndexes.get(rowKey);
      if (row === undefined) {
        row = byRow.push([]) - 1;
        rowIndexes.set(rowKey, row);
        this.rows.push({ name: rowName, section, seats: new Uint32Array(0) });
      }
      byRow[row]!.push(index);
      this.row[index] = row;
    }
    const seated = boxOf(this, range(count));
    this.bounds = withAreas(seated, areas);
    this.grid = new Grid(this.x, this.y, seated);
    this.pitch = this.grid.pitch();
    for (const [row, indexes] of byRow.entries()) {
      this.rows[row]!.seats = Uint32Array.from(inOrder(this, indexes));
    }
    for (const [name, section] of sectionIndexes)
      this.sections.push(this.#sectionOf(name, bySection[section]!));
    this.#freeBy = new Uint32Array(this.sections.length * categories.length);
    for (let index = 0; index < count; index += 1) {
      if (this.status[index] === FREE) this.#count(index, 1);
    }
  }

  /** The house of `GET /events/{event}/seats`, or of the organiser's answer. */
  static of(map: Pick<SeatMap, "seats" | "categories">): House {
    return new House(map.seats, categoriesOf(map.categories));
  }

  /** The house of `GET /events/{event}/seats/plan`, with the letters of its statuses. */
  static ofPlan(plan: SeatPlan, letters: string): House {
    const seats: SeatLike[] = [];
    for (const row of plan.rows) {
      let x = 0;
      let y = 0;
      for (const nth of row.ids.keys()) {
        x += row.x?.[nth] ?? 0;
        y += row.y?.[nth] ?? 0;
        const traits: SeatTraits = row.traits?.[nth] ?? {};
        seats.push({
          id: idIn(row, nth),
          ...(row.section !== undefined && { section: row.section }),
          ...(row.row !== undefined && { row: row.row }),
          ...(row.x && { number: numberIn(row, nth), x: x / 100, y: y / 100 }),
          category: plan.categories[categoryIn(row, nth)]?.name ?? "",
          ...traits,
          status: STATUSES[LETTERS.indexOf(letters[seats.length] ?? "f")] ?? "free",
        });
      }
    }
    return new House(seats, categoriesOf(plan.categories), plan.areas);
  }

  indexOf(id: string): number | undefined {
    return this.#indexes.get(id);
  }

  /** What is special about a seat; `undefined` for an ordinary one. */
  traits(index: number): Traits | undefined {
    return this.#traits.get(index);
  }

  /** The wheelchair place that a seat is sold with; once that is sold without it, it is anybody's. */
  keptFor(index: number): string | undefined {
    const id = this.#traits.get(index)?.companionOf;
    const place = id === undefined ? undefined : this.#indexes.get(id);
    return place !== undefined && this.status[place] === SOLD ? undefined : id;
  }

  /** Whether it is a wheelchair place, or kept for the companion of one: nobody else is offered it. */
  isForWheelchairs(index: number): boolean {
    return this.#traits.get(index)?.wheelchair === true || this.keptFor(index) !== undefined;
  }

  /** What can be looked for here beside all: a house that does not say has none. */
  get marks(): LookedFor[] {
    const all = [...this.#traits.values()];
    const marks: LookedFor[] = [];
    if (all.some(({ wheelchair }) => wheelchair)) marks.push("wheelchair");
    if (all.some(({ easyAccess }) => easyAccess)) marks.push("easy_access");
    if (all.some(({ restrictedView }) => restrictedView)) marks.push("full_view");
    return marks;
  }

  /** Whether a seat is one of those that are looked for; companions' seats come with their places. */
  isLookedFor(index: number, what: LookedFor): boolean {
    const traits = this.#traits.get(index);
    switch (what) {
      case "all":
        return true;
      case "wheelchair":
        return this.isForWheelchairs(index);
      case "easy_access":
        return traits?.easyAccess === true;
      case "full_view":
        return traits?.restrictedView !== true;
    }
  }

  isFree(index: number): boolean {
    return this.status[index] === FREE;
  }

  priceMinor(index: number): number {
    return this.categories[this.category[index]!]!.priceMinor;
  }

  statusOf(index: number): Status {
    return STATUSES[this.status[index]!]!;
  }

  /** Free seats of a section. */
  freeIn(section: number): number {
    const width = this.categories.length;
    let free = 0;
    for (let category = 0; category < width; category += 1) free += this.#freeBy[section * width + category]!;
    return free;
  }

  /** Free seats of a category, in one section or in all. */
  freeOf(category: number, section?: number): number {
    const width = this.categories.length;
    if (section !== undefined) return this.#freeBy[section * width + category]!;
    let free = 0;
    for (let at = category; at < this.#freeBy.length; at += width) free += this.#freeBy[at]!;
    return free;
  }

  /** The lowest price of a free seat in a section; `undefined` if there is none. */
  priceFromMinor(section: number): number | undefined {
    const width = this.categories.length;
    let lowest: number | undefined;
    for (const [category, { priceMinor }] of this.categories.entries()) {
      if (this.#freeBy[section * width + category]! === 0) continue;
      if (lowest === undefined || priceMinor < lowest) lowest = priceMinor;
    }
    return lowest;
  }

  /** Sets statuses; those who watch are told once, and only of what is different now. */
  apply(changes: Iterable<readonly [index: number, status: Status]>): void {
    const changed: number[] = [];
    for (const [index, name] of changes) {
      const status = STATUSES.indexOf(name);
      const before = this.status[index];
      if (before === undefined || before === status) continue;
      if (before === FREE) this.#count(index, -1);
      if (status === FREE) this.#count(index, 1);
      this.status[index] = status;
      changed.push(index);
    }
    if (changed.length > 0) for (const tell of this.#watchers) tell(changed);
  }

  /** Sets what seats cost, by category; those who watch are told of all seats whose price is another now. */
  setPrices(pricesMinor: readonly number[]): void {
    const others = new Set<number>();
    for (const [index, category] of this.categories.entries()) {
      const priceMinor = pricesMinor[index]!;
      if (priceMinor === category.priceMinor) continue;
      category.priceMinor = priceMinor;
      others.add(index);
    }
    if (others.size === 0) return;
    const changed: number[] = [];
    for (const [seat, category] of this.category.entries()) if (others.has(category)) changed.push(seat);
    for (const tell of this.#watchers) tell(changed);
  }

  /** One seat's status. */
  setStatus(index: number, status: Status): void {
    this.apply([[index, status]]);
  }

  /** Sets all statuses from one letter each. */
  applyLetters(letters: string): void {
    const changes: [number, Status][] = [];
    for (let index = 0; index < Math.min(letters.length, this.count); index += 1) {
      const status = LETTERS.indexOf(letters[index]!);
      if (status >= 0 && status !== this.status[index]) changes.push([index, STATUSES[status]!]);
    }
    this.apply(changes);
  }

  /** Tells of changed statuses until the returned function is called. */
  watch(tell: (changed: readonly number[]) => void): () => void {
    this.#watchers.add(tell);
    return () => this.#watchers.delete(tell);
  }

  #count(index: number, by: number): void {
    this.#freeBy[this.section[index]! * this.categories.length + this.category[index]!]! += by;
  }

  #sectionOf(name: string, indexes: number[]): Section {
    const box = boxOf(this, indexes);
    const rows = [...new Set(indexes.map((index) => this.row[index]!))];
    let x = 0;
    let y = 0;
    for (const index of indexes) {
      x += this.x[index]! / indexes.length;
      y += this.y[index]! / indexes.length;
    }
    const hull = hullOf(this.x, this.y, indexes, this.pitch * 0.7);
    return { name, rows, count: indexes.length, hull, box, x, y };
  }
}

function categoriesOf(categories: SeatMap["categories"]): Category[] {
  return categories.map((category, index) => ({
    name: category.name,
    color: category.color ?? COLOURS[index % COLOURS.length]!,
    priceMinor: category.all_in_minor,
  }));
}

/** A box around seats and what is drawn beside them. */
export function withAreas(box: Box, areas: readonly MapArea[]): Box {
  const all = { ...box };
  for (const area of areas) {
    const reach = outlineBox(area);
    // Turned, an area reaches no farther than its farthest corner.
    const far = area.rotation
      ? Math.hypot(Math.max(-reach.left, reach.right), Math.max(-reach.top, reach.bottom))
      : 0;
    all.left = Math.min(all.left, area.x + (far ? -far : reach.left));
    all.right = Math.max(all.right, area.x + (far || reach.right));
    all.top = Math.min(all.top, area.y + (far ? -far : reach.top));
    all.bottom = Math.max(all.bottom, area.y + (far || reach.bottom));
  }
  return all;
}

/** Where an area's outline reaches to from its position. */
function outlineBox({ outline }: MapArea): Box {
  if (!outline) return { left: 0, top: 0, right: 0, bottom: 0 };
  if ("rectangle" in outline) {
    const [width = 0, height = 0] = outline.rectangle;
    return {
      left: Math.min(0, width),
      top: Math.min(0, height),
      right: Math.max(0, width),
      bottom: Math.max(0, height),
    };
  }
  if ("ellipse" in outline) {
    const [rx = 0, ry = 0] = outline.ellipse;
    return { left: -rx, top: -ry, right: rx, bottom: ry };
  }
  const xs = outline.polygon.map(([x = 0]) => x);
  const ys = outline.polygon.map(([, y = 0]) => y);
  return {
    left: Math.min(0, ...xs),
    top: Math.min(0, ...ys),
    right: Math.max(0, ...xs),
    bottom: Math.max(0, ...ys),
  };
}

function traitsOf(seat: SeatLike): Traits | undefined {
  const { wheelchair = false, companion_of, easy_access = false, restricted_view = false } = seat;
  if (!wheelchair && companion_of === undefined && !easy_access && !restricted_view) return undefined;
  return {
    wheelchair,
    ...(companion_of !== undefined && { companionOf: companion_of }),
    easyAccess: easy_access,
    restrictedView: restricted_view,
  };
}

function* range(count: number): Iterable<number> {
  for (let index = 0; index < count; index += 1) yield index;
}

function boxOf(house: { x: Float32Array; y: Float32Array }, indexes: Iterable<number>): Box {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const index of indexes) {
    box.left = Math.min(box.left, house.x[index]!);
    box.right = Math.max(box.right, house.x[index]!);
    box.top = Math.min(box.top, house.y[index]!);
    box.bottom = Math.max(box.bottom, house.y[index]!);
  }
  return box.left > box.right ? { left: 0, top: 0, right: 0, bottom: 0 } : box;
}

/**
 * Seats of a row in the order they stand: along the longer side of their box, which holds for bends
 * of up to a quarter.
 */
function inOrder(house: { x: Float32Array; y: Float32Array }, indexes: number[]): number[] {
  const box = boxOf(house, indexes);
  const isWide = box.right - box.left >= box.bottom - box.top;
  const along = isWide ? house.x : house.y;
  return [...indexes].sort((a, b) => along[a]! - along[b]! || a - b);
}
