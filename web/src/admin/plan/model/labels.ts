/** Labels of rows that are added to others: they go on where those end. */
import { letters } from "./number";

/** Labels after the last of these, none of which is among them; letters from A if it is of no order. */
export function* labelsAfter(there: readonly string[]): Generator<string, never> {
  const taken = new Set(there);
  const last = there.findLast((label) => label !== "") ?? "";
  const label = seriesOf(last);
  for (let nth = 1; ; nth += 1) {
    const next = label(nth);
    if (!taken.has(next)) yield next;
  }
}

/** What comes after a label: 12 after 11, C12 after C11, AA after Z, and b after a. */
function seriesOf(last: string): (nth: number) => string {
  const [, before = "", digits] = /^(.*?)(\d{1,9})$/.exec(last) ?? [];
  if (digits !== undefined) {
    return (nth) => before + String(Number(digits) + nth).padStart(digits.length, "0");
  }
  // Longer ones are words.
  const upper = /^[A-Za-z]{1,2}$/.test(last) ? last.toUpperCase() : "";
  const from = [...upper].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0);
  const isLower = upper !== "" && last === last.toLowerCase();
  return (nth) => (isLower ? letters(from + nth).toLowerCase() : letters(from + nth));
}
