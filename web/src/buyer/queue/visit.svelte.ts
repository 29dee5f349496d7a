/** One visitor's way through the waiting room of one event: joins, follows, leaves, shows up. */
import { ask, path, persist, Refused } from "../../api/client";
import { persistAsVisitor } from "../../api/visitor";
import type { Admission, Event, Left, Phase, Place } from "../../api/schema";
import { clock } from "../../lib/clock";
import { follow, type Connection } from "../../lib/live";
import { forgetAsOf } from "../../lib/live/as-of";
import type { LiveMessage } from "../../lib/live/message";
import { endOf, messageOf, type OfPlace } from "../../lib/live/remembered";
import { type Ended, type PlaceRecord, readRecord, writeRecord } from "./record";

export type Standing =
  | { is: "loading" }
  /** Nobody may join yet; joins by itself when that begins. */
  | { is: "early" }
  | { is: "waiting"; place: string; number: number; position?: number; total: number }
  | { is: "turn"; place: string; until: number; arriveBy?: number }
  | { is: "ended"; how: Ended }
  | { is: "full" }
  | { is: "failed"; error: unknown };

/** How often a full queue is tried again. */
const FULL_MS = 20_000;
/** Within which time everybody has asked anew what a change of phase changes besides. */
const SPREAD_MS = 5_000;

export class QueueVisit {
  readonly event: string;
  view = $state.raw<Event>();
  phase = $state<Phase>("scheduled");
  /** Whether anybody is let in: nobody is while nothing is left for the next. */
  admission = $state<Admission>("goes_on");
  standing = $state.raw<Standing>({ is: "loading" });
  connection = $state<Connection>("connecting");
  /** Since when nothing gets through, by the server's clock. */
  offlineSince = $state<number>();
  /** Until when the place is surely kept; `undefined` if it does not lapse, or there is none. */
  keptUntil = $state<number>();
  /** The position that was seen first. */
  from = $state<number>();
  /** Called when a turn begins that was not announced before. */
  onTurn: () => void = () => {};

  #record: PlaceRecord;
  #unfollow: () => void = () => {};
  #isJoining = false;
  /** How many messages came: an answer that was asked for before the last of them may be out of date. */
  #heard = 0;
  #isOver = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #viewTimer: ReturnType<typeof setTimeout> | undefined;
  #soon: ReturnType<typeof setTimeout> | undefined;

  constructor(event: string) {
    this.event = event;
    this.#record = readRecord(event);
    this.from = this.#record.from;
  }

  /** @throws {Refused} if there is no such event, and whatever keeps it from being read. */
  async start(): Promise<void> {
    const view = await persist<Event>(path`/events/${this.event}`, { tellsTime: true });
    if (this.#isOver) return;
    this.view = view;
    this.phase = view.phase;
    this.admission = view.admission;
    if (!view.room) return;
    this.#unfollow = follow(
      this.event,
      (message) => this.#hear(message),
      (connection) => this.#connected(connection),
      { isPlaceOnly: true },
    );
  }

