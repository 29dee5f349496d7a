/** Live updates of one event: over WebSocket, else SSE, else by asking. */
import { isRefusedForNow, NoAnswer, path, Refused, wantedPauseMs } from "../api/client";
import { askAsVisitor } from "../api/visitor";
import type { LiveMessage } from "./live/message";
import { Poller, type Wish } from "./live/poller";
import { Remembered } from "./live/remembered";
import { openStream, type Stream, type StreamKind } from "./live/stream";

/** How messages come just now. */
export type Connection = "connecting" | "websocket" | "sse" | "polling" | "offline";

/** Who waits hears something every 20 s at the latest; twice that in silence is suspicious. */
const SILENCE_MS = 40_000;
/** Whoever does not wait may hear nothing for long: after so much silence they are connected anew. */
const QUIET_MS = 300_000;
/** A stream that cannot be had is tried again after this time, doubled up to the longest. */
const RETRY_STREAM_MS = 60_000;
const RETRY_STREAM_MAX_MS = 600_000;
const PAUSE_MAX_MS = 15_000;
/** The same for a server that refuses for now: each round of everybody's is more for it to do. */
const REFUSED_PAUSE_MAX_MS = 60_000;
/** A page that comes back to the front asks at once, but not at every flick between two windows. */
const GLANCE_MS = 3_000;

/**
 * Follows an event until the returned function is called; reconnects by itself.
 *
 * Whatever the way, `listen` gets the same messages. Where a place or session ended while nobody
 * was connected, what is known about its end is told as `left` or `session_ended` before
 * `not_in_queue`. Where no stream can be had, the first `seats` names all of them, as there is no
 * telling what was missed.
 *
 * A server that refuses for now is no reason to ask it instead: whoever does not ask yet waits. A
 * limit on tickets is one, as looks have a limit of their own.
 */
export function follow(
  event: string,
  listen: (message: LiveMessage) => void,
  connected: (connection: Connection) => void = () => {},
  wish: Wish = {},
): () => void {
  const follower = new Follower(event, listen, connected, wish);
  follower.start();
  return () => follower.stop();
}

class Follower {
  readonly #event: string;
  readonly #listen: (message: LiveMessage) => void;
  readonly #connected: (connection: Connection) => void;
  readonly #remembered: Remembered;
  readonly #poller: Poller;
  #isOver = false;
  #connection: Connection | undefined;
  #stream: Stream | undefined;
  #isConnecting = false;
  /** Rounds without success, for the pause before the next. */
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #watchdog: ReturnType<typeof setTimeout> | undefined;
  #retryStreamMs = RETRY_STREAM_MS;
  /** Until when (by `performance.now`) the server wants to be left alone. */
  #refusedUntil = 0;
  /** Until when (by `performance.now`) a kind of stream is not tried. */
  readonly #shunned: Record<StreamKind, number> = { websocket: 0, sse: 0 };
  /** How many messages came: an answer that was asked for before the last of them is out of date. */
  #heard = 0;
  #glancedAt = -Infinity;
  /** When (by `performance.now`) the last of them came. */
  #heardAt = 0;

