/** What is being edited, and what is chosen in it: the one place where the editor's state changes. */
import { isSameMove } from "./model/arrange";
import { renameCategory } from "./model/categories";
import { areasOf, emptyPlan, type Keys, type Plan, placesOf } from "./model/document";
import { begin, type History, redo, step, undo } from "./model/history";
import { type Draft, Shelf } from "./model/stored";

/** A draft is stored this long after its last change. */
const STORE_AFTER_MS = 400;

/**
 * What is typed for a category. Steps share it for as long as the category goes on: a step back takes no
 * price back, and what is typed after it is there after a step on.
 */
class TypedPrice {
  /** In whole units of the currency. */
  major = $state<number | null>(null);

  constructor(major: number | null = null) {
    this.major = major;
  }
}

/** What a step leads to: a plan, and what is typed for its categories, by their names in it. */
interface Stage {
  plan: Plan;
  prices: ReadonlyMap<string, TypedPrice>;
}

export class Editor {
  readonly event: string;
  #history = $state.raw<History<Stage>>(begin({ plan: emptyPlan("", ""), prices: new Map() }));
  #chosen = $state.raw<Keys>(new Set());
  /** The seat at which a list is: marked on the board. */
  current = $state<number>();
  /** There was one from before. */
  readonly isRestored: boolean;
  /** Leads keys to the drawing, when what they were at is gone. */
  toDrawing: () => void = () => undefined;
  /** How the draft does, once there is one: kept soon, kept, not kept, or another page keeps its own. */
  keeping = $state<"soon" | "kept" | "unkept" | "elsewhere">();
  readonly #shelf: Shelf;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Storing that is under way: the next begins after it. */
  #storing: Promise<void> = Promise.resolve();

  constructor(event: string, fresh: Plan, draft?: Draft, shelf = new Shelf(event)) {
    this.event = event;
    this.#shelf = shelf;
    this.isRestored = draft !== undefined;
    this.#history = begin(stageOf(draft ?? { plan: fresh, prices: {} }));
  }

  /** The editor for an event: with the draft that is in this browser, else with a fresh plan. */
  static async open(event: string, fresh: Plan): Promise<Editor> {
    const shelf = new Shelf(event);
    return new Editor(event, fresh, await shelf.take(), shelf);
  }

  get plan(): Plan {
    return this.#history.present.plan;
  }

  /** What is typed for each category, by its name. */
  get prices(): Draft["prices"] {
    return Object.fromEntries([...this.#history.present.prices].map(([name, { major }]) => [name, major]));
  }

  /** The same for one of them. */
  priceOf(category: string): number | null | undefined {
    return this.#history.present.prices.get(category)?.major;
  }

  get chosen(): Keys {
    return this.#chosen;
  }

  get canUndo(): boolean {
    return this.#history.past.length > 0;
  }

  get canRedo(): boolean {
    return this.#history.future.length > 0;
  }

  /** A step on, or on with a move that goes on; `chosen` is what is chosen after it, if not the same. */
  change(plan: Plan, chosen: Keys = this.#chosen): void {
    if (plan === this.plan) this.#go(this.#history, chosen);
    else this.#step({ plan, prices: pricesIn(plan, this.#history.present.prices) }, chosen);
  }

  /**
   * A step to another plan, such as a file's. Its categories begin at the prices that are typed for those of
   * the same names, and go on by themselves: a step back finds its own prices as they were.
   */
  open(plan: Plan): void {
    this.#step(stageOf({ plan, prices: this.prices }), new Set());
  }

  undo(): void {
    this.#go(undo(this.#history), this.#chosen);
  }

  redo(): void {
    this.#go(redo(this.#history), this.#chosen);
  }

  choose(keys: Iterable<number>, isMore = false): void {
    this.#chosen = new Set(isMore ? [...this.#chosen, ...keys] : keys);
  }

  /** Chosen if it was not, and the other way round. */
  toggle(key: number): void {
    const chosen = new Set(this.#chosen);
    if (!chosen.delete(key)) chosen.add(key);
    this.#chosen = chosen;
  }

  /** Types a price for a category. That is no step: a step back leaves what is typed in its field. */
  typePrice(category: string, major: number | null): void {
    const price = this.#history.present.prices.get(category);
    if (price) price.major = major;
    this.keep();
  }

  /** Calls a category something else, and what is typed for it with it. Whether the plan lets it. */
  renameCategory(from: string, to: string): boolean {
    const plan = renameCategory(this.plan, from, to);
    if (plan === this.plan) return false;
    const prices = new Map(this.#history.present.prices);
    const price = prices.get(from);
    prices.delete(from);
    if (price) prices.set(to, price);
    this.#step({ plan, prices: pricesIn(plan, prices) }, this.#chosen);
    return true;
  }

  #step(next: Stage, chosen: Keys): void {
    const isRepeat = (present: Stage, next: Stage) => isSameMove(present.plan, next.plan);
    this.#go(step(this.#history, next, performance.now(), isRepeat), chosen);
  }

  #go(history: History<Stage>, chosen: Keys): void {
    this.#history = history;
    // Whatever was taken out is chosen no more.
    const there = new Set([...placesOf(this.plan), ...areasOf(this.plan)].map(({ key }) => key));
    this.#chosen = new Set([...chosen].filter((key) => there.has(key)));
    if (this.current !== undefined && !there.has(this.current)) this.current = undefined;
    this.keep();
  }

  /** Stores the draft soon. */
  keep(): void {
    clearTimeout(this.#timer);
    if (this.keeping !== "elsewhere") this.keeping = "soon";
    this.#timer = setTimeout(() => void this.store(), STORE_AFTER_MS);
  }

  /** Stores the draft now, if something changed; one of another page only `isOnPurpose`. */
  store(isOnPurpose = false): Promise<void> {
    if (this.#timer === undefined && !isOnPurpose) return this.#storing;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const draft = { plan: this.plan, prices: this.prices };
    this.#storing = this.#storing.then(async () => {
      const came = await this.#shelf.put(draft, isOnPurpose);
      if (this.#timer === undefined || came === "elsewhere") this.keeping = came;
    });
    return this.#storing;
  }

  /** Stores the draft as well as a page can that goes at once. */
  leave(): void {
    if (this.keeping === "soon") this.#shelf.leave({ plan: this.plan, prices: this.prices });
    void this.store();
  }

  /** Goes on with the draft of another page and its prices, as a step that can be undone. */
  async takeOther(): Promise<void> {
    const draft = await this.#shelf.take();
    if (draft === undefined) return;
    this.keeping = "soon";
    this.#step(stageOf(draft), new Set());
  }
}

function stageOf({ plan, prices }: Draft): Stage {
  const typed = Object.entries(prices).map(([name, major]) => [name, new TypedPrice(major)] as const);
  return { plan, prices: pricesIn(plan, new Map(typed)) };
}

/**
 * Those of these prices whose categories are in the plan, and one to be typed for each other of them: later
 * steps find it there. One that was taken out is in the steps back, and another of its name gets none of it.
 */
function pricesIn(plan: Plan, prices: Stage["prices"]): Stage["prices"] {
  const names = new Set(plan.categories.map(({ name }) => name));
  if (names.size === prices.size && [...names].every((name) => prices.has(name))) return prices;
  return new Map([...names].map((name) => [name, prices.get(name) ?? new TypedPrice()] as const));
}
