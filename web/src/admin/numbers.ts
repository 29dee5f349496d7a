/** Numbers as people type them and fields show them. */
import { decimalsOf } from "../lib/format";

/** A way to write numbers: what stands between thousands, and before decimals. */
interface Writing {
  group: string;
  point: string;
}

/** How a language writes numbers. */
function writingOf(language: string): Writing {
  const parts = new Intl.NumberFormat(language).formatToParts(1_234_567.5);
  const sign = (type: string) => parts.find((part) => part.type === type)?.value ?? "";
  return { group: sign("group"), point: sign("decimal") };
}

/** The digits before and behind the point, if the text is a number in this writing. */
function digitsOf(text: string, { group, point }: Writing): { whole: string; behind: string } | undefined {
  const number = new RegExp(`^([1-9]\\d{0,2}(?:\\${group}\\d{3})+|\\d+)(?:\\${point}(\\d+))?$`);
  const found = number.exec(text);
  if (!found) return undefined;
  return { whole: found[1]!.replaceAll(group, ""), behind: found[2] ?? "" };
}

/**
 * A number in steps of its last decimal: `readNumber("1.234,5", 2, "vi")` is 123450. Missing for what is no
 * number, or is one in two ways.
 *
 * What the language itself writes is what it is there: `150.000` is 150000 in Vietnamese, and in English 150
 * with three decimals. With more decimals than there are it is no number, and not one of another language
 * either: English `150.000` of a currency without decimals is refused. Only what the language cannot have
 * written is read with point and comma the other way round: English `12,50` is 12.50.
 */
export function readNumber(text: string, decimals: number, language: string): number | undefined {
  const own = writingOf(language);
  const typed = text.trim();
  const digits = digitsOf(typed, own) ?? digitsOf(typed, { group: own.point, point: own.group });
  if (!digits || digits.behind.length > decimals) return undefined;
  const read = Number(digits.whole + digits.behind.padEnd(decimals, "0"));
  return Number.isSafeInteger(read) ? read : undefined;
}

/** An amount in minor units, by the rules of `readNumber`: `parseMoney("150.000", "VND", "vi")` is 150000. */
export function parseMoney(text: string, currency: string, language: string): number | undefined {
  return readNumber(text, decimalsOf(currency), language);
}

/** A whole number, by the rules of `readNumber`. */
export function parseCount(text: string, language: string): number | undefined {
  return readNumber(text, 0, language);
}

/** What a field shows of a number, for `readNumber` to read: `writeNumber(1234.5, "vi")` is 1234,5. */
export function writeNumber(value: number, language: string): string {
  return String(value).replace(".", writingOf(language).point);
}

/** What a number looks like in a language: `exampleOf(2, "vi")` is 1.234,50. */
export function exampleOf(decimals: number, language: string): string {
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return new Intl.NumberFormat(language, digits).format(decimals > 0 ? 1_234.5 : 1_234);
}