  stop(): void {
    this.#isOver = true;
    this.#unfollow();
    clearTimeout(this.#timer);
    clearTimeout(this.#viewTimer);
    clearTimeout(this.#soon);
  }

  /**
   * Takes a place, or finds the one that this visitor has: without a key the server gives nobody a
   * second one.
   */
  async join(): Promise<void> {
    if (this.#isJoining || this.#isOver) return;
    this.#isJoining = true;
    clearTimeout(this.#timer);
    try {
      const wish = { method: "POST", effect: "once" } as const;
      this.#note(await persistAsVisitor<Place>(path`/events/${this.event}/queue`, wish));
    } catch (error) {
      this.#notJoined(error);
    } finally {
      this.#isJoining = false;
    }
  }

  async leave(): Promise<void> {
    const wasTurn = this.standing.is === "turn";
    try {
      const wish = { method: "DELETE", effect: "once" } as const;
      await persistAsVisitor<Left>(path`/events/${this.event}/queue`, wish);
    } catch (error) {
      // An earlier try whose answer was lost has done it already.
      if (!(error instanceof Refused) || error.code !== "PLACE_NOT_FOUND") throw error;
    }
    this.#ended(wasTurn ? "gave_up" : "left");
  }

  /** Shows up. `false` if it is too late. */
  async arrive(): Promise<boolean> {
    try {
      const to = path`/events/${this.event}/queue/arrive`;
      this.#note(await persistAsVisitor<Place>(to, { method: "POST", effect: "once" }));
      return true;
    } catch (error) {
      if (!(error instanceof Refused) || error.code !== "PLACE_NOT_FOUND") throw error;
      await this.refresh();
      return false;
    }
  }

  /** Asks where the visitor and the sale stand, for moments at which a message may have been missed. */
  async refresh(): Promise<void> {
    const heard = this.#heard;
    try {
      const [view, place] = await Promise.all([
        ask<Event>(path`/events/${this.event}`, { tellsTime: true }),
        persistAsVisitor<Place>(path`/events/${this.event}/queue`, {}),
      ]);
      this.view = view;
      this.admission = view.admission;
      this.#phaseIs(view.phase, true);
      this.#note(place, heard === this.#heard);
    } catch {
      // What is shown stays; `follow` tells when the server is back.
    }
  }

  /**
   * The same for a time that everybody waits for: a message tells what happened then, and who heard
   * of nothing asks a little later, not all at once.
   */
  refreshSoon(): void {
    if (this.#soon !== undefined) return;
    const before = this.phase;
    const look = () => {
      this.#soon = undefined;
      if (this.phase === before) void this.refresh();
    };
    this.#soon = setTimeout(look, 1_000 + 2 * SPREAD_MS * Math.random());
  }

  /** Asks for the event alone: what it says of times and numbers, where messages tell all else. */
  async refreshView(): Promise<void> {
    try {
      this.view = await ask<Event>(path`/events/${this.event}`);
    } catch {
      // What was known of it is of use without it.
    }
  }

  #connected(connection: Connection): void {
    this.connection = connection;
    if (connection === "offline") this.offlineSince ??= clock.now();
    else if (connection !== "connecting") this.offlineSince = undefined;
  }

  #hear(message: LiveMessage): void {
    this.#heard += 1;
    switch (message.type) {
      case "position":
      case "your_turn":
      case "slot_kept":
      case "not_in_queue":
        this.#placeIs(message);
        break;
      case "left":
        if (this.#isMine(message.place)) this.#ended(message.how);
        break;
      case "session_ended":
        if (this.#isMine(message.place)) this.#ended(message.how === "left" ? "gave_up" : message.how);
        break;
      case "phase":
        this.#phaseIs(message.phase);
        break;
      case "admission":
        this.admission = message.admission;
        break;
      case "hold":
      case "hold_expiring":
      case "seats":
      case "bye":
        break;
    }
  }

  #isMine(place: string): boolean {
    const last = this.#record.last;
    return !this.#record.ended && (last === undefined || last.place === place);
  }

  /** `isRead` is said where the event was asked for together with it. */
  #phaseIs(phase: Phase, isRead = false): void {
    const hasChanged = phase !== this.phase;
    this.phase = phase;
    if (!hasChanged) return;
    clearTimeout(this.#viewTimer);
    // The opening changes times and numbers of the event as well.
    if (!isRead) this.#viewTimer = setTimeout(() => void this.refreshView(), SPREAD_MS * Math.random());
    if (this.standing.is === "early" && (phase === "prequeue" || phase === "open")) void this.join();
  }

  #note(place: Place, isFresh = false): void {
    forgetAsOf(this.event);
    this.#placeIs(messageOf(place), isFresh);
    if (place.status === "queued" && this.standing.is === "waiting") this.keptUntil = place.lapses_at;
  }

  /**
   * A place waits, is admitted, and ends, in this order. What says otherwise has been overtaken:
   * the answer to joining may come after the message that it is the visitor's turn.
   */
  #isStepBack(message: OfPlace): boolean {
    const { last, ended } = this.#record;
    if (message.type === "not_in_queue" || message.type === "slot_kept") return false;
    if (last?.place !== message.place) return false;
    return ended !== undefined || (last.type === "your_turn" && message.type === "position");
  }

  /** `isFresh` is said of an answer that was asked for after all that was heard until now. */
  #placeIs(message: OfPlace, isFresh = false): void {
    if (this.#isOver) return;
    if (message.type === "not_in_queue") {
      void this.#isNowhere();
      return;
    }
    if (message.type === "slot_kept") {
      this.#ended("kept");
      return;
    }
    if (!isFresh && this.#isStepBack(message)) {
      void this.refresh();
      return;
    }
    const isOther = this.#record.last?.place !== message.place;
    if (isOther || this.#record.ended) {
      this.#record = {};
      this.from = undefined;
    }
    this.#record.last = message;
    this.#record.heardAt = clock.now();
    if (message.type === "position") {
      const { place, number, position, total } = message;
      if (position !== undefined) this.from = this.#record.from = Math.max(this.from ?? 0, position);
      this.standing = { is: "waiting", place, number, position, total };
      this.#keep();
    } else {
      const { place, until, arrive_by } = message;
      this.standing = { is: "turn", place, until, arriveBy: arrive_by };
      this.keptUntil = arrive_by;
      if (this.#record.announced !== place) {
        this.#record.announced = place;
        this.onTurn();
      }
    }
    writeRecord(this.event, this.#record);
  }

  /** A sign of life is written down now and then only, so that much is surely left from now on. */
  #keep(): void {
    const ttlMs = this.view?.room?.place_ttl_ms;
    if (ttlMs === undefined || this.phase === "scheduled" || this.phase === "prequeue") {
      this.keptUntil = undefined;
      return;
    }
    const surely = clock.now() + ttlMs - Math.min(300_000, ttlMs / 6);
    this.keptUntil = Math.max(this.keptUntil ?? 0, surely);
  }

  async #isNowhere(): Promise<void> {
    if (this.#isJoining) return;
    const { last, heardAt, ended } = this.#record;
    if (ended) {
      // What kept the slot is gone, too.
      this.#ended(ended === "kept" ? "timeout" : ended);
      return;
    }
    if (!last) {
      // Whoever opens the waiting room wants to be in it.
      if (this.phase === "scheduled") this.standing = { is: "early" };
      else if (this.phase !== "closed") await this.join();
      return;
    }
    // An answer may be older than a place that was taken meanwhile, here or in another tab.
    const heard = this.#heard;
    let place;
    try {
      place = await persistAsVisitor<Place>(path`/events/${this.event}/queue`, {});
    } catch (error) {
      // What is shown stays, if there is anything: `follow` tells when the server is back.
      if (this.standing.is === "loading") this.standing = { is: "failed", error };
      return;
    }
    if (place.status !== "not_found") {
      this.#note(place, heard === this.#heard);
      return;
    }
    const end = await endOf(this.event, last, heardAt ?? 0);
    if (this.#record.last !== last || this.#record.ended) return;
    this.#ended(end.type === "session_ended" && end.how === "left" ? "gave_up" : end.how);
  }

  #ended(how: Ended): void {
    this.#record = { ...this.#record, ended: how };
    writeRecord(this.event, this.#record);
    this.keptUntil = undefined;
    this.standing = { is: "ended", how };
  }

  #notJoined(error: unknown): void {
    const code = error instanceof Refused ? error.code : undefined;
    if (code === "EVENT_NOT_OPEN") {
      // The sale stands somewhere else than we thought.
      this.standing = { is: "early" };
      void this.#askPhase();
    } else if (code === "QUEUE_FULL") {
      this.standing = { is: "full" };
      const pauseMs = FULL_MS * (0.75 + Math.random() / 2);
      this.#timer = setTimeout(() => void this.join(), pauseMs);
    } else {
      this.standing = { is: "failed", error };
    }
  }

  async #askPhase(): Promise<void> {
    try {
      const view = await persist<Event>(path`/events/${this.event}`);
      this.view = view;
      this.phase = view.phase;
    } catch {
      // The stream tells it when it changes.
    }
  }
}
