/**
 * Who this browser is to the server: a guest's token, the same in all tabs, so that a reload or
 * second tab keeps the place.
 *
 * A token is renewed while it is used, and after its end while its visitor owns something. What the
 * server will not renew is put aside and never thrown away; so is who this browser was before it
 * took over another device's visitor.
 */
import { clock } from "../lib/clock";
import { store } from "../lib/store";
import { ask, path, persist, Refused, send, type Ask } from "./client";
import type { Guest } from "./schema";

/** A visitor that this browser is, or was. */
export interface Identity extends Omit<Guest, "renew_at"> {
  renew_at?: number;
  /** Why the server knows this one no more: `TOKEN_EXPIRED` (nothing lives on) or `TOKEN_INVALID`. */
  refused?: string;
}

const STORED = "onrush.visitor";
/** Those that this browser was before, the latest first. */
const ASIDE = "onrush.visitors";
/** Earlier ones that are kept. Those that own nothing any more go first. */
const KEPT = 20;
/** Tokens of before did not say when to renew them. */
const RENEW_BEFORE_MS = 12 * 3_600_000;

function stored(): Identity | undefined {
  return store.read<Identity>(STORED);
}

function keep(identity: Identity): void {
  store.write(STORED, identity);
}

/** Everybody that this browser was before, the latest first. */
export function earlier(): Identity[] {
  return store.read<Identity[]>(ASIDE) ?? [];
}

function putAside(identity: Identity): void {
  const others = earlier().filter((other) => other.user !== identity.user);
  const all = [identity, ...others];
  while (all.length > KEPT) {
    const over = all.findLastIndex((one) => one.refused === "TOKEN_EXPIRED");
    all.splice(over < 0 ? all.length - 1 : over, 1);
  }
  store.write(ASIDE, all);
}

/** Forgets those that the server does not know at all. */
export function forgetRefused(): void {
  store.write(
    ASIDE,
    earlier().filter((one) => one.refused !== "TOKEN_INVALID"),
  );
}

function isGood(identity: Identity): boolean {
  return identity.expires_at > clock.now();
}

function isFresh(identity: Identity): boolean {
  return isGood(identity) && (identity.renew_at ?? identity.expires_at - RENEW_BEFORE_MS) > clock.now();
}

/** Why tokens could not be had, as opposed to what was said to those who had one. */
const untokened = new WeakSet<Error>();

/** Whether this came of asking for a token: what was to be done with it was not even tried. */
export function isWithoutToken(error: unknown): error is Error {
  return error instanceof Error && untokened.has(error);
}

/** Asks for a token, patiently unless only so many `tries` are worth it. */
async function issued(to: string, wish: Ask, tries?: number): Promise<Guest> {
  try {
    return await persist<Guest>(to, wish, tries);
  } catch (error) {
    if (error instanceof Error) untokened.add(error);
    throw error;
  }
}

/** The same visitor with a later end, or with the reason why there is none. */
async function renewed(identity: Identity, tries?: number): Promise<Identity> {
  const wish = { method: "POST", effect: "look", token: identity.token } as const;
  if (isGood(identity)) {
    return ask<Guest>(path`/visitors/renew`, wish).catch((error) => {
      // Nobody who owns nothing is renewed where guests are switched off: not asked again until its end.
      if (error instanceof Refused && error.code === "GUESTS_DISABLED") {
        return { ...identity, renew_at: identity.expires_at };
      }
      // It is still good: whatever else is wrong, the next call tries again.
      return identity;
    });
  }
  try {
    return await issued(path`/visitors/renew`, wish, tries);
  } catch (error) {
    if (isOfToken(error)) return { ...identity, refused: error.code };
    throw error;
  }
}

function isOfToken(error: unknown): error is Refused {
  return error instanceof Refused && ["TOKEN_EXPIRED", "TOKEN_INVALID"].includes(error.code);
}

/** This browser's token; the first call asks for one. */
export async function token(tries?: number): Promise<string> {
  const known = stored();
  if (known && isFresh(known)) return known.token;
  // Two tabs that open at once must not become two people.
  return locked(async () => {
    const before = stored();
    if (before && isFresh(before)) return before.token;
    if (before) {
      const after = await renewed(before, tries);
      if (!after.refused) {
        keep(after);
        return after.token;
      }
      putAside(after);
    }
    // A guest of whom nobody heard is nobody.
    const fresh = await issued(path`/visitors`, { method: "POST", effect: "look" }, tries);
    keep(fresh);
    return fresh.token;
  });
}

