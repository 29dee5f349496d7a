/** Ways to a booking where this browser's own token is over and no other is to be had, by stubs. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Identity } from "../../src/api/visitor";

const DAY_MS = 86_400_000;
const LINK = "b1.b-1.0.0.mac";
const LATER = { status: 429, code: "RATE_LIMITED", retryable: true };
const BUSY = { status: 503, code: "BUSY", retryable: true };
const NEVER = { status: 403, code: "GUESTS_DISABLED", retryable: false };
const UNKNOWN = { status: 404, code: "RESERVATION_NOT_FOUND", retryable: false };
const WITHDRAWN = { status: 401, code: "LINK_WITHDRAWN", retryable: false };

interface Problem {
  status: number;
  code: string;
  retryable: boolean;
}

/** Why there is no token (without a reason, nobody answers), and what becomes of the link. */
let noToken: Problem | undefined;
let noLink: Problem | undefined;
/** Why there is no list of bookings, if there is none. */
let noList: Problem | undefined;
/** How often a token was asked for, how often there is none, and how long the server asks to wait then. */
let asked: number;
let refusals: number;
let waitS: number;
/** What the browser keeps. */
let stored: Map<string, string>;

beforeEach(() => {
  noLink = undefined;
  noList = undefined;
  asked = 0;
  refusals = Infinity;
  // Long enough that nobody waits for it in a test.
  waitS = 600;
  const over: Identity = { user: "bo", token: "of bo", expires_at: Date.now() - 1 };
  stored = new Map([["onrush.visitor", JSON.stringify(over)]]);
  vi.stubGlobal("localStorage", {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, text: string) => stored.set(name, text),
    removeItem: (name: string) => stored.delete(name),
  });
  vi.stubGlobal("navigator", {});
  vi.stubGlobal("fetch", (to: string, { headers }: { headers: Record<string, string> }) => {
    if (to.startsWith("/api/v1/visitors")) {
      asked += 1;
      if (asked > refusals) return Promise.resolve(Response.json(goodFor("bo")));
      return noToken ? Promise.resolve(refusal(noToken)) : Promise.reject(new TypeError("failed to fetch"));
    }
    if (headers.authorization === "Bearer of ann") return Promise.resolve(refusal(UNKNOWN));
    if (headers.authorization === "Bearer of bo") {
      if (to === "/api/v1/bookings" && noList) return Promise.resolve(refusal(noList));
      const bookings = [{ booking: "b-2" }, { booking: "b-1" }];
      return Promise.resolve(Response.json(to === "/api/v1/bookings" ? { bookings } : bookings[1]));
    }
    expect([to, headers.authorization]).toEqual(["/api/v1/bookings/b-1", `Bearer ${LINK}`]);
    return Promise.resolve(noLink ? refusal(noLink) : Response.json({ booking: "b-1" }));
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** Somebody whose token is good for two days more. */
function goodFor(user: string): Identity {
  const now = Date.now();
  return { user, token: `of ${user}`, renew_at: now + DAY_MS, expires_at: now + 2 * DAY_MS };
}

/** From here on pauses are over at once; tells how long they would have been. */
function withoutPauses(): number[] {
  const pausesMs: number[] = [];
  vi.stubGlobal("setTimeout", (work: () => void, ms: number) => {
    pausesMs.push(ms);
    queueMicrotask(work);
  });
  return pausesMs;
}

function refusal(problem: Problem): Response {
  const headers = { "retry-after": String(waitS) };
  return Response.json({ ...problem, detail: problem.code }, { status: problem.status, headers });
}

async function keeper() {
  const keeper = await import("../../src/api/keeper");
  return { ...keeper, look: () => keeper.askAsKeeper("b-1", "/api/v1/bookings/b-1") };
}

test.each([LATER, NEVER])("link is tried after $code was said once", async (problem) => {
  noToken = problem;
  const { keepLink, look, wayTo } = await keeper();
  keepLink("b-1", LINK);
  expect(await look()).toEqual({ booking: "b-1" });
  expect(wayTo("b-1")).toEqual({ is: "link", link: LINK });
  expect(asked).toBe(1);
});

test.each([
  { problem: LATER, told: "RATE_LIMITED" },
  // Nothing can be had with a token that there never is.
  { problem: NEVER, told: "LINK_WITHDRAWN" },
])("$told is told where the link is withdrawn and a token is $problem.code", async ({ problem, told }) => {
  noToken = problem;
  noLink = WITHDRAWN;
  const { keepLink, look } = await keeper();
  keepLink("b-1", LINK);
  await expect(look()).rejects.toMatchObject({ code: told });
});

test("why there is no token is told where there is no other way", async () => {
  noToken = NEVER;
  const { allBookings, look } = await keeper();
  await expect(look()).rejects.toMatchObject({ code: "GUESTS_DISABLED" });
  await expect(allBookings()).rejects.toMatchObject({ code: "GUESTS_DISABLED" });
});

test.each([
  { problem: LATER, missing: { code: "RATE_LIMITED" } },
  { problem: NEVER, missing: undefined },
])("what a link opens is listed where a token is $problem.code", async ({ problem, missing }) => {
  noToken = problem;
  const { allBookings, keepLink } = await keeper();
  keepLink("b-1", LINK);
  const listed = await allBookings();
  expect(listed.bookings).toEqual([{ booking: "b-1" }]);
  if (missing) expect(listed.missing).toMatchObject(missing);
  else expect(listed.missing).toBe(undefined);
});

test.each([
  { what: "a limit of a second", problem: LATER },
  { what: "a lost packet", problem: undefined },
])("after $what a token is asked for once more when all else is listed", async ({ problem }) => {
  noToken = problem;
  refusals = 1;
  waitS = 1;
  const { allBookings, keepLink, wayTo } = await keeper();
  keepLink("b-1", LINK);
  const pausesMs = withoutPauses();
  const bookings = [{ booking: "b-1" }, { booking: "b-2" }];
  expect(await allBookings(), "what the link opens is first").toEqual({ bookings, missing: undefined });
  expect(asked).toBe(2);
  expect(pausesMs).toHaveLength(1);
  expect(wayTo("b-1"), "can do more than the link").toEqual({ is: "visitor" });
});

test("what a link opens is listed where the list of whoever got a token late does not come", async () => {
  noToken = LATER;
  noList = BUSY;
  refusals = 1;
  waitS = 1;
  const { allBookings, keepLink } = await keeper();
  keepLink("b-1", LINK);
  const pausesMs = withoutPauses();
  const listed = await allBookings();
  expect(listed.bookings).toEqual([{ booking: "b-1" }]);
  expect(listed.missing).toMatchObject({ code: "BUSY" });
  expect(pausesMs, "nobody waits for long who has something to look at").toHaveLength(1);
});

test("whoever this browser was before is tried before a token is waited for", async () => {
  noToken = LATER;
  stored.set("onrush.visitor", JSON.stringify({ user: "ann", token: "of ann", expires_at: Date.now() - 1 }));
  stored.set("onrush.visitors", JSON.stringify([goodFor("bo")]));
  const { look, wayTo } = await keeper();
  expect(await look()).toEqual({ booking: "b-1" });
  expect(wayTo("b-1")).toEqual({ is: "earlier", user: "bo" });
  expect(asked).toBe(1);
});

test("token is asked for with patience where nobody else leads to the booking", async () => {
  noToken = LATER;
  refusals = 3;
  waitS = 1;
  stored.set("onrush.visitors", JSON.stringify([goodFor("ann")]));
  const { look, wayTo } = await keeper();
  const pausesMs = withoutPauses();
  expect(await look()).toEqual({ booking: "b-1" });
  expect(wayTo("b-1")).toEqual({ is: "visitor" });
  expect(asked).toBe(4);
  expect(pausesMs, "nobody waited for the first refusal").toHaveLength(2);
});
