/**
 * Where seats are: cells of equal size, so that what is on the screen is found without looking at
 * the rest.
 */
import type { Box } from "./box";

const SEATS_PER_CELL = 12;

export class Grid {
  readonly #x: Float32Array;
  readonly #y: Float32Array;
  readonly #left: number;
  readonly #top: number;
  readonly #side: number;
  readonly #columns: number;
  readonly #rows: number;
  /** Cell c has the seats `#seats[#starts[c]]` up to before `#seats[#starts[c + 1]]`. */
  readonly #starts: Uint32Array;
  readonly #seats: Uint32Array;

  constructor(x: Float32Array, y: Float32Array, bounds: Box) {
    this.#x = x;
    this.#y = y;
    this.#left = bounds.left;
    this.#top = bounds.top;
    const width = bounds.right - bounds.left;
    const height = bounds.bottom - bounds.top;
    // A single row has no area: its length decides then.
    const area = Math.max(
      width * height,
      (Math.max(width, height, 1) ** 2 * SEATS_PER_CELL) / Math.max(1, x.length),
    );
    this.#side = Math.sqrt((area * SEATS_PER_CELL) / Math.max(1, x.length)) || 1;
    this.#columns = Math.floor(width / this.#side) + 1;
    this.#rows = Math.floor(height / this.#side) + 1;
    this.#starts = new Uint32Array(this.#columns * this.#rows + 1);
    this.#seats = new Uint32Array(x.length);
    for (let seat = 0; seat < x.length; seat += 1) this.#starts[this.#cellOf(seat) + 1]! += 1;
    for (let cell = 1; cell < this.#starts.length; cell += 1) this.#starts[cell]! += this.#starts[cell - 1]!;
    const next = this.#starts.slice();
    for (let seat = 0; seat < x.length; seat += 1) {
      const cell = this.#cellOf(seat);
      this.#seats[next[cell]!] = seat;
      next[cell]! += 1;
    }
  }

  /** Calls `visit` with each seat whose middle is in this box. */
  each(left: number, top: number, right: number, bottom: number, visit: (seat: number) => void): void {
    const fromColumn = Math.max(0, Math.floor((left - this.#left) / this.#side));
    const toColumn = Math.min(this.#columns - 1, Math.floor((right - this.#left) / this.#side));
    const fromRow = Math.max(0, Math.floor((top - this.#top) / this.#side));
    const toRow = Math.min(this.#rows - 1, Math.floor((bottom - this.#top) / this.#side));
    for (let row = fromRow; row <= toRow; row += 1) {
      const first = row * this.#columns;
      for (let cell = first + fromColumn; cell <= first + toColumn; cell += 1) {
        for (let at = this.#starts[cell]!; at < this.#starts[cell + 1]!; at += 1) {
          const seat = this.#seats[at]!;
          const x = this.#x[seat]!;
          const y = this.#y[seat]!;
          if (x >= left && x <= right && y >= top && y <= bottom) visit(seat);
        }
      }
    }
  }

  /** The seat nearest to a point, if one is within `reach`. */
  nearest(x: number, y: number, reach: number): number | undefined {
    let found: number | undefined;
    let best = reach * reach;
    this.each(x - reach, y - reach, x + reach, y + reach, (seat) => {
      const distance = (this.#x[seat]! - x) ** 2 + (this.#y[seat]! - y) ** 2;
      if (distance > best) return;
      best = distance;
      found = seat;
    });
    return found;
  }

  /** The ordinary distance between neighbours: the middle one of a sample. */
  pitch(): number {
    const distances: number[] = [];
    const step = Math.max(1, Math.floor(this.#x.length / 300));
    for (let seat = 0; seat < this.#x.length; seat += step) {
      const x = this.#x[seat]!;
      const y = this.#y[seat]!;
      let best = Infinity;
      const reach = this.#side * 1.5;
      this.each(x - reach, y - reach, x + reach, y + reach, (other) => {
        if (other === seat) return;
        const distance = Math.hypot(this.#x[other]! - x, this.#y[other]! - y);
        if (distance > 0 && distance < best) best = distance;
      });
      if (best < Infinity) distances.push(best);
    }
    distances.sort((a, b) => a - b);
    return distances[distances.length >> 1] ?? 25;
  }

  #cellOf(seat: number): number {
    const column = Math.floor((this.#x[seat]! - this.#left) / this.#side);
    const row = Math.floor((this.#y[seat]! - this.#top) / this.#side);
    return Math.min(this.#rows - 1, row) * this.#columns + Math.min(this.#columns - 1, column);
  }
}
