/**
 * Who this browser is to the server as an organiser: a session in a cookie that no script reads,
 * and a token against forged requests.
 */
import { ask, NoAnswer, path, persist, Refused, send, type Ask } from "./client";

/** For what may look at all bookings: the server gives that 40 seconds before it refuses. */
export const AT_LENGTH_MS = 45_000;

/** For a file: of what it has, the server reads one page after the other. */
const FILE_MS = 300_000;

export const SCOPES = ["read", "sell", "stock", "money", "door", "admin"] as const;

/** What a key gives the right to; `admin` is all of it. */
export type Scope = (typeof SCOPES)[number];

export interface Session {
  /** Whose key they signed in with. */
  name: string;
  scopes: Scope[];
  csrf: string;
  until: number;
}

/**
 * `ended` is a session that ran out while somebody worked: what they were about to do waits for
 * them to sign in again.
 */
export type SignedIn =
  { state: "unknown" } | { state: "out" } | { state: "in"; session: Session } | { state: "ended" };

let now: SignedIn = { state: "unknown" };
let listener: (now: SignedIn) => void = () => {};
/** Who was signed in last. */
let last: Session | undefined;
let waiting: (() => void)[] = [];

function become(next: SignedIn): void {
  now = next;
  if (next.state === "in") last = next.session;
  listener(next);
  if (next.state !== "in") return;
  const goOn = waiting;
  waiting = [];
  for (const resolve of goOn) resolve();
}

/** Tells of each change of the session. One listens: the frame of the pages. */
export function onSession(listen: (now: SignedIn) => void): void {
  listener = listen;
}

export function allows(scopes: Scope[], scope: Scope): boolean {
  return scopes.includes(scope) || scopes.includes("admin");
}

/** Whether who is signed in may do this; a session that ran out is theirs still. */
export function isAllowed(scope: Scope): boolean {
  return last !== undefined && allows(last.scopes, scope);
}

/** Whether who is signed in is told who buys; `crates/api/src/http/scopes.rs` says the same. */
export function isToldBuyers(): boolean {
  return isAllowed("sell") || isAllowed("money");
}

/** Takes up the session that the cookie stands for. */
export async function resume(): Promise<void> {
  try {
    become({ state: "in", session: await persist<Session>(path`/session`) });
  } catch (error) {
    if (!isNobody(error)) throw error;
    become({ state: now.state === "in" || now.state === "ended" ? "ended" : "out" });
  }
}

export async function signIn(key: string): Promise<void> {
  const wish = { method: "POST", effect: "once", body: { key } } as const;
  become({ state: "in", session: await ask<Session>(path`/session`, wish) });
}

/** The provider that people may sign in with instead of a key, if there is one. */
export async function provider(): Promise<{ name: string } | undefined> {
  return (await ask<{ oidc?: { name: string } }>(path`/session/ways`)).oidc;
}

/** Where the browser goes to sign in with the provider, and comes back from to this page. */
export function providerLink(page: string): string {
  return `/api/v1/session/oidc?to=${encodeURIComponent(page)}`;
}

/** Signs out here; who came by the provider goes on to sign out there, and is sent back. */
export async function signOut(): Promise<void> {
  const wish = { method: "DELETE", effect: "once" } as const;
  const { logout_url } = await askAsOrganiser<{ logout_url?: string }>(path`/session`, wish);
  become({ state: "out" });
  if (logout_url !== undefined) location.assign(logout_url);
}

function isNobody(error: unknown): boolean {
  return error instanceof Refused && error.status === 401;
}

/**
 * Asks with the session. Where it is over, the frame asks to sign in again, and then this goes on:
 * nothing typed is lost. Nobody does what somebody else was about to do. @throws as `ask` does, but
 * for a missing session only if another person signs in.
 */
export function askAsOrganiser<T>(to: string, wish: Ask = {}): Promise<T> {
  return asOrganiser((signed) => ask<T>(to, signed), wish);
}

/** The same for a file that no link leads to: what it is asked for with has a body. */
export function fileAsOrganiser(to: string, wish: Ask): Promise<Blob> {
  const work = async (signed: Ask) => {
    const answer = await send(to, signed);
    return answer.blob().catch((error: unknown) => {
      throw new NoAnswer("the file broke off", { cause: error });
    });
  };
  return asOrganiser(work, { patienceMs: FILE_MS, ...wish });
}

async function asOrganiser<T>(work: (signed: Ask) => Promise<T>, wish: Ask): Promise<T> {
  const asker = last?.name;
  for (let isRenewed = false; ;) {
    try {
      return await work(withToken(wish));
    } catch (error) {
      if (isNobody(error)) {
        become({ state: "ended" });
        await new Promise<void>((resolve) => waiting.push(resolve));
      } else if (error instanceof Refused && error.code === "CSRF_REFUSED" && !isRenewed) {
        // Another tab signed in anew: the cookie is its, and so is the token that goes with it.
        isRenewed = true;
        await resume();
      } else {
        throw error;
      }
      if (asker !== undefined && last?.name !== asker) throw error;
    }
  }
}

function withToken(wish: Ask): Ask {
  const isReading = (wish.method ?? "GET") === "GET";
  if (isReading || now.state !== "in") return wish;
  return { ...wish, headers: { ...wish.headers, "x-csrf-token": now.session.csrf } };
}
