/** Plans for tests of the editor's model, and choices of their seats. */
import { addBlock, type Block } from "../../src/admin/plan/model/build";
import { emptyPlan, type Plan, placesOf, type Point } from "../../src/admin/plan/model/document";

export const BLOCK: Block = {
  section: "Stalls",
  shape: "straight",
  rows: 3,
  seats: 10,
  growth: 0,
  seatGap: 25,
  rowGap: 30,
  x: 500,
  y: 100,
  radius: 200,
  angle: 0,
  category: "One",
};

export function hall(wish: Partial<Block> = {}): { plan: Plan; keys: Set<number> } {
  return addBlock(emptyPlan("Hall", "One"), { ...BLOCK, ...wish });
}

export function chosen(plan: Plan, is: (place: ReturnType<typeof placesOf>[number]) => boolean): Set<number> {
  return new Set(
    placesOf(plan)
      .filter(is)
      .map(({ key }) => key),
  );
}

/**
 * Where seat 1 and so on of a row stand: odd ones to the left, even ones to the right of a room in the middle
 * that is so many seats wide.
 */
export function oddAndEven(count: number, middle: number): Point[] {
  const place = (number: number) => (number % 2 === 1 ? -(number - 1) / 2 : number / 2 + middle);
  return Array.from({ length: count }, (_, nth) => ({ x: place(nth + 1), y: 0 }));
}

/** Numbers between 0 and 1, the same for a seed. */
export function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}
