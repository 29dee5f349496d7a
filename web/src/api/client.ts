/** Requests to the server: JSON in, JSON out, problems as values that say what to do. */
import { clock, stopwatch } from "../lib/clock";
import type { Problem } from "./schema";

/**
 * What a request does: a `look` changes nothing that anybody would miss, a `change` that is asked for
 * twice may be made twice, and what is done `once` stays as it is when the same is asked for again.
 */
export type Effect = "look" | "change" | "once";

/** The server said no: `code` is one of docs/errors.md, `facts` are the members that come with it. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryable: boolean;
  /** Seconds to wait before the next try, where the server says so. */
  readonly retryAfterS: number | undefined;
  readonly facts: Problem & Record<string, unknown>;
  /** Of what was asked. */
  readonly effect: Effect;

  constructor(facts: Problem & Record<string, unknown>, retryAfterS?: number, effect: Effect = "look") {
    super(facts.detail);
    this.status = facts.status;
    this.code = facts.code;
    this.retryable = facts.retryable;
    this.retryAfterS = retryAfterS;
    this.facts = facts;
    this.effect = effect;
  }
}

/** No answer came: what was asked may have happened. The same key asked again finds out. */
export class NoAnswer extends Error {
  /** Of what was asked. */
  readonly effect: Effect;

  constructor(message: string, { cause, effect = "look" }: { cause?: unknown; effect?: Effect } = {}) {
    super(message, { cause });
    this.effect = effect;
  }
}

export interface Ask {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  query?: Record<string, string | number | boolean | undefined>;
  /** Sent as JSON. */
  body?: unknown;
  /** Names the wish: a retry has the same one. */
  key?: string;
  /** Where it is not what method and key tell: a GET is a look, and what has a key is done once. */
  effect?: Effect;
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
  const took = stopwatch();
  const effect = effectOf(wish);
  const response = await send(path, wish);
  const text = await response.text().catch((error: unknown) => {
    throw new NoAnswer("the answer broke off", { cause: error, effect });
  });
  if (text === "") return undefined as T;
  let answer;
  try {
    answer = JSON.parse(text) as T;
  } catch (error) {
    // Not ours, though it says that all is well: the page of a proxy in between, most likely.
    throw new NoAnswer("an answer that cannot be read", { cause: error, effect });
  }
  if (wish.tellsTime) clock.note(timeIn(answer), took());
  return answer;
}

function effectOf({ method = "GET", key, effect }: Ask): Effect {
  if (effect !== undefined) return effect;
  if (method === "GET") return "look";
  return key === undefined ? "change" : "once";
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
  const asked = query.toString();
  const headers: Record<string, string> = { ...wish.headers };
  if (wish.token) headers.authorization = `Bearer ${wish.token}`;
  if (wish.key) headers["idempotency-key"] = wish.key;
  if (wish.body !== undefined) headers["content-type"] = "application/json";
  const patience = AbortSignal.timeout(wish.patienceMs ?? PATIENCE_MS);
  const request: RequestInit = {
    method: wish.method ?? "GET",
    headers,
    body: wish.body === undefined ? undefined : JSON.stringify(wish.body),
    cache: "no-store",
    signal: wish.signal ? either(wish.signal, patience) : patience,
  };
  const took = stopwatch();
  let response;
  try {
    // Nothing else is tried here: a mistake of ours is no network that is gone.
    response = await fetch(asked === "" ? path : `${path}?${asked}`, request);
  } catch (error) {
    throw new NoAnswer("the server cannot be reached", { cause: error, effect: effectOf(wish) });
  }
  clock.note(response.headers.get("date"), took());
  if (response.ok) {
    wish.granted?.(response.status);
    return response;
  }
  throw await refusal(response, effectOf(wish));
}

/** Ends with the first of the two, also where there is no `AbortSignal.any`: Safari has it since 17.4. */
function either(one: AbortSignal, other: AbortSignal): AbortSignal {
  if ("any" in AbortSignal) return AbortSignal.any([one, other]);
  const both = new AbortController();
  for (const signal of [one, other]) {
    const end = () => both.abort(signal.reason);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { signal: both.signal });
  }
  return both.signal;
}

async function refusal(response: Response, effect: Effect): Promise<Error> {
  const retryAfterS = Number(response.headers.get("retry-after")) || undefined;
  const facts: unknown = await response.json().catch(() => undefined);
  if (isProblem(facts)) return new Refused(facts, retryAfterS, effect);
  // Not ours: a proxy in between, most likely.
  return new NoAnswer(`an answer that cannot be read: ${response.status}`, { effect });
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

/** Refusals after which nobody knows whether what was asked for was done: docs/errors.md. */
const UNDECIDED = ["ENGINE_UNREACHABLE", "STOPPED", "INTERNAL"];

/** Whether an error leaves open what became of what was asked for. */
export function isUndecided(error: unknown): boolean {
  return error instanceof NoAnswer || (error instanceof Refused && UNDECIDED.includes(error.code));
}

/**
 * Whether something may have been changed and no answer says so; what asking for the same again does
 * then, see {@link Effect}.
 */
export function doubtOf(error: unknown): "change" | "once" | undefined {
  if (!(error instanceof NoAnswer || error instanceof Refused) || !isUndecided(error)) return undefined;
  return error.effect === "look" ? undefined : error.effect;
}

/** Whether a wish has its answer, so that the next one needs another key. */
export function isAnswered(error: unknown): boolean {
  return error instanceof Refused && !error.retryable && !isUndecided(error);
}

/** A fresh key for one wish. */
export function newKey(): string {
  // `crypto.randomUUID` exists on https only, and people try things out on http.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
