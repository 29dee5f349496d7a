/** How far an event had come when its visitor was told where they stand, and what is passed back of it. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LiveMessage } from "../../src/lib/live/message";

interface Question {
  /** What was passed back. */
  asOf: string | null;
  answer: (position: number, asOf: string) => void;
}

let questions: Question[];

beforeEach(() => {
  questions = [];
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const visitor = { user: "ann", token: "t", expires_at: Date.now() + 86_400_000 };
  const stored = new Map([["onrush.visitor", JSON.stringify(visitor)]]);
  vi.stubGlobal("localStorage", {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => stored.set(name, value),
    removeItem: (name: string) => stored.delete(name),
  });
  vi.stubGlobal("navigator", {});
  vi.stubGlobal("fetch", (to: string) => {
    const url = new URL(to, "http://localhost");
    if (!url.pathname.endsWith("/queue")) {
      return Promise.resolve(Response.json({ event: "show", at: Date.now(), phase: "prequeue", room: {} }));
    }
    return new Promise<Response>((resolve) => {
      const answer = (position: number, as_of: string) => {
        const place = { status: "queued", place: "0".repeat(32), number: 1, position, total: 9, as_of };
        resolve(Response.json(place));
      };
      questions.push({ asOf: url.searchParams.get("as_of"), answer });
    });
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.resetModules();
});

async function polling() {
  const { Poller } = await import("../../src/lib/live/poller");
  const positions: (number | null | undefined)[] = [];
  const message = (message: LiveMessage) => {
    if (message.type === "position") positions.push(message.position);
  };
  const poller = new Poller(
    "show",
    { isPlaceOnly: true },
    { message, answered: () => {}, refused: () => {}, unanswered: () => {} },
  );
  poller.start();
  const asked = async (count: number): Promise<Question> => {
    await vi.waitFor(() => expect(questions.length).toBeGreaterThanOrEqual(count), { timeout: 60_000 });
    return questions[count - 1]!;
  };
  const told = (position: number) => vi.waitFor(() => expect(positions).toContain(position));
  return { poller, positions, asked, told };
}

test("what was told is passed back with the next question", async () => {
  const { poller, asked, told } = await polling();
  const first = await asked(1);
  expect(first.asOf).toBeNull();
  first.answer(8, "0-10");
  await told(8);
  expect((await asked(2)).asOf).toBe("0-10");
  poller.stop();
});

test("an answer that comes late neither is shown nor makes the next one older", async () => {
  const { poller, positions, asked, told } = await polling();
  const late = await asked(1);
  poller.stop();
  poller.start();
  (await asked(2)).answer(5, "0-20");
  await told(5);
  late.answer(8, "0-10");
  expect((await asked(3)).asOf).not.toBe("0-10");
  expect(positions).toEqual([5]);
  poller.stop();
});

test("an answer that was overtaken by other news is asked for again, of the present", async () => {
  const { poller, positions, asked, told } = await polling();
  (await asked(1)).answer(6, "0-10");
  await told(6);
  const overtaken = await asked(2);
  const { forgetAsOf } = await import("../../src/lib/live/as-of");
  forgetAsOf("show");
  overtaken.answer(7, "0-11");
  const again = await asked(3);
  expect(again.asOf).toBeNull();
  again.answer(4, "0-30");
  await told(4);
  expect((await asked(4)).asOf).toBe("0-30");
  expect(positions).toEqual([6, 4]);
  poller.stop();
});
