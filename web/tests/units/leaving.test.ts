/** What is asked before a page goes that somebody would lose something by. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";

const LOST = "Leave all the same?";

let asked: string[];
let answer: boolean;
let unload: ((event: Event) => void) | undefined;
const history = { state: null, pushState: vi.fn(), replaceState: vi.fn() };

beforeEach(() => {
  asked = [];
  answer = false;
  unload = undefined;
  history.pushState.mockClear();
  vi.stubGlobal("location", { pathname: "/here", search: "", href: "http://x/here" });
  vi.stubGlobal("history", history);
  vi.stubGlobal("scrollTo", () => {});
  vi.stubGlobal("confirm", (text: string) => {
    asked.push(text);
    return answer;
  });
  vi.stubGlobal("addEventListener", (name: string, heard: typeof unload) => {
    if (name === "beforeunload") unload = heard;
  });
  vi.stubGlobal("removeEventListener", (name: string) => {
    if (name === "beforeunload") unload = undefined;
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

const fresh = () => import("../../src/lib/router.svelte");

/** Whether the browser would ask before it loads something else. */
function isKept(): boolean {
  const event = new Event("beforeunload", { cancelable: true });
  unload?.(event);
  return event.defaultPrevented;
}

test("whoever would lose something by it is asked, and stays unless they want to go", async () => {
  const { beforeLeaving, go } = await fresh();
  let isDirty = false;
  beforeLeaving(() => (isDirty ? LOST : undefined));
  go("/there");
  expect([asked, history.pushState.mock.calls.length, isKept()]).toEqual([[], 1, false]);
  isDirty = true;
  go("/elsewhere");
  expect([asked, history.pushState.mock.calls.length, isKept()]).toEqual([[LOST], 1, true]);
  answer = true;
  go("/elsewhere");
  expect([asked, history.pushState.mock.calls.length]).toEqual([[LOST, LOST], 2]);
});

test("every part of a page is asked for, and the same question once", async () => {
  const { beforeLeaving, mayLeave } = await fresh();
  const over = [LOST, undefined, LOST, "And this?"].map((text) => beforeLeaving(() => text));
  answer = true;
  expect(mayLeave()).toBe(true);
  expect(asked).toEqual([LOST, "And this?"]);
  over[0]!();
  answer = false;
  expect(mayLeave()).toBe(false);
  expect(asked).toEqual([LOST, "And this?", LOST]);
  for (const end of over) end();
  expect(mayLeave()).toBe(true);
  expect(unload).toBeUndefined();
});
