/** What is on sale in one event, live: seats, pools, the visitor's session and their bookings. */
import { ask, NoAnswer, path, persist, Refused } from "../../api/client";
import type {
  Availability,
  Booking,
  Bookings,
  Category,
  Event,
  Place,
  Pool,
  SeatPlan,
  SeatStatuses,
} from "../../api/schema";
import { askAsVisitor, persistAsVisitor } from "../../api/visitor";
import { clock } from "../../lib/clock";
import { type Connection, follow } from "../../lib/live";
import type { LiveMessage } from "../../lib/live/message";
import { type AllTexts, loadTexts, wordsOf } from "../events/words";
import { House, type Status } from "../../lib/seatmap/house";
import { freeOf, type MyChannel } from "./channels.svelte";
import { inOrder } from "./in-order";
import { typeOf, unitMinor } from "./types";

/** Whether this visitor may hold: `out` has to queue first. */
export type Access = "in" | "out";

const POOLS_EVERY_MS = 2_000;
/** The same for those who choose among seats alone, of which a stream tells all but the prices. */
const PRICES_EVERY_MS = 15_000;
/** Pauses before what was missed is asked for again: the first, and the longest. */
const CATCH_UP_MS = 1_000;
const CATCH_UP_MAX_MS = 15_000;
/** Messages so much older than a snapshot may still be missing in it. */
const OVERLAP_MS = 5_000;

interface Changes {
  at: number;
  changed: Record<string, Status>;
}

export class Sale {
  readonly id: string;
  event = $state.raw<Event>()!;
  /** Missing where the event has no seats. */
  house = $state.raw<House>();
  pools = $state.raw<readonly Pool[]>([]);
  /** Of seats: what they cost, and as what they can be bought. */
  categories = $state.raw<readonly Category[]>([]);
  access = $state<Access>("out");
  /** The session's end, where the event has a room. */
  until = $state<number>();
  bookings = $state.raw<readonly Booking[]>([]);
  connection = $state<Connection>("connecting");
  /** Grows whenever seats change: what is read from `house` is as of then. */
  round = $state(0);
  /** What is set aside for this visitor: free for them, and blocked for everybody else. */
  #mine: { seats: ReadonlySet<string>; channels: readonly MyChannel[] } = { seats: new Set(), channels: [] };
  #everybodys: readonly Pool[] = [];
  /** The version of the drawing that `house` was made from. */
  #plan = "";
  #texts: AllTexts = {};
  #recent: Changes[] = [];
  /** Since when each read of seats under way is wanted, 0 for any. What is told meanwhile is kept. */
  readonly #reading: number[] = [];
  /** How often seats were asked for. */
  #asked = 0;
  /** The reading that is shown: of what time it is, by the engine, and as which it was asked for. */
  #shown = { at: 0, asked: 0 };
  readonly #askStock = inOrder();
  readonly #askBookings = inOrder();
  readonly #askAccess = inOrder();
  #timer: ReturnType<typeof setInterval> | undefined;
  #unfollow: (() => void) | undefined;
  #isAsking = false;
  /** When stock and prices were last told, by the server's clock. */
  #stockAt = 0;
  /** It is the visitor's turn, and nobody has looked at this page since. */
  #isUnseen = false;
  #wasStream = false;
  /** Counts changes of the way that messages come: what an earlier one had asked for is done with. */
  #ways = 0;

  private constructor(id: string) {
    this.id = id;
  }

  static async load(id: string): Promise<Sale> {
    const sale = new Sale(id);
    const [event, availability, bookings, texts] = await Promise.all([
      persist<Event>(path`/events/${id}`, { tellsTime: true }),
      persist<Availability>(path`/events/${id}/availability`),
      persistAsVisitor<Bookings>(path`/bookings`, { query: { event: id } }),
      loadTexts(id),
    ]);
    sale.#texts = texts;
    sale.event = event;
    sale.#takeStock(availability);
    sale.bookings = bookings.bookings;
    if (availability.categories.length > 0) await sale.#loadHouse();
    await sale.checkAccess();
    return sale;
  }