  constructor(
    event: string,
    listen: (message: LiveMessage) => void,
    connected: (connection: Connection) => void,
    wish: Wish,
  ) {
    this.#event = event;
    this.#listen = listen;
    this.#connected = connected;
    this.#remembered = new Remembered(event);
    this.#poller = new Poller(event, wish, {
      message: (message) => this.#hear(message),
      answered: () => this.#says("polling"),
      refused: (refusal) => this.#lookRefused(refusal),
      unanswered: () => this.#again("offline"),
    });
  }

  start(): void {
    addEventListener("online", this.#glance);
    addEventListener("offline", this.#glance);
    addEventListener("pageshow", this.#glance);
    document.addEventListener("visibilitychange", this.#glance);
    this.#says("connecting");
    void this.#connect();
  }

  stop(): void {
    this.#isOver = true;
    removeEventListener("online", this.#glance);
    removeEventListener("offline", this.#glance);
    removeEventListener("pageshow", this.#glance);
    document.removeEventListener("visibilitychange", this.#glance);
    this.#hangUp();
    clearTimeout(this.#timer);
  }

  /**
   * The network or the page came back, or the network is said to be gone, which is not always true:
   * looks now.
   */
  readonly #glance = (cause: Event): void => {
    const isFirstShow = cause instanceof PageTransitionEvent && !cause.persisted;
    if (document.visibilityState === "hidden" || isFirstShow) return;
    const now = performance.now();
    const isUrgent = cause.type === "online" || cause.type === "offline";
    if (!isUrgent && now - this.#glancedAt < GLANCE_MS) return;
    // People who look at the page meanwhile are the busy server's crowd as well.
    if (now < this.#refusedUntil) return;
    this.#glancedAt = now;
    this.#failures = 0;
    if (this.#stream) void this.#probe(SILENCE_MS);
    else if (!this.#isConnecting) {
      this.#poller.stop();
      void this.#connect();
    }
  };

  #says(connection: Connection): void {
    if (this.#isOver || this.#connection === connection) return;
    this.#connection = connection;
    this.#connected(connection);
  }

  #hangUp(): void {
    clearTimeout(this.#watchdog);
    this.#stream?.close();
    this.#stream = undefined;
    this.#poller.stop();
  }

  /** Tries the ways in turn, the best first. Asking goes on meanwhile if that is how it was. */
  async #connect(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#isOver || this.#isConnecting) return;
    this.#isConnecting = true;
    let wantedMs = 0;
    try {
      for (const kind of ["websocket", "sse"] as const) {
        if (this.#shunned[kind] > performance.now()) continue;
        const stream = await this.#open(kind);
        if (this.#isOver) {
          stream?.close();
          return;
        }
        if (stream) return;
        this.#shunned[kind] = performance.now() + this.#retryStreamMs;
        if (kind === "sse") this.#retryStreamMs = Math.min(2 * this.#retryStreamMs, RETRY_STREAM_MAX_MS);
      }
    } catch (error) {
      if (error instanceof NoAnswer) {
        // Nothing can be said against streams where nothing at all gets through.
        this.#shunned.websocket = this.#shunned.sse = 0;
        this.#isConnecting = false;
        this.#again("offline");
        return;
      }
      if (!(error instanceof Refused)) throw error;
      if (isRefusedForNow(error) && this.#connection !== "polling") {
        this.#comeBack(error);
        return;
      }
      wantedMs = wantedPauseMs(error);
    } finally {
      this.#isConnecting = false;
    }
    if (this.#isOver) return;
    this.#poller.start();
    const pauseMs = Math.min(this.#shunned.websocket, this.#shunned.sse) - performance.now();
    const waitMs = Math.max(pauseMs, RETRY_STREAM_MS / 2) * (0.75 + 0.5 * Math.random());
    this.#connectAfter(waitMs, wantedMs);
  }

  async #open(kind: StreamKind): Promise<Stream | undefined> {
    const signal = AbortSignal.timeout(8_000);
    const { ticket } = await askAsVisitor<{ ticket: string }>(path`/stream-tickets`, {
      method: "POST",
      signal,
    });
    if (this.#isOver) return undefined;
    const stream: Stream = openStream(kind, this.#event, ticket, {
      message: (message) => {
        if (this.#stream === stream) this.#hear(message);
      },
      ended: () => {
        if (this.#stream === stream) this.#again("connecting");
      },
    });
    const first = await stream.opened;
    if (!first) return undefined;
    if (this.#isOver) return stream;
    this.#hangUp();
    this.#stream = stream;
    this.#failures = 0;
    this.#retryStreamMs = RETRY_STREAM_MS;
    this.#says(kind);
    for (const message of first) this.#hear(message);
    return stream;
  }

  #hear(message: LiveMessage): void {
    if (this.#isOver) return;
    this.#heard += 1;
    this.#heardAt = performance.now();
    this.#watch();
    void this.#remembered.note(message, (told) => {
      if (!this.#isOver) this.#listen(told);
    });
    if (message.type === "bye") this.#again("connecting");
  }

  /**
   * Connects again after a pause that grows, and differs from everybody else's; after a refusal it is
   * as long as the server wants, at least.
   */
  #again(connection: Connection, refusal?: Refused): void {
    if (this.#isOver) return;
    this.#hangUp();
    this.#says(connection);
    const longestMs = refusal ? REFUSED_PAUSE_MAX_MS : PAUSE_MAX_MS;
    const pauseMs = Math.min(1_000 * 2 ** this.#failures, longestMs);
    this.#failures += 1;
    this.#connectAfter(pauseMs * (0.25 + Math.random()), wantedPauseMs(refusal));
  }

  #connectAfter(pauseMs: number, wantedMs: number): void {
    this.#refusedUntil = performance.now() + wantedMs;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#connect(), Math.max(pauseMs, wantedMs));
  }

  /** The server refuses for now, which says nothing against streams: tries them again when it may do. */
  #comeBack(refusal: Refused): void {
    this.#shunned.websocket = this.#shunned.sse = 0;
    this.#retryStreamMs = RETRY_STREAM_MS;
    this.#again("connecting", refusal);
  }

  /**
   * Why a stream did not open cannot be seen. If the first look that takes its place is refused for
   * now, the stream was, most likely. Whoever has had answers goes on asking.
   */
  #lookRefused(refusal: Refused): void {
    if (this.#connection === "polling" || this.#isConnecting || !isRefusedForNow(refusal)) return;
    this.#comeBack(refusal);
  }

  #watch(): void {
    clearTimeout(this.#watchdog);
    if (this.#stream) this.#watchdog = setTimeout(() => void this.#probe(QUIET_MS), SILENCE_MS);
  }

  /**
   * A silent stream may be dead, and pings cannot be seen from here: asks, and compares with what
   * the stream told. To whoever does not wait it may have nothing to tell: to them it counts as dead
   * after `quietMs` of silence.
   */
  async #probe(quietMs: number): Promise<void> {
    const stream = this.#stream;
    const heard = this.#heard;
    this.#watch();
    try {
      const place = await this.#poller.askPlace();
      if (this.#isOver || this.#stream !== stream || this.#heard !== heard) return;
      // Who waits would have heard something, however slowly the line moves.
      const longestMs = place.type === "position" ? SILENCE_MS : quietMs;
      const isSilent = performance.now() - this.#heardAt >= longestMs;
      if (!isSilent && !this.#remembered.differs(place)) return;
      this.#hear(place);
      this.#again("connecting");
    } catch (error) {
      if (this.#stream === stream && error instanceof NoAnswer) this.#again("offline");
    }
  }
}
