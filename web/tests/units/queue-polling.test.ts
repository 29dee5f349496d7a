import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { LiveMessage } from "../../src/lib/live/message";
import { openEvent, Server, smallPlan } from "../server";

let server: Server;

beforeAll(async () => {
  server = await Server.start();
  const stored = new Map<string, string>();
  vi.stubGlobal("localStorage", {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => stored.set(name, value),
    removeItem: (name: string) => stored.delete(name),
  });
  vi.stubGlobal("navigator", {});
  const real = fetch;
  vi.stubGlobal("fetch", (to: string, wish?: RequestInit) => real(new URL(to, server.url), wish));
});

afterAll(async () => {
  vi.unstubAllGlobals();
  await server?.stop();
});

/** The messages that asking an event finds, as a visitor of its own. */
async function polled(event: string, isPlaceOnly = false) {
  const { Poller } = await import("../../src/lib/live/poller");
  const messages: LiveMessage[] = [];
  let lost = 0;
  const poller = new Poller(
    event,
    { isPlaceOnly },
    {
      message: (message) => messages.push(message),
      answered: () => {},
      refused: () => {},
      unanswered: () => (lost += 1),
    },
  );
  poller.start();
  const finds = (found: Partial<LiveMessage>) =>
    expect.poll(() => messages, { timeout: 20_000 }).toContainEqual(expect.objectContaining(found));
  return { poller, messages, finds, lost: () => lost };
}

async function ownToken(): Promise<string> {
  const { token } = await import("../../src/api/visitor");
  return token();
}

test("asking finds the seats that others take, the visitor's holds, and the phase", async () => {
  await openEvent(server, "seats", {
    plan: smallPlan(1, 3),
    prices: { Stalls: 1_000 },
    settings: { room: null, hold_ttl_ms: 30_000 },
  });
  const { poller, messages, finds } = await polled("seats");
  await finds({ type: "phase", phase: "open" });
  await finds({ type: "seats", changed: { "A-1": "free", "A-2": "free", "A-3": "free" } });
  const hold = async (token: string, seat: string) =>
    (await server.ask("POST", "/events/seats/bookings", { token, key: seat, body: { seats: [seat] } })).body;
  await hold(await server.visitor(), "A-2");
  await finds({ type: "seats", changed: { "A-2": "held" } });
  const token = await ownToken();
  const { booking, until } = await hold(token, "A-3");
  await finds({ type: "hold", booking, status: "held", until });
  await finds({ type: "hold_expiring", booking, until });
  await server.ask("POST", `/bookings/${booking}/cancel`, { token });
  await finds({ type: "hold", booking, status: "released" });
  await finds({ type: "seats", changed: { "A-3": "free" } });
  await server.organise("POST", "/events/seats/pause");
  await finds({ type: "phase", phase: "paused" });
  poller.stop();
  expect(messages.filter((message) => message.type === "hold_expiring")).toHaveLength(1);
});

test("seats are not asked for by who may not hold", async () => {
  await openEvent(server, "room", {
    plan: smallPlan(1, 2),
    prices: { Stalls: 1_000 },
    settings: { room: { capacity: 1 } },
  });
  const other = await server.visitor();
  await server.ask("POST", "/events/room/queue", { token: other });
  await server.ask("POST", "/events/room/queue", { token: await ownToken() });
  const { poller, messages, finds } = await polled("room");
  await finds({ type: "position", position: 1, total: 1 });
  await finds({ type: "phase" });
  expect(messages.some((message) => message.type === "seats")).toBe(false);
  await server.ask("DELETE", "/events/room/queue", { token: other });
  await finds({ type: "your_turn" });
  await finds({ type: "seats", changed: { "A-1": "free", "A-2": "free" } });
  poller.stop();
});

test("server that is gone is said to be gone", async () => {
  const real = fetch;
  await openEvent(server, "gone");
  const { poller, finds, lost } = await polled("gone", true);
  await finds({ type: "not_in_queue" });
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("no network")));
  await expect.poll(lost, { timeout: 20_000 }).toBe(1);
  vi.stubGlobal("fetch", real);
  poller.stop();
});
