/**
 * How this browser gets at a booking: as its visitor, as a visitor that it was before, or by the
 * booking's link, which needs neither.
 */
import { store } from "../lib/store";
import { ask, path, persist, Refused, send, wantedPauseMs, type Ask } from "./client";
import type { Booking, Bookings } from "./schema";
import { asVisitor, earlier, isKept, isKnown, isWithoutToken, refuseEarlier, tokenOf } from "./visitor";

export type Way = { is: "visitor" } | { is: "earlier"; user: string } | { is: "link"; link: string };

const LINKS = "onrush.links";
/** Links that are kept; older ones are forgotten. */
const KEPT = 60;

/** The ways that led to bookings on this page. */
const found = new Map<string, Way>();

/** Links that this page was opened with, or that were withdrawn meanwhile: it tries them, and keeps none. */
const tried = new Map<string, string>();

/** The links that this browser has, by booking. */
export function links(): Record<string, string> {
  return store.read<Record<string, string>>(LINKS) ?? {};
}

function writeLinks(links: [string, string][]): void {
  store.write(LINKS, Object.fromEntries(links.slice(-KEPT)));
}

export function keepLink(booking: string, link: string): void {
  const { [booking]: before, ...others } = links();
  if (before === link) return;
  writeLinks([...Object.entries(others), [booking, link]]);
}

export function forgetLink(booking: string): void {
  writeLinks(Object.entries(links()).filter(([other]) => other !== booking));
  tried.delete(booking);
  found.delete(booking);
}

/** Keeps a withdrawn link no more, unless another has taken its place. This page still says that it was. */
function forgetWithdrawn(booking: string, link: string): void {
  if (links()[booking] !== link) return;
  writeLinks(Object.entries(links()).filter(([other]) => other !== booking));
  if (!tried.has(booking)) tried.set(booking, link);
}

/** The booking that the address has a link of. */
export function bookingInAddress(): string | undefined {
  return /^#b1\.(.+)\.\d+\.[0-9a-f]+\.[\w-]+$/.exec(location.hash)?.[1];
}

/**
 * Takes the link out of the address, where it would be seen, copied and kept in the browser's history.
 * It is kept here once it has opened its booking: an old one must not take the place of a good one.
 */
export function takeLink(): void {
  const booking = bookingInAddress();
  if (booking === undefined) return;
  const link = location.hash.slice(1);
  history.replaceState(history.state, "", location.pathname + location.search);
  tried.set(booking, link);
}

/** How this browser got at a booking the last time. */
export function wayTo(booking: string): Way | undefined {
  return found.get(booking);
}

/** Whether the next page of this browser gets at it the same way: what is not kept ends with this one. */
export function isWayKept(booking: string): boolean {
  return found.get(booking)?.is === "link" ? store.keeps(LINKS) : isKept();
}

function waysTo(booking: string): Way[] {
  const known = found.get(booking);
  const keys = [tried.get(booking), links()[booking]].filter((link) => link !== undefined);
  const others = earlier().filter((identity) => !identity.refused);
  const all: Way[] = [
    ...(known ? [known] : []),
    // Nobody becomes a visitor only to look at a booking that a link opens.
    ...(isKnown() || (keys.length === 0 && others.length === 0) ? [{ is: "visitor" } as const] : []),
    ...others.map(({ user }) => ({ is: "earlier", user }) as const),
    ...keys.map((link) => ({ is: "link", link }) as const),
  ];
  const names = all.map((way) => JSON.stringify(way));
  return all.filter((_, index) => names.indexOf(names[index]!) === index);
}

/** Refusals that say: not by this way. */
const ELSEWHERE = ["RESERVATION_NOT_FOUND", "TOKEN_EXPIRED", "TOKEN_INVALID", "LINK_WITHDRAWN"];

/** How often a token is asked for before what may do without it: nobody waits for it then. */
const TRIES_AT_FIRST = 1;
/** Where there is another way, or something to show, no token is waited for that is put off longer. */
const LONGEST_PAUSE_S = 10;
/** How long it is waited for at least. */
const SHORTEST_PAUSE_MS = 600;

