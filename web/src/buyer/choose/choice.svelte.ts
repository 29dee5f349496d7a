/** What a buyer has chosen and not held yet. It survives a reload, in this tab. */
import type { Category, Pool, TicketType, Wish } from "../../api/schema";
import type { House } from "../../lib/seatmap/house";
import { tabStore } from "../../lib/store";
import { type Stock, termsOf } from "./stock";
import { type Counts, outOfLimits, sorted, sumOf, typeOf } from "./types";

export interface StayWish {
  /** The kind of room: the part of its pools' names before the date. */
  kind: string;
  from: string;
  nights: number;
  rooms: number;
}

interface Stored {
  seats: string[];
  pools: Record<string, number>;
  stays: StayWish[];
  /** Missing in what an older page stored, like those below. */
  orOthers?: boolean;
  seatTypes?: Record<string, string>;
  poolTypes?: Record<string, Counts>;
}

export class Choice {
  readonly #name: string;
  #seats = $state.raw<readonly string[]>([]);
  #pools = $state.raw<Readonly<Record<string, number>>>({});
  #stays = $state.raw<readonly StayWish[]>([]);
  #seatTypes = $state.raw<Readonly<Record<string, string>>>({});
  #poolTypes = $state.raw<Readonly<Record<string, Counts>>>({});
  #orOthers = $state(true);

