/** What seats are: their category, how good they are, and for whom. */
import { KEY, type Keys, mapSeats, type Plan, placesOf, type Seat, textOf, without } from "./document";

export type Trait = "wheelchair" | "easy_access" | "restricted_view";
export const TRAITS: readonly Trait[] = ["wheelchair", "easy_access", "restricted_view"];
export const MAX_RANK = 1_000_000;

export function isRank(rank: number): boolean {
  return Number.isInteger(rank) && rank >= 0 && rank <= MAX_RANK;
}

export function setCategory(plan: Plan, keys: Keys, category: string): Plan {
  return mapSeats(plan, keys, (seat) => (seat.category === category ? seat : { ...seat, category }));
}

/** The lower, the better; none leaves it to the server, which ranks by the drawing. */
export function setRank(plan: Plan, keys: Keys, rank: number | undefined): Plan {
  return mapSeats(plan, keys, (seat) => {
    if (rank === undefined) return seat.rank === undefined ? seat : without(seat, "rank");
    return seat.rank === rank ? seat : { ...seat, rank };
  });
}

export function setTrait(plan: Plan, keys: Keys, trait: Trait, is: boolean): Plan {
  const marked = mapSeats(plan, keys, (seat) => {
    if ((seat[trait] ?? false) === is) return seat;
    if (!is) return without(seat, trait);
    // Nobody's place is somebody else's companion's.
    const alone = trait === "wheelchair" ? (without(seat, "companion_of") as Seat) : seat;
    return { ...alone, [trait]: true };
  });
  if (trait !== "wheelchair" || is) return marked;
  const gone = new Set<string>();
  for (const { key, seat } of placesOf(plan)) if (keys.has(key)) gone.add(seat.seat_guid);
  const companions = placesOf(marked).filter(({ seat }) => seat.companion_of && gone.has(seat.companion_of));
  return setCompanion(marked, new Set(companions.map(({ key }) => key)), undefined);
}

/** Keeps these seats for whoever is with a wheelchair place, by its id; none frees them. */
export function setCompanion(plan: Plan, keys: Keys, place: string | undefined): Plan {
  return mapSeats(plan, keys, (seat) => {
    if (place === undefined) {
      return seat.companion_of === undefined ? seat : without(seat, "companion_of");
    }
    if (seat.companion_of === place || seat.seat_guid === place) return seat;
    return { ...(without(seat, "wheelchair") as Seat), companion_of: place };
  });
}

/** Keeps each chosen seat for the wheelchair place nearest to it; as it was if there is none. */
export function joinNearest(plan: Plan, keys: Keys): Plan {
  const wheelchairs = placesOf(plan).filter(({ key, seat }) => seat.wheelchair && !keys.has(key));
  if (wheelchairs.length === 0) return plan;
  const nearest = new Map<number, string>();
  for (const { key, x, y } of placesOf(plan)) {
    if (!keys.has(key)) continue;
    const far = (place: { x: number; y: number }) => Math.hypot(place.x - x, place.y - y);
    const found = wheelchairs.reduce((best, place) => (far(place) < far(best) ? place : best));
    nearest.set(key, found.seat.seat_guid);
  }
  let joined = plan;
  for (const place of new Set(nearest.values())) {
    const its = [...nearest].filter(([, id]) => id === place).map(([key]) => key);
    joined = setCompanion(joined, new Set(its), place);
  }
  return joined;
}

/** What these seats have in common: `undefined` where they differ. */
export interface Common {
  count: number;
  category: string | undefined;
  /** `null` if all of them leave it to the server. */
  rank: number | null | undefined;
  row: string | undefined;
  section: string | undefined;
  companionOf: string | null | undefined;
  traits: Record<Trait, boolean | undefined>;
}

export function commonOf(plan: Plan, keys: Keys): Common {
  const chosen = placesOf(plan).filter(({ key }) => keys.has(key));
  const same = <T>(of: (place: (typeof chosen)[number]) => T): T | undefined => {
    const values = new Set(chosen.map(of));
    return values.size === 1 ? [...values][0] : undefined;
  };
  return {
    count: chosen.length,
    category: same(({ seat }) => seat.category ?? ""),
    rank: same(({ seat }) => seat.rank ?? null),
    row: same(({ row }) => textOf(row.row_number)),
    section: same(({ zone }) => zone.name ?? ""),
    companionOf: same(({ seat }) => seat.companion_of ?? null),
    traits: {
      wheelchair: same(({ seat }) => seat.wheelchair ?? false),
      easy_access: same(({ seat }) => seat.easy_access ?? false),
      restricted_view: same(({ seat }) => seat.restricted_view ?? false),
    },
  };
}

/** The keys of all seats in the rows, or in the sections, of the chosen ones. */
export function widened(plan: Plan, keys: Keys, to: "row" | "zone"): Set<number> {
  const all = new Set<number>();
  const holders = new Set<number>();
  for (const place of placesOf(plan)) if (keys.has(place.key)) holders.add(place[to][KEY]);
  for (const place of placesOf(plan)) if (holders.has(place[to][KEY])) all.add(place.key);
  return all;
}
