/** Texts of a plan as the server takes them: names, words and colours. */

const MAX_TEXT_CHARS = 500;
const COLOUR = /^(#([0-9a-fA-F]{3}|[0-9a-fA-F]{4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})|[A-Za-z]{1,30})$/;
// What makes the letters around it run the other way (`Bidi_Control` of UAX #9), and half signs, of
// which no UTF-8 can be made.
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\p{Cs}]/u;
/** Characters of a name in a sentence, at most. */
const MAX_SHOWN_CHARS = 60;

export function isLong(text: string | undefined): boolean {
  // Signs beyond the first 65,536 are two in `length`.
  return text !== undefined && text.length > MAX_TEXT_CHARS && [...text].length > MAX_TEXT_CHARS;
}

/** Whether it has signs that do not show, and is not read as it is written. */
export function isTurned(text: string | undefined): boolean {
  return text !== undefined && TURNING.test(text);
}

/** Whether it says something: spaces alone do not. */
export function saysSomething(text: string): boolean {
  return !/^\p{White_Space}*$/u.test(text);
}

/** Whether it is a colour to the server, or none at all. */
export function isColour(text: string | null | undefined): boolean {
  return !text || COLOUR.test(text);
}

/** A name as a sentence can have it: not longer than the sentence, and without what would turn it. */
export function shown(name: string): string {
  const straight = name.replace(new RegExp(TURNING, "gu"), "");
  const signs = [...straight.slice(0, 4 * MAX_SHOWN_CHARS)];
  return signs.length > MAX_SHOWN_CHARS ? `${signs.slice(0, MAX_SHOWN_CHARS).join("")}…` : straight;
}
