/** How a ticket is shown: where the camera has it, and whether its bearer still stands there. */

/** A ticket still in the picture is not shown again; one that comes back after this is. */
const GONE_MS = 3_000;
/** After this without it, the answer is not about who stands there now. */
const AWAY_MS = 800;

export interface Sight {
  code: string;
  /** When it was seen last or, if it was not seen, when its answer came. */
  at: number;
  /** `unseen` was typed in; `back` is in the picture once more after it was `away`. */
  place: "unseen" | "there" | "away" | "back";
  /** Whether it was typed in once more before its answer came. */
  isTypedTwice?: boolean;
}

/** A ticket that the camera need not see: somebody typed it in, or has a hand scanner. */
export function typedIn(code: string, at: number): Sight {
  return { code, at, place: "unseen" };
}

/** The same typed in once more, before its answer came. */
export function typedAgain(sight: Sight): Sight {
  return { ...sight, isTypedTwice: true };
}

/** The same after a look at the picture, with a code in it or none. */
export function looked(sight: Sight, code: string | undefined, at: number): Sight {
  const { place } = sight;
  if (code === sight.code) {
    const wasAway = place === "away" || place === "back";
    return { ...sight, at, place: wasAway ? "back" : "there" };
  }
  if (place === "unseen" || at - sight.at < AWAY_MS) return sight;
  return { ...sight, place: "away" };
}

/**
 * The same once its answer is told. Whoever was not in the picture then had not heard it: their 3 s begin
 * with it.
 */
export function answered(sight: Sight, at: number): Sight {
  const { code, place } = sight;
  if (place === "there") return { code, at: sight.at, place };
  return { code, at, place: place === "back" ? "there" : place };
}

/** Whether it was shown twice before its answer came: by one person, or by two. */
export function isShownTwice({ place, isTypedTwice }: Sight): boolean {
  return place === "back" || isTypedTwice === true;
}

/** Whether this code is the same ticket's, so soon after it that the server is not asked again. */
export function isStill(sight: Sight, code: string, at: number): boolean {
  return code === sight.code && at - sight.at < GONE_MS;
}
