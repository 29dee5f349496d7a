/** What is being edited, and what is chosen in it: the one place where the editor's state changes. */
import { isSameMove } from "./model/arrange";
import { areasOf, emptyPlan, type Keys, type Plan, placesOf } from "./model/document";
import { begin, type History, redo, step, undo } from "./model/history";
import { type Draft, Shelf } from "./model/stored";

/** A draft is stored this long after its last change. */
const STORE_AFTER_MS = 400;

export class Editor {
  readonly event: string;
  #history = $state.raw<History<Plan>>(begin(emptyPlan("", "")));
  #chosen = $state.raw<Keys>(new Set());
  /** What was typed for each category, by its name. */
  prices = $state<Record<string, number | null>>({});
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
    this.#history = begin(draft?.plan ?? fresh);
    this.prices = draft?.prices ?? {};
  }

  /** The editor for an event: with the draft that is in this browser, else with a fresh plan. */
  static async open(event: string, fresh: Plan): Promise<Editor> {
    const shelf = new Shelf(event);
    return new Editor(event, fresh, await shelf.take(), shelf);
  }

  get plan(): Plan {
    return this.#history.present;
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
    this.#go(step(this.#history, plan, performance.now(), isSameMove), chosen);
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

  /** What is typed for a category goes on with its new name. */
  renamePrice(from: string, to: string): void {
    this.prices[to] = this.prices[from] ?? null;
    delete this.prices[from];
  }

  #go(history: History<Plan>, chosen: Keys): void {
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
    const draft = { plan: this.plan, prices: $state.snapshot(this.prices) };
    this.#storing = this.#storing.then(async () => {
      const came = await this.#shelf.put(draft, isOnPurpose);
      if (this.#timer === undefined || came === "elsewhere") this.keeping = came;
    });
    return this.#storing;
  }

  /** Stores the draft as well as a page can that goes at once. */
  leave(): void {
    if (this.keeping === "soon") {
      this.#shelf.leave({ plan: this.plan, prices: $state.snapshot(this.prices) });
    }
    void this.store();
  }

  /** Goes on with the draft of another page, as a step that can be undone. */
  async takeOther(): Promise<void> {
    const draft = await this.#shelf.take();
    if (draft === undefined) return;
    this.prices = draft.prices;
    this.keeping = "soon";
    this.change(draft.plan, new Set());
  }
}
