/** Who this browser is to the server: a guest's token, the same in all tabs, so that a reload or second tab keeps the place. */
import { clock } from "../lib/clock";
import { ask, path, persist, Refused, send, type Ask } from "./client";
import type { Guest } from "./schema";

const STORED = "onrush.visitor";

function stored(): Guest | undefined {
  try {
    return JSON.parse(localStorage.getItem(STORED) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

/** This browser's token; the first call asks for one. */
export async function token(): Promise<string> {
  const known = stored();
  if (known && known.expires_at > clock.now()) return known.token;
  // Two tabs that open at once must not become two people.
  return locked(async () => {
    const meanwhile = stored();
    if (meanwhile && meanwhile.expires_at > clock.now()) return meanwhile.token;
    const fresh = await persist<Guest>(path`/visitors`, { method: "POST" });
    localStorage.setItem(STORED, JSON.stringify(fresh));
    return fresh.token;
  });
}

function locked<T>(work: () => Promise<T>): Promise<T> {
  // Locks are there on https and localhost only.
  return navigator.locks ? navigator.locks.request(STORED, work) : work();
}

/** Whether this browser has been somebody before. */
export function isKnown(): boolean {
  return stored() !== undefined;
}

/** Asks as this visitor, and once more as a new one if the token is not taken any more. */
export async function askAsVisitor<T>(to: string, wish: Ask = {}): Promise<T> {
  return renewed(async () => ask<T>(to, { ...wish, token: await token() }));
}

/** The same with patience: see `persist`. */
export async function persistAsVisitor<T>(to: string, wish: Ask = {}): Promise<T> {
  return renewed(async () => persist<T>(to, { ...wish, token: await token() }));
}

/** The same for an answer that is not JSON. */
export async function sendAsVisitor(to: string, wish: Ask = {}): Promise<Response> {
  return renewed(async () => send(to, { ...wish, token: await token() }));
}

async function renewed<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refused) || !["TOKEN_EXPIRED", "TOKEN_INVALID"].includes(error.code)) throw error;
    localStorage.removeItem(STORED);
    return await work();
  }
}
