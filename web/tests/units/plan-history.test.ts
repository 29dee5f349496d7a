/** Steps of the plan editor: what they keep, and which of them are one. */
import v8 from "node:v8";
import vm from "node:vm";
import { expect, test } from "vitest";
import { Editor } from "../../src/admin/plan/editor.svelte";
import { isSameMove, moveBy } from "../../src/admin/plan/model/arrange";
import { addCategory, removeCategory } from "../../src/admin/plan/model/categories";
import { emptyPlan, type Plan, placesOf } from "../../src/admin/plan/model/document";
import { begin, redo, REPEAT_MS, step, undo } from "../../src/admin/plan/model/history";
import { setRank } from "../../src/admin/plan/model/mark";
import { type Draft, Shelf } from "../../src/admin/plan/model/stored";
import { chosen, hall } from "./plans";

test("steps hold no list of all seats, but for the newest", async () => {
  v8.setFlagsFromString("--expose_gc");
  const collect = vm.runInNewContext("gc") as () => void;
  const { plan, keys } = hall();
  let history = begin(plan);
  const lists: WeakRef<object>[] = [];
  for (let nth = 1; nth <= 50; nth += 1) {
    history = step(history, setRank(history.present, keys, nth));
    lists.push(new WeakRef(placesOf(history.present)));
  }
  // What a job has looked at is held until it ends.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  expect(history.past).toHaveLength(50);
  expect(lists.filter((list) => list.deref()).length).toBeLessThanOrEqual(2);
});

test("a held arrow key is one step, however often it repeats itself", () => {
  const { plan, keys } = hall();
  const editor = new Editor("e", plan, { plan, prices: {} });
  editor.change(setRank(editor.plan, keys, 3));
  const before = editor.plan;
  editor.choose(keys);
  for (let nth = 0; nth < 300; nth += 1) editor.change(moveBy(editor.plan, editor.chosen, 0, 5));
  expect(placesOf(editor.plan)[0]!.y).toBe(placesOf(plan)[0]!.y + 1_500);
  editor.undo();
  expect(editor.plan).toBe(before);
  editor.redo();
  expect(placesOf(editor.plan)[0]!.y).toBe(placesOf(plan)[0]!.y + 1_500);
});

test("another move, of another choice, later, or after an undo is a step of its own", () => {
  const { plan, keys } = hall();
  const one = chosen(plan, ({ seat }) => seat.seat_guid === "Stalls-A-1");
  const move = (history: ReturnType<typeof begin<typeof plan>>, atMs: number, of = keys, x = 5) =>
    step(history, moveBy(history.present, of, x, 0), atMs, isSameMove);
  const first = move(begin(plan), 0);
  expect(first.past).toHaveLength(1);
  expect(move(first, REPEAT_MS).past).toHaveLength(1);
  expect(move(first, REPEAT_MS + 1).past).toHaveLength(2);
  expect(move(first, 30, keys, -5).past).toHaveLength(2);
  expect(move(first, 30, one).past).toHaveLength(2);
  const ranked = step(first, setRank(first.present, keys, 1), 30, isSameMove);
  expect(move(ranked, 60).past).toHaveLength(3);
  const second = move(first, REPEAT_MS + 1);
  expect(move(undo(second), REPEAT_MS + 2).past).toHaveLength(2);
  expect(move(redo(undo(second)), REPEAT_MS + 2).past).toHaveLength(3);
});

/** An editor of a hall with the categories One, at 80, and Two, at 45. */
function priced(shelf?: Shelf): Editor {
  const plan = addCategory(hall().plan, "Two");
  return new Editor("e", plan, { plan, prices: { One: 80, Two: 45 } }, shelf);
}

test("what is typed for a category stays with it, whatever steps back and on call it", () => {
  const editor = priced();
  expect(editor.renameCategory("One", "Stalls")).toBe(true);
  expect(editor.prices).toEqual({ Stalls: 80, Two: 45 });
  editor.undo();
  expect(editor.prices).toEqual({ One: 80, Two: 45 });
  editor.typePrice("One", 90);
  editor.redo();
  expect(editor.prices).toEqual({ Stalls: 90, Two: 45 });
  editor.typePrice("Stalls", null);
  editor.undo();
  expect(editor.prices).toEqual({ One: null, Two: 45 });
});

