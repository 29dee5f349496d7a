/** Requests to the server: JSON in, JSON out, problems as values that say what to do. */
import { clock } from "../lib/clock";
import type { Problem } from "./schema";

/** The server said no: `code` is one of docs/errors.md, `facts` are the members that come with it. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryable: boolean;
  /** Seconds to wait before the next try, where the server says so. */
  readonly retryAfterS: number | undefined;
  readonly facts: Problem & Record<string, unknown>;

  constructor(facts: Problem & Record<string, unknown>, retryAfterS?: number) {
    super(facts.detail);
    this.status = facts.status;
    this.code = facts.code;
    this.retryable = facts.retryable;
    this.retryAfterS = retryAfterS;
    this.facts = facts;
  }
}

/** No answer came: what was asked may have happened. The same key asked again finds out. */
export class NoAnswer extends Error {}

export interface Ask {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  query?: Record<string, string | number | boolean | undefined>;
  /** Sent as JSON. */
  body?: unknown;
  /** Names the wish: a retry has the same one. */
  key?: string;
  /** A visitor's token. */
  token?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** No answer within this time is no answer. */
  patienceMs?: number;
  /** The answer's `at`, or that of each of its `events`, is the time at which it was given. */
  tellsTime?: boolean;
  /** Is told the status of what was granted, where one says more than another. */
  granted?: (status: number) => void;
}

/** See {@link Ask.patienceMs}. */
const PATIENCE_MS = 20_000;

/** The address of something below `/api/v1`, ids escaped: `` path`/events/${event}` ``. */
export function path(parts: TemplateStringsArray, ...ids: (string | number)[]): string {
  return "/api/v1" + String.raw(parts, ...ids.map((id) => encodeURIComponent(id)));
}

/**
 * Asks the server, once.
 * @throws {Refused} if it says no, {@link NoAnswer} if it says nothing.
 */
export async function ask<T>(path: string, wish: Ask = {}): Promise<T> {
  const began = performance.now();
  const response = await send(path, wish);
  const text = await response.text().catch((error: unknown) => {
    throw new NoAnswer("the answer broke off", { cause: error });
  });
  if (text === "") return undefined as T;
  let answer;
  try {
    answer = JSON.parse(text) as T;
  } catch (error) {
    // Not ours, though it says that all is well: the page of a proxy in between, most likely.
    throw new NoAnswer("an answer that cannot be read", { cause: error });
  }
  if (wish.tellsTime) clock.note(timeIn(answer), performance.now() - began);
  return answer;
}

function timeIn(answer: unknown): number | undefined {
  const { at, events } = answer as { at?: number; events?: { at?: number }[] };
  return at ?? events?.[0]?.at;
}

/** The same for an answer that is not JSON. */
export async function send(path: string, wish: Ask = {}): Promise<Response> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(wish.query ?? {})) {
    if (value !== undefined) query.set(name, String(value));
  }
  const headers: Record<string, string> = { ...wish.headers };
  if (wish.token) headers.authorization = `Bearer ${wish.token}`;
  if (wish.key) headers["idempotency-key"] = wish.key;
  if (wish.body !== undefined) headers["content-type"] = "application/json";
  const patience = AbortSignal.timeout(wish.patienceMs ?? PATIENCE_MS);
  const began = performance.now();
  let response;
  try {
    response = await fetch(query.size > 0 ? `${path}?${query}` : path, {
      method: wish.method ?? "GET",
      headers,
      body: wish.body === undefined ? undefined : JSON.stringify(wish.body),
      cache: "no-store",
      signal: wish.signal ? AbortSignal.any([wish.signal, patience]) : patience,
    });
  } catch (error) {
    throw new NoAnswer("the server cannot be reached", { cause: error });
  }
  clock.note(response.headers.get("date"), performance.now() - began);
  if (response.ok) {
    wish.granted?.(response.status);
    return response;
  }
  throw await refusal(response);
}

async function refusal(response: Response): Promise<Error> {
  const retryAfterS = Number(response.headers.get("retry-after")) || undefined;
  const facts: unknown = await response.json().catch(() => undefined);
  if (isProblem(facts)) return new Refused(facts, retryAfterS);
  // Not ours: a proxy in between, most likely.
  return new NoAnswer(`an answer that cannot be read: ${response.status}`);
}

function isProblem(facts: unknown): facts is Refused["facts"] {
  return typeof facts === "object" && facts !== null && "code" in facts && typeof facts.code === "string";
}

/**
 * Asks again, after a growing pause, while there is no answer or the server says that a retry is
 * sensible.
 */
export async function persist<T>(path: string, wish: Ask = {}, tries = 5): Promise<T> {
  for (let round = 1; ; round += 1) {
    try {
      return await ask<T>(path, wish);
    } catch (error) {
      const again = error instanceof NoAnswer || (error instanceof Refused && isWorthTrying(error));
      if (!again || round >= tries || wish.signal?.aborted) throw error;
      const pauseMs = 300 * 2 ** round * (0.5 + Math.random());
      const waitMs = Math.max(pauseMs, wantedPauseMs(error));
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}

/** Whether another try soon may do; a full queue gets room when others leave it, which takes longer. */
function isWorthTrying(refusal: Refused): boolean {
  return refusal.retryable && refusal.code !== "QUEUE_FULL";
}

/** For how long the server wants to be left alone. Who was refused together comes back one by one. */
export function wantedPauseMs(error: unknown): number {
  const wantedMs = error instanceof Refused ? (error.retryAfterS ?? 0) * 1_000 : 0;
  return wantedMs * (1 + Math.random());
}

/**
 * Whether the server refuses whatever is asked just now, as one does that has too much to do: asking
 * for something else instead would give it more. A limit is none of these: who has changed things too
 * often may look at them.
 */
export function isRefusedForNow(error: unknown): error is Refused {
  if (!(error instanceof Refused) || !error.retryable || error.code === "RATE_LIMITED") return false;
  return error.status === 503 || error.status === 429;
}

/** A fresh key for one wish. */
export function newKey(): string {
  // `crypto.randomUUID` exists on https only, and people try things out on http.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
