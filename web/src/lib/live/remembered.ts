/** What was last heard of the visitor's place, so that its end can be told by whoever missed it. */
import { path } from "../../api/client";
import { askAsVisitor } from "../../api/visitor";
import type { Bookings, Place } from "../../api/schema";
import { clock } from "../clock";
import type { LiveMessage } from "./message";

/** Where the visitor stands. */
export type OfPlace = Extract<LiveMessage, { type: "position" | "your_turn" | "slot_kept" | "not_in_queue" }>;
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
    if (isOfPlace(message)) {
      this.#last = message;
      this.#heardAt = clock.now();
    }
    if (message.type === "not_in_queue" && last) {
      if (last.type === "position" || last.type === "your_turn")
        tell(await endOf(this.#event, last, heardAt));
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
}

function isOfPlace(message: LiveMessage): message is OfPlace {
  return ["position", "your_turn", "slot_kept", "not_in_queue"].includes(message.type);
}

/** How a place must have ended, of which this was heard last: what can be known without having been told. */
export async function endOf(
  event: string,
  last: Extract<OfPlace, { type: "position" | "your_turn" }>,
  heardAt: number,
): Promise<End> {
  const now = clock.now();
  const { place } = last;
  if (last.type === "position")
    return { type: "left", place, how: now - heardAt > LAPSE_MS ? "lapsed" : "left" };
  const ended = (how: "no_show" | "timeout" | "completed" | "left"): End => {
    return { type: "session_ended", place, how };
  };
  // A session ends with its booking, before its time.
  if (await hasBookedSince(event, heardAt - LAPSE_MS)) return ended("completed");
  if (last.arrive_by !== undefined && now >= last.arrive_by) return ended("no_show");
  return ended(now >= last.until ? "timeout" : "left");
}

async function hasBookedSince(event: string, at: number): Promise<boolean> {
  try {
    const { bookings } = await askAsVisitor<Bookings>(path`/bookings`, { query: { event } });
    return bookings.some((booking) => (booking.confirmed_at ?? 0) >= at);
  } catch {
    return false;
  }
}

/** A place as a stream tells it. */
export function messageOf(answer: Place): OfPlace {
  switch (answer.status) {
    case "queued": {
      const { place, number, position, total } = answer;
      return { type: "position", place, number, position, total };
    }
    case "active": {
      const { place, until, arrive_by, pass } = answer;
      return { type: "your_turn", place, until, arrive_by, pass };
    }
    case "ended":
      return { type: "slot_kept", place: answer.place, until: answer.until };
    case "not_found":
      return { type: "not_in_queue" };
  }
}
