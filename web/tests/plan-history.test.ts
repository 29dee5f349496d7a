/** Steps of the plan editor: what they keep, and which of them are one. */
import v8 from "node:v8";
import vm from "node:vm";
import { expect, test } from "vitest";
import { placesOf } from "../src/admin/plan/model/document";
import { begin, step } from "../src/admin/plan/model/history";
import { setRank } from "../src/admin/plan/model/mark";
import { hall } from "./plans";

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
