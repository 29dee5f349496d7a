/** What a buyer asks for who leaves the choice of seats to the server. It survives a reload, in this tab. */
import type { BestSeats } from "../../api/schema";

/** The most seats that one order leaves to the server. */
export const MOST_SEATS = 20;

interface Stored {
  quantity: number;
  category?: string;
  section?: string;
  isTogether: boolean;
  /** Wheelchair places; missing in what an older page stored. */
  accessible?: number;
}

export class BestWish {
  readonly #name: string;
  #wanted = $state.raw<Stored>({ quantity: 2, isTogether: false });

  constructor(event: string) {
    this.#name = `onrush.best.${event}`;
    try {
      const stored = JSON.parse(sessionStorage.getItem(this.#name) ?? "null") as Stored | null;
      if (stored) this.#wanted = stored;
    } catch {
      // What cannot be read is no wish.
    }
  }

  /** How many seats, as far as there may be that many. */
  get quantity(): number {
    return this.#wanted.quantity;
  }
  set quantity(quantity: number) {
    this.#set({ ...this.#wanted, quantity });
  }

  /** By name; `undefined` is any. */
  get category(): string | undefined {
    return this.#wanted.category;
  }
  set category(category: string | undefined) {
    this.#set({ ...this.#wanted, category });
  }

  /** By name; `undefined` is anywhere in the house. */
  get section(): string | undefined {
    return this.#wanted.section;
  }
  set section(section: string | undefined) {
    this.#set({ ...this.#wanted, section });
  }

  /** Whether seats in two groups are worse than none. */
  get isTogether(): boolean {
    return this.#wanted.isTogether;
  }
  set isTogether(isTogether: boolean) {
    this.#set({ ...this.#wanted, isTogether });
  }

  /** How many of them are wheelchair places. */
  get accessible(): number {
    return this.#wanted.accessible ?? 0;
  }
  set accessible(accessible: number) {
    this.#set({ ...this.#wanted, accessible });
  }

  /** The order's line, the same text for the same wish. No more than `most` seats. */
  lineFor(most: number): BestSeats {
    const { category, section, isTogether } = this.#wanted;
    const quantity = Math.max(1, Math.min(this.quantity, most));
    return {
      quantity,
      ...(this.accessible > 0 && { accessible: Math.min(this.accessible, quantity) }),
      ...(category !== undefined && { categories: [category] }),
      ...(section !== undefined && { sections: [section] }),
      together: isTogether ? "must" : "prefer",
    };
  }

  /** Wishes for what this line asks for. */
  take(line: BestSeats): void {
    this.#set({
      quantity: line.quantity,
      category: line.categories?.[0],
      section: line.sections?.[0],
      isTogether: line.together === "must",
      accessible: line.accessible ?? 0,
    });
  }

  /** Forgets a category or section that there is not. */
  tidy(categories: readonly string[], sections: readonly string[]): void {
    if (this.category !== undefined && !categories.includes(this.category)) this.category = undefined;
    if (this.section !== undefined && !sections.includes(this.section)) this.section = undefined;
  }

  #set(wanted: Stored): void {
    this.#wanted = wanted;
    sessionStorage.setItem(this.#name, JSON.stringify(wanted));
  }
}