test("two categories that exchange their names exchange no price, there and back", () => {
  const editor = priced();
  const names = [
    ["One", "Three"],
    ["Two", "One"],
    ["Three", "Two"],
  ] as const;
  for (const [from, to] of names) expect(editor.renameCategory(from, to)).toBe(true);
  expect(editor.prices).toEqual({ Two: 80, One: 45 });
  const seen: unknown[] = [];
  for (let nth = 0; nth < 3; nth += 1) {
    editor.undo();
    seen.push(editor.prices);
  }
  expect(seen).toEqual([
    { Three: 80, One: 45 },
    { Three: 80, Two: 45 },
    { One: 80, Two: 45 },
  ]);
  for (let nth = 0; nth < 3; nth += 1) editor.redo();
  expect(editor.prices).toEqual({ Two: 80, One: 45 });
});

test("a step back takes no price back, and a name that another has gets none", () => {
  const { plan, keys } = hall();
  const editor = new Editor("e", plan);
  expect(editor.prices).toEqual({ One: null });
  editor.change(setRank(editor.plan, keys, 3));
  editor.typePrice("One", 80);
  editor.undo();
  expect(editor.prices).toEqual({ One: 80 });
  editor.redo();
  expect(editor.prices).toEqual({ One: 80 });
  editor.change(addCategory(editor.plan, "Two"));
  expect(editor.renameCategory("One", "Two")).toBe(false);
  expect(editor.prices).toEqual({ One: 80, Two: null });
});

test("a category that was taken out has its price again, also where its name was another's since", () => {
  const editor = priced();
  editor.change(removeCategory(editor.plan, "Two"));
  editor.renameCategory("One", "Two");
  expect(editor.prices).toEqual({ Two: 80 });
  editor.change(addCategory(editor.plan, "One"));
  expect(editor.prices).toEqual({ Two: 80, One: null });
  for (let nth = 0; nth < 3; nth += 1) editor.undo();
  expect(editor.plan.categories.map(({ name }) => name)).toEqual(["One", "Two"]);
  expect(editor.prices).toEqual({ One: 80, Two: 45 });
});

test("a category that is added again under its old name is another one, with a price of its own", () => {
  const editor = priced();
  editor.change(removeCategory(editor.plan, "Two"));
  expect(editor.prices).toEqual({ One: 80 });
  editor.change(addCategory(editor.plan, "Two"));
  expect(editor.prices).toEqual({ One: 80, Two: null });
  editor.typePrice("Two", 60);
  for (let nth = 0; nth < 2; nth += 1) editor.undo();
  expect(editor.prices).toEqual({ One: 80, Two: 45 });
  for (let nth = 0; nth < 2; nth += 1) editor.redo();
  expect(editor.prices).toEqual({ One: 80, Two: 60 });
});

test.each<[string, Plan, string[]]>([
  ["a file", addCategory(hall({ rows: 1 }).plan, "Three"), ["One", "Three"]],
  ["a new plan", emptyPlan("New", "One"), ["One"]],
])("%s begins at the prices of the same names, and a step back finds those of before", (_, other, names) => {
  const editor = priced();
  const mine = editor.plan;
  editor.choose(placesOf(mine).map(({ key }) => key));
  editor.open(other);
  expect([editor.plan, editor.chosen.size]).toEqual([other, 0]);
  expect(editor.prices).toEqual(Object.fromEntries(names.map((name) => [name, name === "One" ? 80 : null])));
  editor.typePrice("One", 7);
  editor.undo();
  expect(editor.plan).toBe(mine);
  expect(editor.prices).toEqual({ One: 80, Two: 45 });
  editor.typePrice("One", 90);
  editor.redo();
  expect(editor.priceOf("One")).toBe(7);
  expect(Object.keys(editor.prices)).toEqual(names);
});

test("who goes on with another page's draft, and a step back, has the prices of each", async () => {
  const theirs: Draft = { plan: hall({ rows: 1 }).plan, prices: { One: 7 } };
  class Theirs extends Shelf {
    override take(): Promise<Draft> {
      return Promise.resolve(theirs);
    }
  }
  const editor = priced(new Theirs("e"));
  const mine = editor.plan;
  await editor.takeOther();
  expect([editor.plan, editor.prices]).toEqual([theirs.plan, { One: 7 }]);
  editor.undo();
  expect(editor.plan).toBe(mine);
  expect(editor.prices).toEqual({ One: 80, Two: 45 });
  editor.redo();
  expect(editor.prices).toEqual({ One: 7 });
});
