/** What the server refuses is found before: here by the editor, in `admin-plan.test.ts` by the server. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { sentBytes } from "../../src/admin/plan/model/bytes";
import { check } from "../../src/admin/plan/model/check";
import { placesOf } from "../../src/admin/plan/model/document";
import { planOf } from "../../src/admin/plan/model/file";
import { setRank } from "../../src/admin/plan/model/mark";
import { shown } from "../../src/admin/plan/model/texts";
import { hall } from "./plans";
import { REFUSED, TAKEN } from "../refused-plans";

test.each(REFUSED)("$what is found", ({ plan, finding }) => {
  const errors = check(planOf(plan)).filter(({ isError }) => isError);
  expect(errors.map((problem) => problem.finding)).toEqual([finding]);
});

test.each(TAKEN)("%s is no mistake", (_, plan) => {
  expect(check(planOf(plan)).filter(({ isError }) => isError)).toEqual([]);
});

test("every sentence with which the server refuses a drawing is among these", () => {
  const source = path.resolve(import.meta.dirname, "../../../crates/api/src");
  const sentences = ["plans.rs", "plans/areas.rs"].flatMap((file) => {
    const [code] = readFileSync(path.join(source, file), "utf8").split("#[cfg(test)]");
    const found = code!.matchAll(/(?:Err|ok_or)\(\s*(?:format!\(\s*)?"((?:[^"\\]|\\[^])*)"/g);
    return [...found].map((it) => it[1]!.replace(/\\\n\s*/g, ""));
  });
  expect(sentences.length).toBeGreaterThan(15);
  const untold = sentences.filter((sentence) => !REFUSED.some(({ why }) => why && sentence.includes(why)));
  // Prices are asked for where the plan is sent, and a file of a shape without measures is not opened.
  expect(untold.filter((sentence) => !/^prices: |^an area: an? \w+ needs its /.test(sentence))).toEqual([]);
});

test("the bytes of a plan are those that are sent, however it was changed", () => {
  const { plan, keys } = hall({ section: "Süd 😀" });
  const sent = (of: typeof plan) =>
    Buffer.byteLength(JSON.stringify({ plan: of, prices: { One: 1_000_000_000_000 } }));
  expect(sentBytes(plan)).toBe(sent(plan));
  const some = new Set([...keys].slice(0, 12));
  const changed = setRank(plan, some, 12_345);
  expect(sentBytes(changed)).toBe(sent(changed));
});

test("a problem names what it is about, and a sentence does not turn with it", () => {
  const turned = REFUSED.find(({ what }) => what === "a section's turned name")!;
  const [problem] = check(planOf(turned.plan));
  expect(problem).toMatchObject({ n: 2, keys: placesOf(planOf(turned.plan)).map(() => expect.any(Number)) });
  expect(shown(problem!.name)).toBe("ab A 1");
  expect(shown("x".repeat(600))).toBe(`${"x".repeat(60)}…`);
  const aside = REFUSED.find(({ what }) => what.startsWith("a turned name of a category"))!;
  expect(check(planOf(aside.plan))[0]).toMatchObject({ finding: "turned_text", n: 1, keys: [] });
});
