/** What a buyer asks for who leaves the choice of seats to the server. It survives a reload, in this tab. */
import type { BestSeats } from "../../api/schema";
import { tabStore } from "../../lib/store";
import { atMost, type Counts, sumOf } from "./types";

/** The most seats that one order leaves to the server. */
export const MOST_SEATS = 20;

interface Stored {
  quantity: number;
  category?: string;
  section?: string;
  isTogether: boolean;
  /** Wheelchair places; missing in what an older page stored. */
  accessible?: number;
  /** Seats by ticket type, where some are named; their sum is `quantity`. */
  types?: Counts;
  /** What is wanted rather than nothing, by the names of `Other`; missing in what an older page stored. */
  otherwise?: string[];
}

export class BestWish {
  readonly #name: string;
  #wanted = $state.raw<Stored>({ quantity: 2, isTogether: false });

  constructor(event: string) {
    this.#name = `onrush.best.${event}`;
    const stored = tabStore.read<Stored>(this.#name);
    if (stored) this.#wanted = stored;
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

  /** What is wanted rather than nothing, as far as it is offered: names of `Other`. */
  get otherwise(): readonly string[] {
    return this.#wanted.otherwise ?? [];
  }
  setOtherwise(id: string, isWanted: boolean): void {
    const others = this.otherwise.filter((other) => other !== id);
    this.#set({ ...this.#wanted, otherwise: isWanted ? [...others, id] : others });
  }

  /**
   * How many seats of each of these types, at most `most`: all of the first, where none of them is
   * named. None where there are no types.
   */
  countsFor(types: readonly string[], most: number): Counts {
    const [first] = types;
    if (first === undefined) return {};
    const named = types.map((id) => [id, this.#wanted.types?.[id] ?? 0] as const);
    const counts = Object.fromEntries(named.filter(([, count]) => count > 0));
    return atMost(sumOf(counts) > 0 ? counts : { [first]: this.quantity }, Math.max(1, most));
  }
  setCounts(types: Counts): void {
    this.#set({ ...this.#wanted, types, quantity: Math.max(1, sumOf(types)) });
  }

  /** The order's line, the same text for the same wish. No more than `most` seats. */
  lineFor(most: number, wanted = this.quantity): BestSeats {
    const { category, section, isTogether } = this.#wanted;
    const quantity = Math.max(1, Math.min(wanted, most));
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
    const { types, otherwise } = this.#wanted;
    this.#set({
      ...(types && { types: atMost(types, line.quantity) }),
      ...(otherwise && { otherwise }),
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
    tabStore.write(this.#name, wanted);
  }
}
