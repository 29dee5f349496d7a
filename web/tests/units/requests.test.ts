/** What requests are sent with and how they end, also where the browser has less than others. */
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { ask, NoAnswer } from "../../src/api/client";

afterEach(() => {
  vi.unstubAllGlobals();
});

/** Takes away what older browsers do not have, until the test is over. */
function without(owner: object, name: string): void {
  const there = Object.getOwnPropertyDescriptor(owner, name)!;
  Reflect.deleteProperty(owner, name);
  onTestFinished(() => void Object.defineProperty(owner, name, there));
}

/** No request has an answer: it ends with its signal. */
function hang(): void {
  vi.stubGlobal("fetch", async (_to: string, { signal }: RequestInit) => {
    if (!signal!.aborted) await new Promise((resolve) => signal!.addEventListener("abort", resolve));
    signal!.throwIfAborted();
  });
}

/** What ended a request that had no answer. */
async function endOf(asked: Promise<unknown>): Promise<string> {
  const error = await asked.catch((error: unknown) => error);
  expect(error).toBeInstanceOf(NoAnswer);
  return ((error as NoAnswer).cause as Error).name;
}

test.each(["there", "missing"])(
  "request ends with who wants it, and with its patience, where AbortSignal.any is %s",
  async (state) => {
    if (state === "missing") without(AbortSignal, "any");
    hang();
    const left = new AbortController();
    const asked = ask("/place", { signal: left.signal });
    left.abort();
    expect(await endOf(asked)).toBe("AbortError");
    expect(await endOf(ask("/place", { signal: left.signal }))).toBe("AbortError");
    const { signal } = new AbortController();
    expect(await endOf(ask("/place", { signal, patienceMs: 1 }))).toBe("TimeoutError");
  },
);

test("request that cannot even be made is not taken for a server that cannot be reached", async () => {
  hang();
  await expect(ask("/bookings", { method: "POST", body: 1n })).rejects.toThrow(TypeError);
});

test("query is sent where URLSearchParams has no size", async () => {
  without(URLSearchParams.prototype, "size");
  const addresses: string[] = [];
  vi.stubGlobal("fetch", (to: string) => {
    addresses.push(to);
    return Promise.resolve(Response.json({}));
  });
  await ask("/bookings", { query: { event: "tour", after: undefined } });
  await ask("/bookings", { query: { after: undefined } });
  expect(addresses).toEqual(["/bookings?event=tour", "/bookings"]);
});