/**
 * Does something about a booking, by whatever way leads to it. Where there are several, each is tried at
 * once, and those whose token was not to be had are tried again with patience.
 */
async function keeping<T>(booking: string, work: (token: string) => Promise<T>): Promise<T> {
  const ways = waysTo(booking);
  const isOnly = ways.length === 1;
  let refusal: Refused | undefined;
  const untokened = new Map<Way, Error>();
  const tryBy = async (way: Way, tries?: number): Promise<{ done: T } | undefined> => {
    untokened.delete(way);
    try {
      const done = await by(way, work, tries);
      found.set(booking, way);
      if (way.is === "link") keepLink(booking, way.link);
      return { done };
    } catch (error) {
      if (way.is === "link" && isWithdrawn(error)) forgetWithdrawn(booking, way.link);
      if (isWithoutToken(error)) {
        untokened.set(way, error);
        return undefined;
      }
      if (!(error instanceof Refused) || !ELSEWHERE.includes(error.code)) throw error;
      // That a link was withdrawn says more than that others know nothing.
      if (!refusal || error.code === "LINK_WITHDRAWN") refusal = error;
      return undefined;
    }
  };
  for (const way of ways) {
    const tried = await tryBy(way, isOnly ? undefined : TRIES_AT_FIRST);
    if (tried) return tried.done;
  }
  const again = isOnly ? [] : [...untokened].filter(([, why]) => mayComeSoon(why));
  for (const [way] of again) {
    const tried = await tryBy(way);
    if (tried) return tried.done;
  }
  found.delete(booking);
  const whys = [...untokened.values()];
  // Whoever gets a token another time may find it after all.
  throw whys.find(mayComeLater) ?? refusal ?? whys[0] ?? new Error("there is always a way to try");
}

/** Whether a token that could not be had may be had later. Whoever is refused one for good owns nothing. */
function mayComeLater(untokened: Error): boolean {
  return !(untokened instanceof Refused) || untokened.retryable;
}

/** Whether it may be had so soon that it is waited for. */
function mayComeSoon(untokened: Error): boolean {
  if (!mayComeLater(untokened)) return false;
  return !(untokened instanceof Refused) || (untokened.retryAfterS ?? 0) <= LONGEST_PAUSE_S;
}

function isElsewhere(error: unknown): boolean {
  return error instanceof Refused && ELSEWHERE.includes(error.code);
}

function isWithdrawn(error: unknown): boolean {
  return error instanceof Refused && error.code === "LINK_WITHDRAWN";
}

async function by<T>(way: Way, work: (token: string) => Promise<T>, tries?: number): Promise<T> {
  if (way.is === "visitor") return asVisitor(work, tries);
  if (way.is === "link") return work(way.link);
  const token = await tokenOf(way.user, tries);
  if (token === undefined) throw notThere();
  try {
    return await work(token);
  } catch (error) {
    if (error instanceof Refused && error.code === "TOKEN_INVALID") refuseEarlier(way.user, error.code);
    throw error;
  }
}

function notThere(): Refused {
  const [status, code, detail] = [
    404,
    "RESERVATION_NOT_FOUND",
    "this visitor is not known any more",
  ] as const;
  return new Refused({ type: "", title: "", status, code, detail, retryable: false });
}

export async function askAsKeeper<T>(booking: string, to: string, wish: Ask = {}): Promise<T> {
  return keeping(booking, (token) => ask<T>(to, { ...wish, token }));
}

/** The same with patience: see `persist`. */
export async function persistAsKeeper<T>(booking: string, to: string, wish: Ask = {}): Promise<T> {
  return keeping(booking, (token) => persist<T>(to, { ...wish, token }));
}

/** The same for an answer that is not JSON. */
export async function sendAsKeeper(booking: string, to: string, wish: Ask = {}): Promise<Response> {
  return keeping(booking, (token) => send(to, { ...wish, token }));
}

