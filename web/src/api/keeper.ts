/**
 * How this browser gets at a booking: as its visitor, as a visitor that it was before, or by the
 * booking's link, which needs neither.
 */
import { store } from "../lib/store";
import { ask, path, persist, Refused, send, type Ask } from "./client";
import type { Booking, Bookings } from "./schema";
import { asVisitor, earlier, isKnown, refuseEarlier, tokenOf } from "./visitor";

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

/** Does something about a booking, by whatever way leads to it. */
async function keeping<T>(booking: string, work: (token: string) => Promise<T>): Promise<T> {
  let refusal: Refused | undefined;
  for (const way of waysTo(booking)) {
    try {
      const done = await by(way, work);
      found.set(booking, way);
      if (way.is === "link") keepLink(booking, way.link);
      return done;
    } catch (error) {
      if (way.is === "link" && isWithdrawn(error)) forgetWithdrawn(booking, way.link);
      if (!(error instanceof Refused) || !ELSEWHERE.includes(error.code)) throw error;
      // That a link was withdrawn says more than that others know nothing.
      if (!refusal || error.code === "LINK_WITHDRAWN") refusal = error;
    }
  }
  found.delete(booking);
  throw refusal ?? new Error("there is always a way to try");
}

function isWithdrawn(error: unknown): boolean {
  return error instanceof Refused && error.code === "LINK_WITHDRAWN";
}

async function by<T>(way: Way, work: (token: string) => Promise<T>): Promise<T> {
  if (way.is === "visitor") return asVisitor(work);
  if (way.is === "link") return work(way.link);
  const token = await tokenOf(way.user);
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

/** All bookings that this browser can get at, each once. */
export async function allBookings(): Promise<Booking[]> {
  const listed = new Map<string, Booking>();
  const list = async (way: Way) => {
    // Page by page, also where one is empty; oldest first, so that what begins meanwhile comes last.
    let after: string | undefined;
    do {
      const query = { after };
      const page: Bookings = await by(way, (token) => persist<Bookings>(path`/bookings`, { token, query }));
      for (const booking of page.bookings) {
        if (listed.has(booking.booking)) continue;
        listed.set(booking.booking, booking);
        found.set(booking.booking, way);
      }
      after = page.next;
    } while (after !== undefined);
  };
  if (isKnown()) await list({ is: "visitor" });
  for (const { user, refused } of earlier()) {
    if (!refused) await list({ is: "earlier", user }).catch(onlyElsewhere);
  }
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
  return [...listed.values()];
}

/** Whether the event is over for good, and nothing is known of its bookings any more. */
export function isArchived(error: unknown): boolean {
  return error instanceof Refused && error.code === "EVENT_ARCHIVED";
}

/** What cannot be got at is not listed; what may be there and is not heard of is a failure. */
function onlyElsewhere(error: unknown): undefined {
  if (!(error instanceof Refused) || !ELSEWHERE.includes(error.code)) throw error;
}