  constructor(event: string) {
    this.#name = `onrush.choice.${event}`;
    const stored = tabStore.read<Stored>(this.#name);
    this.#seats = stored?.seats ?? [];
    this.#pools = stored?.pools ?? {};
    this.#stays = stored?.stays ?? [];
    this.#orOthers = stored?.orOthers ?? true;
    this.#seatTypes = stored?.seatTypes ?? {};
    this.#poolTypes = stored?.poolTypes ?? {};
  }

  /** Seats by id, in the order they were chosen. */
  get seats(): readonly string[] {
    return this.#seats;
  }
  get pools(): Readonly<Record<string, number>> {
    return this.#pools;
  }
  get stays(): readonly StayWish[] {
    return this.#stays;
  }

  /** Of each chosen seat the type that was named for it; the others are of the first of their category. */
  get seatTypes(): Readonly<Record<string, string>> {
    const named = this.#seats.flatMap((seat) => {
      const type = this.#seatTypes[seat];
      return type === undefined ? [] : [[seat, type] as const];
    });
    return sorted(Object.fromEntries(named));
  }
  /** Of each pool that has types, how many units of each. */
  get poolTypes(): Readonly<Record<string, Counts>> {
    return this.#poolTypes;
  }

  /** Whether other seats are better than none, if somebody was faster. */
  get orOthers(): boolean {
    return this.#orOthers;
  }
  set orOthers(orOthers: boolean) {
    this.#orOthers = orOthers;
    this.#keep();
  }

  /** As the limit per person counts: seats, places and room nights. */
  get units(): number {
    const places = sumOf(this.#pools);
    const nights = this.#stays.reduce((sum, stay) => sum + stay.nights * stay.rooms, 0);
    return this.#seats.length + places + nights;
  }

  /** The request's body, the same text for the same choice. */
  get wish(): Wish {
    const pools = sorted(this.#pools);
    const wish: Wish = {};
    if (Object.keys(pools).length > 0) wish.pools = pools;
    if (this.#seats.length > 0) wish.seats = [...this.#seats].sort();
    if (this.#stays.length > 0) {
      wish.stays = this.#stays.map(({ kind, from, nights, rooms }) => ({ pool: kind, from, nights, rooms }));
    }
    const types: Wish["types"] = {};
    if (Object.keys(this.#poolTypes).length > 0) {
      const counts = Object.entries(this.#poolTypes).map(([pool, counts]) => [pool, sorted(counts)] as const);
      types.pools = sorted(Object.fromEntries(counts));
    }
    if (Object.keys(this.seatTypes).length > 0) types.seats = this.seatTypes;
    if (Object.keys(types).length > 0) wish.types = types;
    return wish;
  }

  takeSeats(seats: readonly string[]): void {
    this.#seats = [...new Set(seats)];
    this.#keep();
  }

  toggleSeat(seat: string): void {
    const isChosen = this.#seats.includes(seat);
    this.takeSeats(isChosen ? this.#seats.filter((other) => other !== seat) : [...this.#seats, seat]);
  }

  /** The type that was named for a seat, chosen now or before. */
  namedType(seat: string): string | undefined {
    return this.#seatTypes[seat];
  }

  /** Names the type of a seat; `undefined` is the first of its category. It stays with the seat's name. */
  setSeatType(seat: string, type: string | undefined): void {
    const others = without(this.#seatTypes, seat);
    this.#seatTypes = type === undefined ? others : { ...others, [seat]: type };
    this.#keep();
  }

  /** So many units of a pool that has no types. */
  setPool(pool: string, count: number): void {
    this.#poolTypes = without(this.#poolTypes, pool);
    this.#setPool(pool, count);
  }

  /** So many units of each type of a pool. */
  setPoolTypes(pool: string, counts: Counts): void {
    const typed = without(this.#poolTypes, pool);
    const units = sumOf(counts);
    this.#poolTypes = units > 0 ? { ...typed, [pool]: counts } : typed;
    this.#setPool(pool, units);
  }

  #setPool(pool: string, count: number): void {
    const pools = without(this.#pools, pool);
    this.#pools = count > 0 ? { ...pools, [pool]: count } : pools;
    this.#keep();
  }

  /** Forgets what is not on sale: what was chosen before a reload may not be there any more. */
  tidy(house: House | undefined, stock: Stock): void {
    this.takeSeats(this.#seats.filter((id) => house?.indexOf(id) !== undefined));
    for (const id of Object.keys(this.#pools)) {
      if (!stock.others.some(({ pool }) => pool === id)) this.setPool(id, 0);
    }
    for (const stay of this.#stays) {
      const kind = stock.kinds.find(({ name }) => name === stay.kind);
      if (!kind || !termsOf(kind, stay.from, stay.nights)) this.removeStay(stay);
    }
  }

  /**
   * Forgets types that there are no more: units of pools with them, and the names of seats, which are
   * of the first type then. Tells whether anything was forgotten.
   */
  tidyTypes(pools: readonly Pool[], categoryOf: (seat: string) => Category | undefined): boolean {
    let isOther = false;
    for (const { pool, types } of pools) {
      const counts = this.#poolTypes[pool];
      const units = this.#pools[pool] ?? 0;
      if (units === 0 || (!types && !counts)) continue;
      if (!types) {
        this.setPool(pool, units);
      } else if (!counts) {
        this.setPoolTypes(pool, { [types[0]!.id]: units });
      } else {
        const known = Object.entries(counts).filter(([id]) => types.some((type) => type.id === id));
        if (known.length === Object.keys(counts).length) continue;
        this.setPoolTypes(pool, Object.fromEntries(known));
      }
      isOther = true;
    }
    for (const [seat, named] of Object.entries(this.seatTypes)) {
      const category = categoryOf(seat);
      if (!category || category.types?.some(({ id }) => id === named)) continue;
      this.setSeatType(seat, undefined);
      isOther = true;
    }
    return isOther;
  }

  /** Types of which a booking may not have as many units as are chosen. */
  outOfLimits(
    pools: readonly Pool[],
    categories: readonly Category[],
    categoryOf: (seat: string) => Category | undefined,
  ): TicketType[] {
    const ofPools = pools.flatMap(({ pool, types }) => outOfLimits(types, this.#poolTypes[pool] ?? {}));
    const ofSeats = categories.flatMap(({ name, types }) => {
      const here = this.#seats.filter((id) => categoryOf(id)?.name === name);
      const ids = here.map((id) => typeOf(types, this.#seatTypes[id])?.id ?? "");
      const counts = ids.map((id) => [id, ids.filter((other) => other === id).length] as const);
      return outOfLimits(types, Object.fromEntries(counts));
    });
    return [...ofPools, ...ofSeats];
  }

  addStay(stay: StayWish): void {
    const same = (other: StayWish) =>
      other.kind === stay.kind && other.from === stay.from && other.nights === stay.nights;
    const before = this.#stays.find(same);
    const rooms = stay.rooms + (before?.rooms ?? 0);
    this.#stays = [...this.#stays.filter((other) => !same(other)), { ...stay, rooms }];
    this.#keep();
  }

  removeStay(stay: StayWish): void {
    this.#stays = this.#stays.filter((other) => other !== stay);
    this.#keep();
  }

  clear(): void {
    this.#seats = [];
    this.#pools = {};
    this.#stays = [];
    this.#seatTypes = {};
    this.#poolTypes = {};
    this.#keep();
  }

  #keep(): void {
    const stored: Stored = {
      seats: [...this.#seats],
      pools: { ...this.#pools },
      stays: [...this.#stays],
      orOthers: this.#orOthers,
      seatTypes: { ...this.#seatTypes },
      poolTypes: { ...this.#poolTypes },
    };
    tabStore.write(this.#name, stored);
  }
}

function without<Value>(of: Readonly<Record<string, Value>>, name: string): Record<string, Value> {
  return Object.fromEntries(Object.entries(of).filter(([other]) => other !== name));
}
