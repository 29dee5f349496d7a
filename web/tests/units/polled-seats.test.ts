/** Seats that are asked for where no stream can be had, of nodes that have read them at different times. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LiveMessage } from "../../src/lib/live/message";

/** What is answered next, by what time it was read and how the two seats stood; the last one for good. */
let readings: [at: number, status: string][];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const visitor = { user: "ann", token: "t", expires_at: Date.now() + 86_400_000 };
  const stored = new Map([["onrush.visitor", JSON.stringify(visitor)]]);
  vi.stubGlobal("localStorage", {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => stored.set(name, value),
    removeItem: (name: string) => stored.delete(name),
  });
  vi.stubGlobal("navigator", {});
  const answers: Record<string, () => unknown> = {
    queue: () => ({ status: "not_found" }),
    show: () => ({ event: "show", at: Date.now(), phase: "open" }),
    bookings: () => ({ bookings: [] }),
    seats: () => ({ seats: [{ id: "A-1" }, { id: "A-2" }] }),
    status: () => {
      const [at, status] = readings.length > 1 ? readings.shift()! : readings[0]!;
      return { event: "show", at, seats: 2, plan: "", status };
    },
  };
  vi.stubGlobal("fetch", (to: string) => {
    const last = new URL(to, "http://localhost").pathname.split("/").at(-1)!;
    return Promise.resolve(Response.json(answers[last]!()));
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.resetModules();
});

test("an older reading of another node takes back nothing", async () => {
  readings = [
    [10, "fh"],
    [5, "ff"],
    // Nothing changed until then, and what another node tells is older than that.
    [40, "fh"],
    [20, "hh"],
    [50, "hh"],
  ];
  const { Poller } = await import("../../src/lib/live/poller");
  const told: LiveMessage[] = [];
  const message = (message: LiveMessage) => {
    if (message.type === "seats") told.push(message);
  };
  const listener = { message, answered: () => {}, refused: () => {}, unanswered: () => {} };
  const poller = new Poller("show", {}, listener);
  poller.start();
  await vi.waitFor(() => expect(told).toHaveLength(2), { timeout: 60_000 });
  poller.stop();
  expect(told).toEqual([
    { type: "seats", at: 10, changed: { "A-1": "free", "A-2": "held" } },
    { type: "seats", at: 50, changed: { "A-1": "held" } },
  ]);
});