/** The token of somebody that this browser was before; `undefined` if the server knows them no more. */
export async function tokenOf(user: string, tries?: number): Promise<string | undefined> {
  const find = () => earlier().find((identity) => identity.user === user);
  const known = find();
  if (!known || known.refused) return undefined;
  if (isFresh(known)) return known.token;
  return locked(async () => {
    const before = find();
    if (!before || before.refused) return undefined;
    if (isFresh(before)) return before.token;
    const after = await renewed(before, tries);
    replaceEarlier(after);
    return after.refused ? undefined : after.token;
  });
}

function replaceEarlier(identity: Identity): void {
  const all = earlier().map((other) => (other.user === identity.user ? identity : other));
  store.write(ASIDE, all);
}

/** Notes that the server would not have this token of an earlier visitor. */
export function refuseEarlier(user: string, code: string): void {
  const known = earlier().find((identity) => identity.user === user);
  if (known) replaceEarlier({ ...known, refused: code });
}

/** Becomes the visitor of another device; who this browser was is put aside, with all that is theirs. */
export async function become(guest: Identity): Promise<void> {
  await locked(() => {
    const before = stored();
    if (before && before.user !== guest.user) putAside(before);
    const others = earlier().filter((identity) => identity.user !== guest.user);
    store.write(ASIDE, others);
    keep(guest);
  });
}

/** Becomes somebody again that this browser was before; who it is now is put aside instead. */
export async function becomeAgain(user: string): Promise<void> {
  const identity = earlier().find((one) => one.user === user);
  if (identity) await become(identity);
}

async function locked<T>(work: () => T | Promise<T>): Promise<T> {
  // Locks are there on https and localhost only.
  if (!navigator.locks) return await work();
  let isBegun = false;
  try {
    return await navigator.locks.request(STORED, () => {
      isBegun = true;
      return work();
    });
  } catch (error) {
    if (isBegun) throw error;
    // Browsers that keep nothing give no locks; nor is there anything that tabs share.
    return await work();
  }
}

/** Who this browser is by now; `undefined` until it is somebody. */
export function userNow(): string | undefined {
  return stored()?.user;
}

/** Whether this browser has been somebody before. */
export function isKnown(): boolean {
  return stored() !== undefined;
}

/** Whether the next page of this browser knows as well who it is, and was. */
export function isKept(): boolean {
  return store.keeps(STORED) && store.keeps(ASIDE);
}

/**
 * Asks as this visitor; if the token is not taken any more, once more with a renewed one, or as a
 * new visitor.
 */
export async function askAsVisitor<T>(to: string, wish: Ask = {}): Promise<T> {
  return asVisitor((token) => ask<T>(to, { ...wish, token }));
}

/** The same with patience: see `persist`. */
export async function persistAsVisitor<T>(to: string, wish: Ask = {}): Promise<T> {
  return asVisitor((token) => persist<T>(to, { ...wish, token }));
}

/** The same for anything that needs the visitor's token, which is asked for so many times at most. */
export async function asVisitor<T>(work: (token: string) => Promise<T>, tries?: number): Promise<T> {
  const used = await token(tries);
  try {
    return await work(used);
  } catch (error) {
    if (!isOfToken(error)) throw error;
    await replace(used, error.code, tries);
    return await work(await token(tries));
  }
}

/** Does what the server's refusal of a token asks for, unless another tab has done it already. */
async function replace(used: string, code: string, tries?: number): Promise<void> {
  await locked(async () => {
    const known = stored();
    if (known?.token !== used) return;
    // This browser's clock may be wrong about the end of a token. What is not known at all has none.
    const ended = { ...known, expires_at: 0 };
    const after = code === "TOKEN_EXPIRED" ? await renewed(ended, tries) : { ...known, refused: code };
    if (!after.refused) {
      keep(after);
      return;
    }
    putAside({ ...after, expires_at: known.expires_at });
    store.remove(STORED);
  });
}

/** Sends as this visitor, for an answer that is not JSON. */
export async function sendAsVisitor(to: string, wish: Ask = {}): Promise<Response> {
  return asVisitor((token) => send(to, { ...wish, token }));
}
