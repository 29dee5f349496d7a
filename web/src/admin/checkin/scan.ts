/** One ticket shown at the door, and what came of it. */
import { ask, isUndecided, NoAnswer, path, Refused } from "../../api/client";
import { askAsOrganiser } from "../../api/organiser";
import type { CheckedInBody, SeatMap } from "../../api/schema";
import { clock } from "../../lib/clock";
import { Asked } from "../asked";

export type Outcome =
  /** Let in now; `wasOwn` if by an earlier try of this device, whose answer got lost. */
  | ({ kind: "in"; wasOwn: boolean } & Admission)
  /**
   * Let in at that time, and shown again so soon that the server was not asked; `isNews` if before the
   * answer came, so that nobody was told of the admission yet.
   */
  | ({ kind: "same"; isNews: boolean } & Admission)
  /** Let in by an earlier try of this device, so long ago that somebody else may show it now. */
  | ({ kind: "earlier" } & Admission)
  | { kind: "used"; at: number }
  | { kind: "refused"; code: string; detail: string }
  /** No answer came: the ticket may be used by now. */
  | { kind: "unknown" };

/** Who was let in, and when: what tells them from whoever shows a copy. */
interface Admission {
  at: number;
  name?: string;
  type?: ShownType;
}

/** As what a ticket was bought, and whether its bearer has to show that they may have it. */
export interface ShownType {
  name: string;
  proof: boolean;
}

export interface Scan {
  code: string;
  /** When it was shown. */
  at: number;
  outcome: Outcome;
  event?: string;
  /** The seat's name, or the pool's id. */
  unit?: string;
}

/** What a code says it is for, by ids. Anybody can make one up: what is no id is left out. */
interface Ticket {
  event?: string;
  seat?: string;
  pool?: string;
}

/** Those without an answer. */
const tickets = new Asked("onrush.check-in.asked");

/** Nobody stands at the door for longer until an answer that got lost is asked for again. */
const WAITS_MS = 120_000;

/** Lets a ticket's bearer in, or says why not. `event`: only tickets for it. */
export async function checkIn(code: string, event: string | undefined): Promise<Scan> {
  const at = clock.now();
  const ticket = read(code);
  const scan = { code, at, event: ticket.event, unit: await unitName(ticket) };
  return { ...scan, outcome: await outcome(code, event) };
}

/** The same ticket shown again, if it was let in: what its bearer shows who has not moved on, or a copy. */
export function shownAgain(scan: Scan, isNews: boolean): Scan | undefined {
  const { outcome } = scan;
  if (outcome.kind !== "in" && outcome.kind !== "same") return undefined;
  const { at, name, type } = outcome;
  return { ...scan, at: clock.now(), outcome: { kind: "same", at, name, type, isNews } };
}

async function outcome(code: string, event: string | undefined): Promise<Outcome> {
  const { key, isAgain } = tickets.keyFor(code);
  try {
    const body = { code, ...(event && { event }) };
    const done = await askAsOrganiser<CheckedInBody>(path`/check-in`, { method: "POST", key, body });
    tickets.forget(code);
    const admission = { at: done.checked_in_at, name: done.name, type: done.type };
    // The key knows the try, and not who shows the ticket.
    if (isAgain && clock.now() - admission.at > WAITS_MS) return { kind: "earlier", ...admission };
    return { kind: "in", ...admission, wasOwn: isAgain };
  } catch (error) {
    if (error instanceof NoAnswer) return { kind: "unknown" };
    if (!(error instanceof Refused)) throw error;
    const isBarred = error.status === 401 || error.status === 403;
    // It is answered, and may have been done all the same.
    if (!isBarred && (error.retryable || isUndecided(error))) return { kind: "unknown" };
    const isUsed = error.code === "ALREADY_CHECKED_IN";
    // Any other refusal says nothing of a try before, which may have let the bearer in.
    if (isUsed || !isAgain) tickets.forget(code);
    // Who may not let anybody in learns nothing of the ticket.
    if (isBarred) throw error;
    if (!isUsed) return { kind: "refused", code: error.code, detail: error.message };
    return { kind: "used", at: Number(error.facts.checked_in_at) };
  }
}

/** The server's ids: 1 to 128 of these characters. */
const ID = /^[\w.-]{1,128}$/;

/** What a ticket says. Whether it is genuine only the server knows. */
function read(code: string): Ticket {
  const claims = membersOf(claimsOf(code));
  const unit = membersOf(claims.for);
  return { event: idIn(claims.aud), seat: idIn(unit.seat), pool: idIn(unit.pool) };
}

function claimsOf(code: string): unknown {
  try {
    const text = atob(code.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/** None of what has none. */
function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function idIn(value: unknown): string | undefined {
  return typeof value === "string" && ID.test(value) ? value : undefined;
}

const maps = new Map<string, Promise<Map<string, string>>>();

/**
 * Loads the names of an event's seats once: before the first ticket comes, if it is known which
 * event it is.
 */
export function seatNames(event: string): Promise<Map<string, string>> {
  let map = maps.get(event);
  if (!map) {
    map = ask<SeatMap>(path`/events/${event}/seats`).then(
      ({ seats }) =>
        new Map(
          seats.map(({ id, section, row, number }) => [
            id,
            [section, row, number].filter((part) => part !== undefined).join(" · "),
          ]),
        ),
    );
    maps.set(event, map);
    map.catch(() => maps.delete(event));
  }
  return map;
}

/** Who waits at the door must not wait for a name. */
const NAME_MS = 400;

async function unitName({ event, seat, pool }: Ticket): Promise<string | undefined> {
  if (seat === undefined || event === undefined) return seat ?? pool;
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, NAME_MS));
  const names = await Promise.race([seatNames(event).catch(() => undefined), late]);
  return names?.get(seat) || seat;
}
