/** What to offer to a buyer who cannot have the best seats that were asked for. */
import type { Refused } from "../../api/client";
import type { BestSeats } from "../../api/schema";

/** A wish that was refused for want of seats, and what there is of it. */
export interface Shortage {
  asked: BestSeats;
  free: number;
  /** How many are side by side; missing where there are too few altogether. */
  longest?: number;
}

export interface Offer {
  /** In two or more groups; fewer of them; or of any category and anywhere. */
  is: "split" | "fewer" | "wider";
  line: BestSeats;
}

/** Nobody is seated alone: four are the fewest that make two groups. */
export const LEAST_TO_SPLIT = 4;

/** The shortage that a refusal tells of; `undefined` if it is about something else. */
export function shortageOf(asked: BestSeats, refusal: Refused): Shortage | undefined {
  const free = Number(refusal.facts.free);
  if (refusal.code === "TOO_FEW_SEATS") return { asked, free };
  if (refusal.code === "TOO_FEW_ACCESSIBLE") return { asked, free };
  if (refusal.code === "NOT_TOGETHER") return { asked, free, longest: Number(refusal.facts.longest) };
  return undefined;
}

/** Whether there may be groups for so many of which each has two to `longest` seats. */
function maySplit(quantity: number, longest: number): boolean {
  return Math.floor(quantity / 2) * longest >= quantity;
}

/** Wishes near to the one that was refused, the nearest first. */
export function offersFor({ asked, free, longest }: Shortage): Offer[] {
  const offers: Offer[] = [];
  const isAccessible = (asked.accessible ?? 0) > 0;
  if (
    !isAccessible &&
    asked.together === "must" &&
    longest !== undefined &&
    maySplit(asked.quantity, longest)
  ) {
    offers.push({ is: "split", line: { ...asked, together: "prefer" } });
  }
  const fewer = longest ?? (isAccessible ? 0 : free);
  if (fewer > 0) offers.push({ is: "fewer", line: { ...asked, quantity: fewer } });
  if (asked.categories || asked.sections) {
    const { quantity, together, accessible } = asked;
    offers.push({ is: "wider", line: { quantity, together, ...(isAccessible && { accessible }) } });
  }
  return offers;
}
