/** Numbers that people type: read in one way, or not at all. */
import { expect, test } from "vitest";
import { exampleOf, parseCount, parseMoney, readNumber, writeNumber } from "../../src/admin/numbers";

const COMMA = ["vi", "id"];
const POINT = ["en", "th", "ko"];

test.each([
  // As the page itself shows them.
  [COMMA, "VND", "150.000", 150_000],
  [COMMA, "VND", "1.500.000", 1_500_000],
  [COMMA, "IDR", "150.000", 15_000_000],
  [COMMA, "EUR", "1.234,50", 123_450],
  [COMMA, "EUR", "12,5", 1_250],
  [COMMA, "KWD", "1,234", 1_234],
  [POINT, "VND", "150,000", 150_000],
  [POINT, "EUR", "1,234.50", 123_450],
  [POINT, "EUR", "12.34", 1_234],
  [POINT, "KWD", "1.234", 1_234],
  // Without any sign, and with spaces around.
  [[...COMMA, ...POINT], "VND", "150000", 150_000],
  [[...COMMA, ...POINT], "EUR", " 45 ", 4_500],
  [[...COMMA, ...POINT], "EUR", "0", 0],
  // As other languages do, where this one could not have written it.
  [POINT, "EUR", "12,50", 1_250],
  [POINT, "EUR", "1.234,50", 123_450],
  [POINT, "VND", "1.500.000", 1_500_000],
  [COMMA, "EUR", "12.50", 1_250],
  [COMMA, "EUR", "1,234.50", 123_450],
  [COMMA, "KWD", "0.150", 150],
  // In two ways, or with decimals that there are not.
  [POINT, "VND", "150.000", undefined],
  [COMMA, "VND", "150,000", undefined],
  [POINT, "EUR", "1.234", undefined],
  [COMMA, "EUR", "1,234", undefined],
  [[...COMMA, ...POINT], "VND", "12.5", undefined],
  [[...COMMA, ...POINT], "VND", "12,5", undefined],
  [[...COMMA, ...POINT], "EUR", "1.2345", undefined],
  // In none.
  [[...COMMA, ...POINT], "EUR", "", undefined],
  [[...COMMA, ...POINT], "EUR", " ", undefined],
  [[...COMMA, ...POINT], "EUR", "-5", undefined],
  [[...COMMA, ...POINT], "EUR", "1e3", undefined],
  [[...COMMA, ...POINT], "EUR", "12.", undefined],
  [[...COMMA, ...POINT], "EUR", "1.23.456", undefined],
  [[...COMMA, ...POINT], "EUR", "1 000", undefined],
  [[...COMMA, ...POINT], "EUR", "€5", undefined],
  [[...COMMA, ...POINT], "EUR", "99999999999999999", undefined],
])("in %s, an amount in %s typed as %j is %s", (languages, currency, text, minor) => {
  for (const language of languages) expect(parseMoney(text, currency, language), language).toBe(minor);
});

test.each([
  ["vi", "2.000", 2_000],
  ["en", "2,000", 2_000],
  ["en", "2.000", undefined],
  ["en", "1.5", undefined],
  ["vi", "1,5", undefined],
])("in %s, a number of units typed as %j is %s", (language, text, count) => {
  expect(parseCount(text, language)).toBe(count);
});

test("what a field shows is read as what it was, in every language", () => {
  for (const language of [...COMMA, ...POINT]) {
    for (const minor of [0, 1, 10, 1_234, 123_456, 100_000_000]) {
      for (const decimals of [0, 2, 3]) {
        const text = writeNumber(minor / 10 ** decimals, language);
        expect(readNumber(text, decimals, language), `${language}: ${text}`).toBe(minor);
      }
    }
    for (const decimals of [0, 2, 3]) {
      expect(readNumber(exampleOf(decimals, language), decimals, language)).toBeDefined();
    }
  }
  expect(writeNumber(1234.5, "vi")).toBe("1234,5");
  expect(exampleOf(2, "vi")).toBe("1.234,50");
});
