/** Which way messages come where the server refuses for now, by stubs of all that a browser has. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Connection } from "../../src/lib/live";

type Answer = () => Response;

/** What the server says by the last part of a path, and the paths that were asked for. */
let answers: Record<string, Answer>;
let asked: string[];
/** The kinds of streams that were tried, and whether they open. */
let tried: string[];
let isStreaming: boolean;

const RETRY_AFTER_S = 5;
const busy: Answer = () => refusal(503, "BUSY", true);
const POSITION = { place: "0".repeat(32), number: 1, position: 7, total: 9 };

function refusal(status: number, code: string, retryable: boolean, afterS = RETRY_AFTER_S): Response {
  const headers = retryable ? { "retry-after": String(afterS) } : undefined;
  return Response.json({ status, code, detail: code, retryable }, { status, headers });
}

const limited = (afterS: number) => refusal(429, "RATE_LIMITED", true, afterS);

/** A stream of either kind: it tells one message, or ends as one does whose handshake was refused. */
class StubStream extends EventTarget {
  onmessage: (message: { data: string }) => void = () => {};
  onclose = () => {};
  onerror = () => {};

  constructor(kind: string) {
    super();
    tried.push(kind);
    const data = JSON.stringify({ type: "position", ...POSITION });
    queueMicrotask(() => {
      if (!isStreaming) {
        this.onclose();
        this.onerror();
      } else if (kind === "websocket") this.onmessage({ data });
      else this.dispatchEvent(new MessageEvent("position", { data }));
    });
  }

