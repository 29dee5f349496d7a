/** When a token that is still good is renewed, by stubs of all that a browser has. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Identity } from "../../src/api/visitor";

const DAY_MS = 86_400_000;

/** What the browser keeps, what the server says to a renewal, and how often it was asked for one. */
let kept: Map<string, string>;
let answer: () => Response;
let renewals: number;

beforeEach(() => {
  vi.useFakeTimers();
  renewals = 0;
  kept = new Map();
  vi.stubGlobal("localStorage", {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, text: string) => kept.set(name, text),
    removeItem: (name: string) => kept.delete(name),
  });
  vi.stubGlobal("navigator", {});
  vi.stubGlobal("fetch", (to: string) => {
    if (!to.endsWith("/visitors/renew")) return Promise.reject(new Error(to));
    renewals += 1;
    return Promise.resolve(answer());
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.resetModules();
});

function refusal(status: number, code: string): Response {
  return Response.json({ status, code, detail: code, retryable: false }, { status });
}

/** Somebody whose token is past the time to renew it, and good for half a day more. */
function due(user: string): Identity {
  const now = Date.now();
  return { user, token: `of ${user}`, renew_at: now - 1, expires_at: now + DAY_MS / 2 };
}

const keep = (name: string, value: unknown) => kept.set(name, JSON.stringify(value));

test("token that is not renewed as guests are off is used to its end without asking again", async () => {
  answer = () => refusal(403, "GUESTS_DISABLED");
  keep("onrush.visitor", due("ann"));
  keep("onrush.visitors", [due("bob")]);
  const { token, tokenOf } = await import("../../src/api/visitor");
  for (let call = 0; call < 3; call += 1) {
    expect(await token()).toBe("of ann");
    expect(await tokenOf("bob")).toBe("of bob");
  }
  expect(renewals).toBe(2);
  // At its end it is asked once more whether anything of theirs is left.
  vi.setSystemTime(Date.now() + DAY_MS);
  answer = () => refusal(401, "TOKEN_EXPIRED");
  expect(await tokenOf("bob")).toBe(undefined);
  expect(renewals).toBe(3);
});

test("token that is not renewed for another reason is tried again at the next call", async () => {
  answer = () => refusal(500, "INTERNAL");
  keep("onrush.visitor", due("ann"));
  const { token } = await import("../../src/api/visitor");
  expect(await token()).toBe("of ann");
  const guest = { ...due("ann"), token: "renewed", renew_at: Date.now() + DAY_MS / 2 };
  answer = () => Response.json(guest, { status: 200 });
  expect(await token()).toBe("renewed");
  expect(await token()).toBe("renewed");
  expect(renewals).toBe(2);
});
