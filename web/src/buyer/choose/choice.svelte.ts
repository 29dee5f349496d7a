/** What a buyer has chosen and not held yet. It survives a reload, in this tab. */
import type { Wish } from "../../api/schema";

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
  /** Missing in what an older page stored. */
  orOthers?: boolean;
}

export class Choice {
  readonly #name: string;
  #seats = $state.raw<readonly string[]>([]);
  #pools = $state.raw<Readonly<Record<string, number>>>({});
  #stays = $state.raw<readonly StayWish[]>([]);
  #orOthers = $state(true);

  constructor(event: string) {
    this.#name = `onrush.choice.${event}`;
    try {
      const stored = JSON.parse(sessionStorage.getItem(this.#name) ?? "null") as Stored | null;
      this.#seats = stored?.seats ?? [];
      this.#pools = stored?.pools ?? {};
      this.#stays = stored?.stays ?? [];
      this.#orOthers = stored?.orOthers ?? true;
    } catch {
      // What cannot be read is no choice.
    }
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
    const places = Object.values(this.#pools).reduce((sum, count) => sum + count, 0);
    const nights = this.#stays.reduce((sum, stay) => sum + stay.nights * stay.rooms, 0);
    return this.#seats.length + places + nights;
  }

  /** The request's body, the same text for the same choice. */
  get wish(): Wish {
    const pools = Object.fromEntries(Object.entries(this.#pools).sort(([a], [b]) => (a < b ? -1 : 1)));
    const wish: Wish = {};
    if (Object.keys(pools).length > 0) wish.pools = pools;
    if (this.#seats.length > 0) wish.seats = [...this.#seats].sort();
    if (this.#stays.length > 0) {
      wish.stays = this.#stays.map(({ kind, from, nights, rooms }) => ({ pool: kind, from, nights, rooms }));
    }
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

  setPool(pool: string, count: number): void {
    const pools = { ...this.#pools };
    if (count > 0) pools[pool] = count;
    else delete pools[pool];
    this.#pools = pools;
    this.#keep();
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
    this.#keep();
  }

  #keep(): void {
    const stored: Stored = {
      seats: [...this.#seats],
      pools: { ...this.#pools },
      stays: [...this.#stays],
      orOthers: this.#orOthers,
    };
    sessionStorage.setItem(this.#name, JSON.stringify(stored));
  }
}
