/** What is known of a request whose answer does not tell: whether it may have changed something. */
import { afterEach, expect, test, vi } from "vitest";
import { ask, type Ask, doubtOf, isAnswered } from "../../src/api/client";

afterEach(() => void vi.unstubAllGlobals());

function problem(code: string, retryable = false): Response {
  return Response.json({ status: 500, code, detail: code, retryable }, { status: 500 });
}

function brokenOff(): Response {
  return new Response(new ReadableStream({ start: (body) => body.error(new TypeError("gone")) }));
}

/** What comes of a request that is answered like this. */
async function errorOf(wish: Ask, answer: () => Response): Promise<unknown> {
  vi.stubGlobal("fetch", () => new Promise((resolve) => resolve(answer())));
  return ask("/api/v1/events", wish).then(
    () => undefined,
    (error: unknown) => error,
  );
}

const LEFT_OPEN: [string, () => Response][] = [
  [
    "nothing",
    () => {
      throw new TypeError("failed to fetch");
    },
  ],
  ["half an answer", brokenOff],
  ["a page instead of JSON", () => new Response("<html>")],
  ["a proxy's 504", () => new Response("<html>", { status: 504 })],
  ["ENGINE_UNREACHABLE", () => problem("ENGINE_UNREACHABLE", true)],
  ["STOPPED", () => problem("STOPPED", true)],
  ["INTERNAL", () => problem("INTERNAL")],
];

test.each(LEFT_OPEN)("after %s a change may have been made, and by a look none was", async (_, answer) => {
  const doubt = async (wish: Ask) => doubtOf(await errorOf(wish, answer));
  expect(await doubt({})).toBe(undefined);
  for (const method of ["POST", "PUT", "PATCH", "DELETE"] as const) {
    expect(await doubt({ method }), method).toBe("change");
    expect(await doubt({ method, key: "k" }), method).toBe("once");
    expect(await doubt({ method, effect: "once" }), method).toBe("once");
    expect(await doubt({ method, effect: "look" }), method).toBe(undefined);
  }
});

test.each(LEFT_OPEN)("after %s a wish has no answer yet", async (_, answer) => {
  expect(isAnswered(await errorOf({ method: "POST", key: "k" }, answer))).toBe(false);
});

test.each([
  ["EVENT_NOT_FOUND", false],
  ["EVENT_NOT_OPEN", true],
  ["BUSY", true],
  ["LEDGER_UNAVAILABLE", true],
])("after %s nothing was done", async (code, retryable) => {
  const error = await errorOf({ method: "POST", key: "k" }, () => problem(code, retryable));
  expect(error).toMatchObject({ code });
  expect(doubtOf(error)).toBe(undefined);
  expect(isAnswered(error)).toBe(!retryable);
});
