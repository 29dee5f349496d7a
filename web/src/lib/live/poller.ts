/** Finds out by asking every few seconds what a stream would have told. */
import { NoAnswer, ask, path, Refused } from "../../api/client";
import { askAsVisitor } from "../../api/visitor";
import type { Bookings, Event, Phase, Place, SeatMap, SeatStatus, SeatStatuses } from "../../api/schema";
import { clock } from "../clock";
import { asking, forgetAsOf, noteAsOf } from "./as-of";
import type { LiveMessage } from "./message";
import { messageOf, type OfPlace } from "./remembered";

export interface Wish {
  /** Whether only the place and the phase matter: then asking stays cheap where no stream can be had. */
  isPlaceOnly?: boolean;
}

interface Listener {
  message(message: LiveMessage): void;
  answered(): void;
  /** The server said no; asking goes on unless the poller is stopped. */
  refused(refusal: Refused): void;
  /** Nothing gets through; the poller has stopped. */
  unanswered(): void;
}

type Status = "free" | "held" | "sold" | "blocked";

/** Who is close to the front, or in the room, asks as often as a stream would tell. */
const NEAR = 100;
const NEAR_MS = 1_500;
const FAR_MS = 5_000;
const PATIENCE_MS = 8_000;
/** Bookings are told of once, this long before they run out. */
const EXPIRING_MS = 60_000;
const LETTERS: Record<string, Status> = { f: "free", h: "held", s: "sold", b: "blocked" };

export class Poller {
  readonly #event: string;
  readonly #wish: Wish;
  readonly #listener: Listener;
  /** The present run; another number means that an older one is over. */
  #run = 0;
  #isRunning = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #phase: Phase | undefined;
  #isRoomless = false;
  #seats: { at: number; ids: string[]; letters: string } | undefined;
  #bookings = new Map<string, string>();
  #warned = new Set<string>();

  constructor(event: string, wish: Wish, listener: Listener) {
    this.#event = event;
    this.#wish = wish;
    this.#listener = listener;
  }

  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    forgetAsOf(this.#event);
    this.#phase = undefined;
    this.#seats = undefined;
    this.#bookings.clear();
    this.#run += 1;
    void this.#ask(this.#run);
  }

  stop(): void {
    this.#isRunning = false;
    this.#run += 1;
    clearTimeout(this.#timer);
  }

  /** The visitor's place, as a stream would tell it at its start. */
  async askPlace(): Promise<OfPlace> {
    return (await this.#look()).message;
  }

  async #look(): Promise<{ message: OfPlace; isLast: boolean }> {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const { asOf, count } = asking(this.#event);
    // Beside a stream, whose messages do not say what they are of, the present is asked for.
    const query = { as_of: this.#isRunning ? asOf : undefined };
    const place = await askAsVisitor<Place>(path`/events/${this.#event}/queue`, { query, signal });
    const isLast = noteAsOf(this.#event, place, count);
    return { message: messageOf(place), isLast };
  }

  async #ask(run: number): Promise<void> {
    let pauseMs = FAR_MS;
    try {
      let { message: place, isLast } = await this.#look();
      // It was overtaken by another answer: what that told is not taken back by an older one.
      if (!isLast && run === this.#run) ({ message: place, isLast } = await this.#look());
      if (run !== this.#run) return;
      this.#listener.answered();
      if (isLast) this.#listener.message(place);
      await this.#askPhase(run);
      const mayHold = place.type === "your_turn" || this.#isRoomless;
      if (mayHold && !this.#wish.isPlaceOnly) {
        await this.#askBookings(run);
        await this.#askSeats(run);
      }
      if (mayHold || (place.type === "position" && (place.position ?? Infinity) <= NEAR)) pauseMs = NEAR_MS;
    } catch (error) {
      if (run !== this.#run) return;
      if (error instanceof NoAnswer) {
        this.stop();
        this.#listener.unanswered();
        return;
      }
      if (!(error instanceof Refused)) throw error;
      this.#listener.refused(error);
      pauseMs = Math.max(FAR_MS, 1_000 * (error.retryAfterS ?? 0));
    }
    if (run !== this.#run) return;
    this.#timer = setTimeout(() => void this.#ask(run), pauseMs * (0.8 + 0.4 * Math.random()));
  }

  async #askPhase(run: number): Promise<void> {
    const event = await ask<Event>(path`/events/${this.#event}`, { tellsTime: true });
    if (run !== this.#run) return;
    this.#isRoomless = !event.room;
    if (event.phase !== this.#phase) this.#listener.message({ type: "phase", phase: event.phase });
    this.#phase = event.phase;
  }

  async #askBookings(run: number): Promise<void> {
    const { bookings } = await askAsVisitor<Bookings>(path`/bookings`, { query: { event: this.#event } });
    if (run !== this.#run) return;
    for (const { booking, status, until } of bookings) {
      const is = `${status} ${until}`;
      const was = this.#bookings.get(booking);
      this.#bookings.set(booking, is);
      // What ended before we came is no news.
      const isNews = was === undefined ? until !== undefined : was !== is;
      if (isNews) this.#listener.message({ type: "hold", booking, status, until });
      if (until === undefined || until - clock.now() > EXPIRING_MS || this.#warned.has(booking + is))
        continue;
      this.#warned.add(booking + is);
      this.#listener.message({ type: "hold_expiring", booking, until });
    }
  }

  async #askSeats(run: number): Promise<void> {
    const before = this.#seats;
    const answer = await ask<SeatStatuses>(path`/events/${this.#event}/seats/status`);
    if (run !== this.#run || answer.seats === 0) return;
    // Another node may have read them before the one that answered last: what that told is not taken back.
    if (before && answer.at < before.at) return;
    if (before?.letters === answer.status) {
      before.at = answer.at;
      return;
    }
    let ids = before?.ids;
    if (ids?.length !== answer.seats) {
      const map = await ask<SeatMap>(path`/events/${this.#event}/seats`);
      ids = map.seats.map((seat) => seat.id);
      if (run !== this.#run || ids.length !== answer.seats) return;
    }
    const changed: Record<string, SeatStatus> = {};
    for (const [index, id] of ids.entries()) {
      const letter = answer.status[index]!;
      if (before?.letters[index] !== letter) changed[id] = LETTERS[letter]!;
    }
    this.#seats = { at: answer.at, ids, letters: answer.status };
    this.#listener.message({ type: "seats", at: answer.at, changed });
  }
}