  /**
   * The drawing, which a browser keeps, and what is free in it. Seats that came between the two
   * answers are in the next round.
   */
  async #loadHouse(): Promise<void> {
    const [plan, statuses] = await Promise.all([
      persist<SeatPlan>(path`/events/${this.id}/seats/plan`),
      persist<SeatStatuses>(path`/events/${this.id}/seats/status`),
    ]);
    if (plan.seats === 0) return;
    const isOfPlan = plan.version === statuses.plan;
    this.#takeHouse(plan, isOfPlan ? statuses.status : "");
    if (isOfPlan) this.#shown = { at: statuses.at, asked: 0 };
    else await this.refreshSeats();
  }

  /** Keeps everything up to date until `stop`. */
  start(): void {
    this.#unfollow = follow(
      this.id,
      (message) => this.#heard(message),
      (connection) => {
        const isStream = connection === "websocket" || connection === "sse";
        this.#ways += 1;
        if (isStream && !this.#wasStream) void this.#catchUp();
        this.#wasStream = isStream;
        this.connection = connection;
      },
    );
    document.addEventListener("visibilitychange", this.#look);
    this.#look();
    this.#timer = setInterval(() => {
      if (!document.hidden && this.#isStockDue && !this.#isAsking) void this.refreshStock().catch(() => {});
    }, POOLS_EVERY_MS);
  }

  stop(): void {
    this.#unfollow?.();
    this.#unfollow = undefined;
    clearInterval(this.#timer);
    document.removeEventListener("visibilitychange", this.#look);
    this.#ways += 1;
  }

  /** What changed while nothing came: the stream tells only what comes after, so it needs an answer. */
  async #catchUp(): Promise<void> {
    const way = this.#ways;
    // Another node than the stream's may have read the seats before the stream was opened.
    const since = clock.latest();
    for (let pauseMs = CATCH_UP_MS; way === this.#ways; pauseMs = Math.min(2 * pauseMs, CATCH_UP_MAX_MS)) {
      try {
        await Promise.all([this.refreshSeats(since), this.checkBookings()]);
        return;
      } catch (error) {
        if (error instanceof Refused && !error.retryable) return;
        if (!(error instanceof Refused || error instanceof NoAnswer)) throw error;
        const wantedMs = error instanceof Refused ? (error.retryAfterS ?? 0) * 1_000 : 0;
        const waitMs = Math.max(wantedMs, pauseMs * (0.5 + Math.random()));
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    }
  }

  /** In the visitor's language, if there is such a title. */
  get title(): string {
    return wordsOf(this.#texts, this.event.title).title;
  }

  get isOpen(): boolean {
    return this.event.phase === "open";
  }

  /** Holds that run. */
  get live(): readonly Booking[] {
    return this.bookings.filter((booking) => booking.status === "held" || booking.status === "paying");
  }

  get #kept(): readonly Booking[] {
    return this.bookings.filter(({ status }) => ["held", "paying", "confirmed"].includes(status));
  }

  /** Units that count against the limit per person. */
  get unitsHad(): number {
    return this.#kept.reduce((sum, booking) => sum + unitsOf(booking), 0);
  }

  /** How many more one person may have; `undefined` where there is no limit. */
  get allowance(): number | undefined {
    const limit = this.event.max_per_user;
    return limit === undefined ? undefined : Math.max(0, limit - this.unitsHad);
  }

  /** Seats in the visitor's own bookings: nobody took those from them. */
  get ownSeats(): ReadonlySet<string> {
    return new Set(this.#kept.flatMap((booking) => booking.lines.seats ?? []));
  }

  async checkBookings(): Promise<void> {
    const isNews = this.#askBookings();
    const answer = await askAsVisitor<Bookings>(path`/bookings`, { query: { event: this.id } });
    if (isNews()) this.bookings = answer.bookings;
  }

  /**
   * Whether the visitor may hold, and until when. Coming here in time is showing up; a page that is
   * behind another one does so when it is looked at.
   */
  async checkAccess(): Promise<void> {
    if (!this.event.room) {
      this.access = "in";
      return;
    }
    const isNews = this.#askAccess();
    let place = await persistAsVisitor<Place>(path`/events/${this.id}/queue`);
    const isDue = place.status === "active" && place.arrive_by !== undefined;
    const isSeen = document.visibilityState === "visible";
    if (isDue && isSeen) {
      const wish = { method: "POST", effect: "once" } as const;
      place = await persistAsVisitor<Place>(path`/events/${this.id}/queue/arrive`, wish);
    }
    if (!isNews()) return;
    const wasOut = this.access === "out";
    this.access = place.status === "active" ? "in" : "out";
    // Whoever may not hold is told of no seats: what is shown is as of when they last could, or came.
    if (wasOut && this.access === "in" && this.#unfollow) void this.#catchUp();
    this.until = place.status === "active" ? place.until : undefined;
    this.#isUnseen = isDue && !isSeen;
  }

  readonly #look = (): void => {
    if (this.#isUnseen && document.visibilityState === "visible") void this.checkAccess().catch(() => {});
  };

  #heard(message: LiveMessage): void {
    switch (message.type) {
      case "seats":
        this.#note({ at: message.at, changed: message.changed });
        break;
      case "phase":
        this.event = { ...this.event, phase: message.phase };
        break;
      case "hold":
        void this.checkBookings().catch(() => {});
        break;
      case "your_turn":
      case "session_ended":
      case "slot_kept":
        void this.checkAccess().catch(() => {});
        break;
      case "position":
      case "left":
      case "admission":
      case "not_in_queue":
      case "hold_expiring":
      case "bye":
        // None of these changes what this visitor may hold.
        break;
    }
  }

  #note(changes: Changes): void {
    const isWanted = ({ at }: Changes) => this.#reading.length > 0 || at > changes.at - OVERLAP_MS;
    this.#recent = [...this.#recent.filter(isWanted), changes];
    this.#apply(changes);
  }

  #apply({ changed }: Changes): void {
    const house = this.house;
    if (!house) return;
    const known: [number, Status][] = [];
    for (const [id, status] of Object.entries(changed)) {
      const index = house.indexOf(id);
      if (index !== undefined) known.push([index, this.#toMe(id, status)]);
    }
    house.apply(known);
  }

  #toMe(seat: string, status: Status): Status {
    return status === "blocked" && this.#mine.seats.has(seat) ? "free" : status;
  }

  /** What is free in the visitor's channels is free to them. */
  async setMine(channels: readonly MyChannel[]): Promise<void> {
    const open = channels.filter(({ left }) => left !== 0);
    const seats = new Set(open.flatMap((channel) => channel.seats));
    const isSame = seats.size === this.#mine.seats.size && [...seats].every((id) => this.#mine.seats.has(id));
    this.#mine = { seats, channels: open };
    this.#takePools(this.#everybodys);
    if (!isSame) await this.refreshSeats();
  }

  #takePools(pools: readonly Pool[]): void {
    this.#everybodys = pools;
    this.pools = pools.map((pool) => ({ ...pool, free: freeOf(pool, this.#mine.channels) }));
  }

  /** After all statuses were read anew. */
  #showMine(): void {
    const house = this.house;
    if (!house || this.#mine.seats.size === 0) return;
    const known: [number, Status][] = [];
    for (const id of this.#mine.seats) {
      const index = house.indexOf(id);
      if (index !== undefined && house.statusOf(index) === "blocked") known.push([index, "free"]);
    }
    house.apply(known);
  }

  /** Pools and ticket types are in no message: they are asked for. */
  async refreshStock(): Promise<void> {
    this.#isAsking = true;
    const isNews = this.#askStock();
    try {
      const answer = await ask<Availability>(path`/events/${this.id}/availability`);
      if (isNews()) this.#takeStock(answer);
    } finally {
      this.#isAsking = false;
    }
  }

  #takeStock({ pools, categories }: Availability): void {
    this.#stockAt = clock.now();
    this.#takePools(pools);
    this.categories = categories;
    this.#priceSeats();
  }

  #takeHouse(plan: SeatPlan, letters: string): void {
    this.#plan = plan.version;
    this.house = House.ofPlan(plan, letters);
    this.house.watch(() => (this.round += 1));
    this.#priceSeats();
  }

  /**
   * A seat costs what the first type of its category does, until another is named for it. The drawing
   * says what it cost when it was read.
   */
  #priceSeats(): void {
    const prices = this.house?.categories.map(({ name, priceMinor }) => {
      const known = this.categories.find((category) => category.name === name);
      return known ? unitMinor(known) : priceMinor;
    });
    if (prices) this.house?.setPrices(prices);
  }

  /** Whether what there is and what it costs is asked for now: prices of seats change seldom. */
  get #isStockDue(): boolean {
    if (this.pools.length > 0 || this.categories.some(({ types }) => types)) return true;
    const next = this.categories.map(({ later }) => later?.[0]?.from ?? Infinity);
    return this.house !== undefined && clock.now() >= Math.min(this.#stockAt + PRICES_EVERY_MS, ...next);
  }

  /** What a seat costs as this type, or as the first where none is named. */
  seatMinor(seat: number, type: string | undefined): number {
    const { name, priceMinor } = this.house!.categories[this.house!.category[seat]!]!;
    const types = this.categories.find((category) => category.name === name)?.types;
    return typeOf(types, type)?.all_in_minor ?? priceMinor;
  }

  /** The category of a seat, if it is known. */
  categoryOf(seat: string): Category | undefined {
    const index = this.house?.indexOf(seat);
    if (!this.house || index === undefined) return undefined;
    const { name } = this.house.categories[this.house.category[index]!]!;
    return this.categories.find((category) => category.name === name);
  }

  /**
   * Asks for all seats, as they stood at a time of the engine or later if one is named. What another read
   * under way is wanted since holds for this one, too: it may be answered first.
   */
  async refreshSeats(since = 0): Promise<void> {
    if (!this.house) return;
    const asked = (this.#asked += 1);
    const wanted = Math.max(since, ...this.#reading);
    this.#reading.push(wanted);
    try {
      const query = { since: wanted || undefined };
      const answer = await ask<SeatStatuses>(path`/events/${this.id}/seats/status`, { query });
      let plan: SeatPlan | undefined;
      if (answer.plan !== this.#plan) {
        // Seats were added: the drawing is another one.
        plan = await ask<SeatPlan>(path`/events/${this.id}/seats/plan`);
        if (plan.version !== answer.plan) throw new NoAnswer("seats were added between two answers");
      }
      // The engine's time says which is newer; of two of one time it is the one that was asked for later.
      const { at } = answer;
      if (at < this.#shown.at || (at === this.#shown.at && asked < this.#shown.asked)) return;
      this.#shown = { at, asked };
      if (plan && plan.version !== this.#plan) {
        this.#takeHouse(plan, answer.status);
        this.round += 1;
      }
      this.#showSeats(answer);
    } finally {
      this.#reading.splice(this.#reading.indexOf(wanted), 1);
    }
  }

  #showSeats(answer: SeatStatuses): void {
    this.house!.applyLetters(answer.status);
    this.#showMine();
    // A message that is newer than the answer may have come before it.
    for (const changes of this.#recent) if (changes.at >= answer.at) this.#apply(changes);
  }
}

function unitsOf(booking: Booking): number {
  const pools = Object.values(booking.lines.pools ?? {}).reduce((sum, count) => sum + count, 0);
  return pools + (booking.lines.seats?.length ?? 0);
}
