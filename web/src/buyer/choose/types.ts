/** Ticket types as buyers choose them: what units of a pool, or seats, are bought as. */
import type { Category, Pool, TicketType, Wish } from "../../api/schema";
import { t } from "../../lib/i18n.svelte";

/** Units by the id of their type. */
export type Counts = Readonly<Record<string, number>>;

/** A type that units are chosen of. Where it is one of several categories, they may differ in its price. */
export interface OfferedType {
  id: string;
  name: string;
  proof: boolean;
  min: number;
  max?: number;
  fromMinor: number;
  toMinor: number;
}

type Types = readonly TicketType[];

/** The type of a unit: that of this id, or the first, of which units are that name none. */
export function typeOf(types: Types | undefined, id: string | undefined): TicketType | undefined {
  return types?.find((type) => type.id === id) ?? types?.[0];
}

/** What one unit costs of which nobody has named the type, fees and all. */
export function unitMinor(of: Pick<Pool | Category, "all_in_minor" | "types">): number {
  return of.types?.[0]?.all_in_minor ?? of.all_in_minor;
}

/**
 * The types that all of these have, each with the loosest of its bounds: who chooses does not know yet
 * whose.
 */
export function offeredTypes(lists: readonly (Types | undefined)[]): OfferedType[] {
  const [first = [], ...others] = lists;
  const offered: OfferedType[] = [];
  for (const { id, name } of first) {
    const all = [first, ...others].map((types) => types?.find((type) => type.id === id));
    const same = all.filter((type) => type !== undefined);
    if (same.length < all.length) continue;
    const prices = same.map((type) => type.all_in_minor);
    const most = same.map(({ max }) => max);
    offered.push({
      id,
      name,
      proof: same.some(({ proof }) => proof),
      min: Math.min(...same.map(({ min }) => min)),
      ...(most.every((max) => max !== undefined) && { max: Math.max(...most) }),
      fromMinor: Math.min(...prices),
      toMinor: Math.max(...prices),
    });
  }
  return offered;
}

/** The types that all seats have which the server may choose: those of one category, or of any. */
export function typesFor(categories: readonly Category[], category: string | undefined): OfferedType[] {
  const eligible = categories.filter(({ name }) => category === undefined || name === category);
  return offeredTypes(eligible.map(({ types }) => types));
}

export function sumOf(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** How many units of a type a booking may have, in words; empty where that is any number. */
export function limitText({ min, max }: Pick<OfferedType, "min" | "max">): string {
  if (min > 1 && max === min) return t("seats.type_exactly", { n: min });
  if (min > 1 && max !== undefined) return t("seats.type_between", { min, n: max });
  if (min > 1) return t("seats.type_at_least", { n: min });
  return max === undefined ? "" : t("seats.type_at_most", { n: max });
}

/** What there is to know of a type beside its price: how many, and whether proof is needed at the door. */
export function noteOf(type: Pick<OfferedType, "min" | "max" | "proof">): string {
  return [limitText(type), type.proof ? t("common.proof") : ""].filter((text) => text !== "").join(" · ");
}

/** The types of which a booking may not have so many units. */
export function outOfLimits<Type extends Pick<OfferedType, "id" | "min" | "max">>(
  types: readonly Type[] | undefined,
  counts: Counts,
): Type[] {
  const isOut = ({ id, min, max }: Type) => {
    const count = counts[id] ?? 0;
    return count > 0 && (count < min || (max !== undefined && count > max));
  };
  return types?.filter(isOut) ?? [];
}

/** So many units and no more: those that are too many are of the last types. */
export function atMost(counts: Counts, most: number): Counts {
  let left = most;
  const kept = Object.entries(counts).map(([id, count]) => {
    const taken = Math.min(count, left);
    left -= taken;
    return [id, taken] as const;
  });
  return Object.fromEntries(kept.filter(([, count]) => count > 0));
}

/** The same, in an order that does not depend on how it came about. */
export function sorted<Value>(of: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(of).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The wish, where the seats that it leaves to the server are of these types. */
export function withBestTypes(wish: Wish, best: Counts): Wish {
  if (Object.keys(best).length === 0) return wish;
  return { ...wish, types: { ...wish.types, best: sorted(best) } };
}
