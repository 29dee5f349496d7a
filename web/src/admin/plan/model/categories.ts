/** Price categories: their order counts, as seats of the first are ranked best. */
import { COLOURS, mapSeats, type Plan, placesOf } from "./document";

/** Adds one with a colour of its own; a name that is there already is none. */
export function addCategory(plan: Plan, name: string): Plan {
  if (name === "" || plan.categories.some((category) => category.name === name)) return plan;
  const color = COLOURS[plan.categories.length % COLOURS.length]!;
  return { ...plan, categories: [...plan.categories, { name, color }] };
}

/** Calls one something else, and its seats with it; a name that another has is refused by no change. */
export function renameCategory(plan: Plan, from: string, to: string): Plan {
  if (from === to || to === "" || plan.categories.some(({ name }) => name === to)) return plan;
  const categories = plan.categories.map((it) => (it.name === from ? { ...it, name: to } : it));
  const keys = new Set(
    placesOf(plan)
      .filter(({ seat }) => seat.category === from)
      .map(({ key }) => key),
  );
  return mapSeats({ ...plan, categories }, keys, (seat) => ({ ...seat, category: to }));
}

export function colourCategory(plan: Plan, name: string, color: string): Plan {
  const categories = plan.categories.map((it) =>
    it.name === name && it.color !== color ? { ...it, color } : it,
  );
  return categories.some((it, nth) => it !== plan.categories[nth]) ? { ...plan, categories } : plan;
}

/** Takes out one that no seat is in. */
export function removeCategory(plan: Plan, name: string): Plan {
  if (placesOf(plan).some(({ seat }) => seat.category === name)) return plan;
  const categories = plan.categories.filter((it) => it.name !== name);
  return categories.length === plan.categories.length ? plan : { ...plan, categories };
}

/** One place nearer to the first. */
export function raiseCategory(plan: Plan, name: string): Plan {
  const at = plan.categories.findIndex((it) => it.name === name);
  if (at <= 0) return plan;
  const categories = [...plan.categories];
  [categories[at - 1], categories[at]] = [categories[at]!, categories[at - 1]!];
  return { ...plan, categories };
}
