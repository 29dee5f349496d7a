/** Seats of a sale that were asked for more than once, and are answered in another order. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";

interface Asked {
  since: string | null;
  answer: (at: number, status: string) => void;
}

/** The questions for statuses, in order; each is answered when a test does. */
let asked: Asked[];

beforeEach(() => {
  asked = [];
  const visitor = { user: "ann", token: "t", expires_at: Date.now() + 86_400_000 };
  const stored = new Map([["onrush.visitor", JSON.stringify(visitor)]]);
  vi.stubGlobal("localStorage", {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => stored.set(name, value),
    removeItem: (name: string) => stored.delete(name),
  });
  vi.stubGlobal("navigator", {});
  const categories = [{ name: "Stalls", all_in_minor: 100 }];
  const row = { prefix: "A-", ids: ["1", "2"], category: 0 };
  const answers: Record<string, unknown> = {
    show: { event: "show", at: Date.now(), phase: "open" },
    availability: { pools: [], categories },
    bookings: { bookings: [] },
    texts: { texts: {} },
    plan: { version: "v", seats: 2, categories, rows: [row], areas: [] },
  };
  vi.stubGlobal("fetch", (to: string) => {
    const { pathname, searchParams } = new URL(to, "http://localhost");
    const last = pathname.split("/").at(-1)!;
    if (last !== "status") return Promise.resolve(Response.json(answers[last]));
    return new Promise((resolve) => {
      const answer = (at: number, status: string) =>
        resolve(Response.json({ event: "show", at, seats: 2, plan: "v", status }));
      asked.push({ since: searchParams.get("since"), answer });
    });
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** A sale whose seats were read at this time. */
async function saleAt(at: number, status: string) {
  const { Sale } = await import("../../src/buyer/choose/sale.svelte");
  const loading = Sale.load("show");
  await vi.waitFor(() => expect(asked).toHaveLength(1), { timeout: 60_000 });
  asked.shift()!.answer(at, status);
  const sale = await loading;
  const shown = () => ["A-1", "A-2"].map((id) => sale.house!.statusOf(sale.house!.indexOf(id)!));
  return { sale, shown };
}

test("the newest reading is shown, whichever was asked for last", async () => {
  const { sale, shown } = await saleAt(4, "ff");
  const first = sale.refreshSeats(8);
  const second = sale.refreshSeats();
  asked[1]!.answer(5, "hf");
  await second;
  expect(shown()).toEqual(["held", "free"]);
  asked[0]!.answer(9, "sh");
  await first;
  expect(shown()).toEqual(["sold", "held"]);
});

test("an older reading takes back nothing, and of two of one time the last asked for counts", async () => {
  const { sale, shown } = await saleAt(4, "sf");
  const reads = [sale.refreshSeats(), sale.refreshSeats(), sale.refreshSeats()];
  asked[0]!.answer(3, "ff");
  await reads[0];
  expect(shown()).toEqual(["sold", "free"]);
  asked[2]!.answer(6, "sh");
  await reads[2];
  asked[1]!.answer(6, "sf");
  await reads[1];
  expect(shown()).toEqual(["sold", "held"]);
});

test("whoever asks for any reading asks for one as new as is wanted already", async () => {
  const { sale } = await saleAt(4, "ff");
  const reads = [sale.refreshSeats(8), sale.refreshSeats(6), sale.refreshSeats()];
  expect(asked.map(({ since }) => since)).toEqual(["8", "8", "8"]);
  for (const { answer } of asked) answer(9, "ff");
  await Promise.all(reads);
  const last = sale.refreshSeats();
  expect(asked.at(-1)!.since).toBe(null);
  asked.at(-1)!.answer(9, "ff");
  await last;
});
