/** What the pages keep where the browser's own store is full or forbidden. */
import { afterEach, expect, test, vi } from "vitest";
import { store } from "../../src/lib/store";

afterEach(() => vi.unstubAllGlobals());

/** A store that takes nothing more once it is full. */
function stub() {
  const there = new Map<string, string>();
  const state = { isFull: false, there };
  vi.stubGlobal("localStorage", {
    getItem: (name: string) => there.get(name) ?? null,
    setItem: (name: string, text: string) => {
      if (state.isFull) throw new DOMException("full", "QuotaExceededError");
      there.set(name, text);
    },
    removeItem: (name: string) => there.delete(name),
  });
  return state;
}

test("what a full store does not take is remembered, until another tab writes or there is room", () => {
  const browser = stub();
  store.write("a", 1);
  expect(store.keeps("a")).toBe(true);
  browser.isFull = true;
  store.write("a", 2);
  expect(store.read("a")).toBe(2);
  expect(store.keeps("a")).toBe(false);
  browser.there.set("a", "3");
  expect(store.read("a")).toBe(3);
  expect(store.keeps("a")).toBe(true);
  store.write("a", 4);
  browser.isFull = false;
  store.write("a", 5);
  expect([store.read("a"), browser.there.get("a")]).toEqual([5, "5"]);
  browser.isFull = true;
  store.write("a", 6);
  store.remove("a");
  expect(store.read("a")).toBe(undefined);
});

test("forbidden store costs nothing but what comes after the page", () => {
  // Node has none either.
  store.write("b", ["kept"]);
  expect(store.read("b")).toEqual(["kept"]);
  expect(store.keeps("b")).toBe(false);
  store.remove("b");
  expect(store.read("b")).toBe(undefined);
  expect(store.keeps("b")).toBe(true);
  store.set("b", "{");
  expect(store.read("b")).toBe(undefined);
});