/** How often a token and a list are asked for; patiently where it says nothing. */
interface Tries {
  token?: number;
  list?: number;
}

const ONCE_MORE: Tries = { token: TRIES_AT_FIRST, list: 1 };

/** The bookings that this browser gets at, each once, and why more may be there that it does not. */
export interface Listed {
  bookings: Booking[];
  missing: Error | undefined;
}

/**
 * All bookings that this browser can get at. Each token is asked for once at first; those that were not
 * to be had then are asked for once more, after a pause, when all else is listed, or with patience where
 * nothing is.
 */
export async function allBookings(): Promise<Listed> {
  const listed = new Map<string, Booking>();
  const others = earlier().filter(({ refused }) => !refused);
  const visitors: Way[] = [
    ...(isKnown() ? [{ is: "visitor" } as const] : []),
    ...others.map(({ user }) => ({ is: "earlier", user }) as const),
  ];
  const list = async (way: Way, tries: Tries) => {
    // Page by page, also where one is empty; oldest first, so that what begins meanwhile comes last.
    let after: string | undefined;
    do {
      const query = { after };
      const work = (token: string) => persist<Bookings>(path`/bookings`, { token, query }, tries.list);
      const page: Bookings = await by(way, work, tries.token);
      for (const booking of page.bookings) {
        // Its visitor can do more about it than a link.
        if (listed.has(booking.booking) && wayTo(booking.booking)?.is !== "link") continue;
        listed.set(booking.booking, booking);
        found.set(booking.booking, way);
      }
      after = page.next;
    } while (after !== undefined);
  };
  const untokened = new Map<Way, Error>();
  const listAll = async (ways: Way[], tries: Tries) => {
    for (const way of ways) {
      try {
        untokened.delete(way);
        await list(way, tries);
      } catch (error) {
        if (isWithoutToken(error)) untokened.set(way, error);
        else if (way.is !== "visitor" && isElsewhere(error)) continue;
        // What is listed is shown whatever becomes of the rest.
        else if (tries === ONCE_MORE && error instanceof Error) untokened.set(way, error);
        else throw error;
      }
    }
  };
  await listAll(visitors, { token: TRIES_AT_FIRST });
  for (const [booking, link] of Object.entries(links())) {
    if (listed.has(booking)) continue;
    const there = persist<Booking>(path`/bookings/${booking}`, { token: link });
    const seen = await there.catch((error: unknown) => {
      if (isWithdrawn(error)) forgetWithdrawn(booking, link);
      if (!isArchived(error)) return onlyElsewhere(error);
      // Nothing brings it back, so that nobody need ask for it again.
      forgetLink(booking);
      return undefined;
    });
    if (!seen) continue;
    listed.set(booking, seen);
    found.set(booking, { is: "link", link });
  }
  // Where there is nothing else to show, any wait is better than none.
  const hasSome = listed.size > 0;
  const again = [...untokened].filter(([, why]) => (hasSome ? mayComeSoon : mayComeLater)(why));
  if (hasSome && again.length > 0) {
    const pausesMs = again.map(([, why]) => Math.max(wantedPauseMs(why), SHORTEST_PAUSE_MS));
    await new Promise((resolve) => setTimeout(resolve, Math.max(...pausesMs)));
  }
  await listAll(
    again.map(([way]) => way),
    hasSome ? ONCE_MORE : {},
  );
  const whys = [...untokened.values()];
  const missing = whys.find(mayComeLater);
  const failure = missing ?? whys[0];
  if (listed.size === 0 && failure) throw failure;
  return { bookings: [...listed.values()], missing };
}

/** Whether the event is over for good, and nothing is known of its bookings any more. */
export function isArchived(error: unknown): boolean {
  return error instanceof Refused && error.code === "EVENT_ARCHIVED";
}

/** What cannot be got at is not listed; what may be there and is not heard of is a failure. */
function onlyElsewhere(error: unknown): undefined {
  if (!isElsewhere(error)) throw error;
}