  close(): void {}
}

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  tried = [];
  isStreaming = true;
  answers = {
    "stream-tickets": () => Response.json({ ticket: "t" }, { status: 201 }),
    queue: () => Response.json({ status: "queued", ...POSITION }),
    show: () => Response.json({ event: "show", at: Date.now(), phase: "open", room: {} }),
  };
  const visitor = { user: "ann", token: "t", expires_at: Date.now() + 86_400_000 };
  vi.stubGlobal("localStorage", { getItem: () => JSON.stringify(visitor), setItem: () => {} });
  vi.stubGlobal("navigator", {});
  vi.stubGlobal("location", { href: "http://localhost/" });
  vi.stubGlobal("document", Object.assign(new EventTarget(), { visibilityState: "visible" }));
  vi.stubGlobal("PageTransitionEvent", class extends Event {});
  const pages = new EventTarget();
  vi.stubGlobal("addEventListener", pages.addEventListener.bind(pages));
  vi.stubGlobal("removeEventListener", pages.removeEventListener.bind(pages));
  vi.stubGlobal("fetch", (to: string) => {
    const last = new URL(to, "http://localhost").pathname.split("/").at(-1)!;
    asked.push(last);
    return Promise.resolve(answers[last]!());
  });
  for (const [name, kind] of [
    ["WebSocket", "websocket"],
    ["EventSource", "sse"],
  ] as const) {
    vi.stubGlobal(
      name,
      class extends StubStream {
        constructor() {
          super(kind);
        }
      },
    );
  }
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** Follows an event: the ways that were told, one after the other. */
async function following() {
  const { follow } = await import("../../src/lib/live");
  const ways: Connection[] = [];
  const stop = follow(
    "show",
    () => {},
    (way) => ways.push(way),
    { isPlaceOnly: true },
  );
  await pass(0);
  return { ways, stop };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** No stream opens, and looks are answered: a page that asks, and tries streams later. */
async function polling() {
  isStreaming = false;
  const visitor = await following();
  expect(visitor.ways).toEqual(["connecting", "polling"]);
  isStreaming = true;
  return visitor;
}

for (const [code, status] of [
  ["BUSY", 503],
  ["CONNECTIONS_FULL", 503],
  ["TOO_MANY_CONNECTIONS", 429],
] as const) {
  test(`who is refused a ticket with ${code} waits as long as the server wants`, async () => {
    const ticket = answers["stream-tickets"]!;
    answers["stream-tickets"] = () => refusal(status, code, true);
    const { ways, stop } = await following();
    await pass(RETRY_AFTER_S * 1_000 - 1);
    expect(asked).toEqual(["stream-tickets"]);
    expect(ways).toEqual(["connecting"]);
    answers["stream-tickets"] = ticket;
    await pass(RETRY_AFTER_S * 1_000 + 1);
    // No kind of stream was held against it: the best is tried first.
    expect(tried).toEqual(["websocket"]);
    expect(ways).toEqual(["connecting", "websocket"]);
    expect(asked).not.toContain("queue");
    stop();
  });
}

test("who is refused again and again comes more and more seldom", async () => {
  answers["stream-tickets"] = busy;
  const { ways, stop } = await following();
  await pass(120_000);
  const before = asked.length;
  await pass(300_000);
  expect(asked.length - before).toBeLessThanOrEqual(20);
  expect(asked.length - before).toBeGreaterThanOrEqual(3);
  expect(asked).not.toContain("queue");
  expect(ways).toEqual(["connecting"]);
  stop();
});

test("page that is looked at again does not come before the server wants it to", async () => {
  answers["stream-tickets"] = busy;
  const { stop } = await following();
  await pass(RETRY_AFTER_S * 1_000 - 500);
  document.dispatchEvent(new Event("visibilitychange"));
  await pass(0);
  expect(asked).toEqual(["stream-tickets"]);
  stop();
});

test("streams that do not open while looks are refused for now are tried again, not given up", async () => {
  const look = answers["queue"]!;
  answers["queue"] = busy;
  isStreaming = false;
  const { ways, stop } = await following();
  expect(tried).toEqual(["websocket", "sse"]);
  await pass(RETRY_AFTER_S * 1_000 - 1);
  expect(asked.filter((last) => last === "queue")).toHaveLength(1);
  expect(ways).toEqual(["connecting"]);
  answers["queue"] = look;
  isStreaming = true;
  await pass(RETRY_AFTER_S * 1_000 + 1);
  expect(tried).toEqual(["websocket", "sse", "websocket"]);
  expect(ways).toEqual(["connecting", "websocket"]);
  stop();
});

test("who was asking goes on at their pace when a ticket is refused for now, and tries later", async () => {
  const { ways, stop } = await polling();
  const ticket = answers["stream-tickets"]!;
  const tickets = () => asked.filter((last) => last === "stream-tickets").length;
  const before = tickets();
  answers["stream-tickets"] = busy;
  for (let seconds = 0; seconds < 200 && tickets() === before; seconds += 1) await pass(1_000);
  expect(tickets()).toBe(before + 1);
  const looks = asked.length;
  await pass(15_000);
  expect(asked.length - looks).toBeGreaterThanOrEqual(4);
  expect(tickets()).toBe(before + 1);
  expect(ways).toEqual(["connecting", "polling"]);
  answers["stream-tickets"] = ticket;
  await pass(40_000);
  expect(ways).toEqual(["connecting", "polling", "websocket"]);
  stop();
});

test("who was asking goes on when a look is refused for now", async () => {
  const { ways, stop } = await polling();
  answers["queue"] = busy;
  const before = asked.length;
  await pass(20_000);
  expect(asked.length - before).toBeGreaterThanOrEqual(3);
  expect(ways).toEqual(["connecting", "polling"]);
  stop();
});

test("ticket that is refused for good is no reason to wait: the page asks", async () => {
  answers["stream-tickets"] = () => refusal(403, "GUESTS_DISABLED", false);
  const { ways, stop } = await following();
  expect(asked).toContain("queue");
  expect(ways).toEqual(["connecting", "polling"]);
  stop();
});

test("who has used up the limit on tickets asks, and tries streams when the server wants", async () => {
  const wantedMs = 120_000;
  // Nobody waits longer than that here.
  vi.spyOn(Math, "random").mockReturnValue(0);
  const ticket = answers["stream-tickets"]!;
  answers["stream-tickets"] = () => limited(wantedMs / 1_000);
  const { ways, stop } = await following();
  expect(asked).toEqual(["stream-tickets", "queue", "show"]);
  expect(ways).toEqual(["connecting", "polling"]);
  await pass(wantedMs - 1);
  // Looks go on at their pace, and nobody who looks at the page has another ticket asked for.
  expect(asked.filter((last) => last === "queue").length).toBeGreaterThanOrEqual(wantedMs / 6_000);
  document.dispatchEvent(new Event("visibilitychange"));
  await pass(0);
  expect(asked.filter((last) => last === "stream-tickets")).toHaveLength(1);
  answers["stream-tickets"] = ticket;
  await pass(2);
  expect(tried).toEqual(["websocket"]);
  expect(ways).toEqual(["connecting", "polling", "websocket"]);
  stop();
});

test("limit on looks says nothing about streams that did not open", async () => {
  const look = answers["queue"]!;
  answers["queue"] = () => limited(RETRY_AFTER_S);
  isStreaming = false;
  const { ways, stop } = await following();
  await pass(10_000);
  expect(tried).toEqual(["websocket", "sse"]);
  answers["queue"] = look;
  await pass(10_000);
  expect(ways).toEqual(["connecting", "polling"]);
  stop();
});
