/**
 * The convex outline of a section's seats, `margin` away from their middles. As x, y, x, y …,
 * clockwise on the screen.
 */
export function hullOf(
  x: Float32Array,
  y: Float32Array,
  seats: readonly number[],
  margin: number,
): Float32Array {
  const corners: [number, number][] = [];
  // Eight points around each seat are its disc, nearly; the hull of all of them is the rounded outline.
  const outer = outermost(x, y, seats);
  for (const seat of outer) {
    for (let turn = 0; turn < 8; turn += 1) {
      const angle = (turn * Math.PI) / 4;
      corners.push([x[seat]! + Math.cos(angle) * margin, y[seat]! + Math.sin(angle) * margin]);
    }
  }
  return Float32Array.from(chain(corners).flat());
}

/** The seats that are corners of the hull themselves. */
function outermost(x: Float32Array, y: Float32Array, seats: readonly number[]): number[] {
  const at = new Map<string, number>();
  const points = seats.map((seat): [number, number] => {
    at.set(`${x[seat]} ${y[seat]}`, seat);
    return [x[seat]!, y[seat]!];
  });
  return chain(points).map(([px, py]) => at.get(`${px} ${py}`)!);
}

/** Andrew's monotone chain. */
function chain(points: [number, number][]): [number, number][] {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  if (sorted.length < 3) return sorted;
  const half = (from: [number, number][]) => {
    const kept: [number, number][] = [];
    for (const point of from) {
      while (kept.length >= 2 && turn(kept[kept.length - 2]!, kept[kept.length - 1]!, point) <= 0) kept.pop();
      kept.push(point);
    }
    kept.pop();
    return kept;
  };
  return [...half(sorted), ...half(sorted.reverse())];
}

function turn(a: [number, number], b: [number, number], c: [number, number]): number {
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

/** Whether a point is inside of an outline. */
export function isInside(hull: Float32Array, x: number, y: number): boolean {
  let isIn = false;
  const n = hull.length / 2;
  for (let i = 0, j = n - 1; i < n; j = i, i += 1) {
    const [xi, yi, xj, yj] = [hull[2 * i]!, hull[2 * i + 1]!, hull[2 * j]!, hull[2 * j + 1]!];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) isIn = !isIn;
  }
  return isIn;
}

/** How wide something may be that has its middle here and stays inside of an outline. */
export function widthAt(hull: Float32Array, x: number, y: number): number {
  let left = Infinity;
  let right = Infinity;
  const n = hull.length / 2;
  for (let i = 0, j = n - 1; i < n; j = i, i += 1) {
    const [xi, yi, xj, yj] = [hull[2 * i]!, hull[2 * i + 1]!, hull[2 * j]!, hull[2 * j + 1]!];
    if (yi > y === yj > y) continue;
    const crossing = ((xj - xi) * (y - yi)) / (yj - yi) + xi;
    if (crossing < x) left = Math.min(left, x - crossing);
    else right = Math.min(right, crossing - x);
  }
  const half = Math.min(left, right);
  return Number.isFinite(half) ? half * 2 : 0;
}
