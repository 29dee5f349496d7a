/** What waits for an organiser to sign in again, and answers that are not the server's. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";

let signedIn: string | undefined;
let asked: string[];

beforeEach(() => {
  signedIn = undefined;
  asked = [];
  vi.stubGlobal("fetch", (to: string, wish: RequestInit) => {
    const method = wish.method ?? "GET";
    if (to === "/api/v1/session" && method === "POST") {
      signedIn = (JSON.parse(wish.body as string) as { key: string }).key;
      const session = { name: signedIn, scopes: ["admin"], csrf: `token of ${signedIn}`, until: 0 };
      return Promise.resolve(Response.json(session));
    }
    if (signedIn === undefined) {
      const facts = { status: 401, code: "UNAUTHORIZED", detail: "sign in", retryable: false };
      return Promise.resolve(Response.json(facts, { status: 401 }));
    }
    asked.push(`${method} ${to} by ${signedIn}`);
    return Promise.resolve(Response.json({}));
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** What Ann was about to do when her session ended, once the page asks to sign in. */
async function waiting() {
  const organiser = await import("../../src/api/organiser");
  await organiser.signIn("ann");
  signedIn = undefined;
  const ended = new Promise<void>((resolve) => {
    organiser.onSession(({ state }) => state === "ended" && resolve());
  });
  const closing = organiser.askAsOrganiser("/api/v1/admin/events/e/close", { method: "POST" });
  closing.catch(() => {});
  await ended;
  return { organiser, closing };
}

test("whoever signs in again goes on with what they were about to do", async () => {
  const { organiser, closing } = await waiting();
  await organiser.signIn("ann");
  await closing;
  expect(asked).toEqual(["POST /api/v1/admin/events/e/close by ann"]);
});

test("nobody does what somebody else was about to do", async () => {
  const { organiser, closing } = await waiting();
  await organiser.signIn("bob");
  await expect(closing).rejects.toMatchObject({ status: 401 });
  expect(asked).toEqual([]);
});

test.each([
  ["a page instead of JSON", new Response("<html>", { status: 200 })],
  ["a proxy's own JSON", Response.json({ message: "Service Unavailable" }, { status: 503 })],
  ["a proxy's page", new Response("<html>", { status: 502 })],
])("%s is no answer", async (_, response) => {
  const { ask, NoAnswer } = await import("../../src/api/client");
  vi.stubGlobal("fetch", () => Promise.resolve(response));
  await expect(ask("/api/v1/events")).rejects.toBeInstanceOf(NoAnswer);
});
