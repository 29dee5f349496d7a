/** What was last heard of the visitor's place, so that its end can be told by whoever missed it. */
import { path } from "../../api/client";
import { askAsVisitor } from "../../api/visitor";
import type { Bookings } from "../../api/schema";
import { clock } from "../clock";
import type { LiveMessage } from "../live";

type OfPlace = Extract<LiveMessage, { type: "position" | "your_turn" | "not_in_queue" }>;
type End = Extract<LiveMessage, { type: "left" | "session_ended" }>;

/** A place not heard of for so long may have lapsed; one that vanished sooner was given up elsewhere. */
const LAPSE_MS = 30_000;

export class Remembered {
  readonly #event: string;
  #last: OfPlace | undefined;
  #heardAt = 0;

  constructor(event: string) {
    this.#event = event;
  }

  /** Notes a message and passes it on, after what it implies. */
  async note(message: LiveMessage, tell: (message: LiveMessage) => void): Promise<void> {
    const last = this.#last;
    const heardAt = this.#heardAt;
    if (message.type === "left" || message.type === "session_ended") this.#last = undefined;
    if (message.type === "position" || message.type === "your_turn" || message.type === "not_in_queue") {
      this.#last = message;
      this.#heardAt = clock.now();
    }
    if (message.type === "not_in_queue" && last) {
      const end = await this.#endOf(last, heardAt);
      if (end) tell(end);
      // Meanwhile the visitor may have joined again, which was told already.
      if (this.#last !== message) return;
    }
    tell(message);
  }

  /** Whether an answer says something else than the last message did. */
  differs(now: OfPlace): boolean {
    const last = this.#last;
    if (!last || last.type !== now.type) return true;
    if (last.type === "position" && now.type === "position") {
      return last.place !== now.place || last.position !== now.position;
    }
    return last.type === "your_turn" && now.type === "your_turn" && last.place !== now.place;
  }

  async #endOf(last: OfPlace, heardAt: number): Promise<End | undefined> {
    const now = clock.now();
    if (last.type === "not_in_queue") return undefined;
    if (last.type === "position") {
      return { type: "left", place: last.place, how: now - heardAt > LAPSE_MS ? "lapsed" : "left" };
    }
    const ended = (how: "no_show" | "timeout" | "completed" | "left"): End => {
      return { type: "session_ended", place: last.place, how };
    };
    if (now >= last.until) return ended("timeout");
    const hasBooked = await this.#hasBookedSince(heardAt);
    if (hasBooked) return ended("completed");
    return ended(last.arrive_by !== undefined && now >= last.arrive_by ? "no_show" : "left");
  }

  /** A session that ended before its time ended with a booking, or was given up. */
  async #hasBookedSince(at: number): Promise<boolean> {
    try {
      const query = { event: this.#event };
      const { bookings } = await askAsVisitor<Bookings>(path`/bookings`, { query });
      return bookings.some((booking) => (booking.confirmed_at ?? 0) >= at - LAPSE_MS);
    } catch {
      return false;
    }
  }
}
