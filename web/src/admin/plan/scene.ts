/** A plan laid out to be drawn and pointed at: computed once a change. No canvas here. */
import type { Box } from "../../lib/seatmap/box";
import { Grid } from "../../lib/seatmap/grid";
import { withAreas } from "../../lib/seatmap/house";
import { aislesOf } from "./model/arrange";
import { type AreaPlace, areasOf, type Place, type Plan, placesOf } from "./model/document";
import { drawnArea } from "./model/file";

export interface Scene {
  plan: Plan;
  seats: readonly Place[];
  areas: readonly AreaPlace[];
  /** What is drawn for each area, in their order. */
  drawn: ReturnType<typeof drawnArea>[];
  /** Keys of the seats that an aisle follows. */
  aisles: ReadonlySet<number>;
  /** Around the page and all that is drawn. */
  bounds: Box;
  /** Around what is drawn alone. */
  extent: Box;
  /** The ordinary distance between neighbours. */
  pitch: number;
  grid: Grid;
}

export function sceneOf(plan: Plan): Scene {
  const seats = placesOf(plan);
  const areas = areasOf(plan);
  const drawn = areas.map(({ area, x, y }) => drawnArea(area, x, y));
  const xs = Float32Array.from(seats, ({ x }) => x);
  const ys = Float32Array.from(seats, ({ y }) => y);
  const around = boxOf(seats) ?? boxOf(areas) ?? { left: 0, top: 0, right: 0, bottom: 0 };
  const grid = new Grid(xs, ys, around);
  const extent = withAreas(around, drawn);
  const { width, height } = plan.size;
  const bounds = {
    left: Math.min(0, extent.left),
    top: Math.min(0, extent.top),
    right: Math.max(width, extent.right),
    bottom: Math.max(height, extent.bottom),
  };
  return { plan, seats, areas, drawn, aisles: aislesOf(plan), bounds, extent, pitch: grid.pitch(), grid };
}

/** The seat or area at a point, or nearly there; seats lie on top. */
export function at(scene: Scene, x: number, y: number, reach: number): number | undefined {
  const seat = scene.grid.nearest(x, y, Math.max(scene.pitch * 0.5, reach));
  if (seat !== undefined) return scene.seats[seat]!.key;
  for (let nth = scene.areas.length - 1; nth >= 0; nth -= 1) {
    const box = withAreas(spotOf(scene.areas[nth]!), [scene.drawn[nth]!]);
    const words = scene.drawn[nth]!.outline ? 0 : (scene.drawn[nth]!.text?.size ?? 16);
    const isIn =
      x >= box.left - words && x <= box.right + words && y >= box.top - words && y <= box.bottom + words;
    if (isIn) return scene.areas[nth]!.key;
  }
  return undefined;
}

/** The keys of all that has its middle in a box. */
export function within(scene: Scene, box: Box): Set<number> {
  const keys = new Set<number>();
  scene.grid.each(box.left, box.top, box.right, box.bottom, (seat) => keys.add(scene.seats[seat]!.key));
  for (const [nth, place] of scene.areas.entries()) {
    const own = withAreas(spotOf(place), [scene.drawn[nth]!]);
    const isIn =
      own.left >= box.left && own.right <= box.right && own.top >= box.top && own.bottom <= box.bottom;
    if (isIn) keys.add(place.key);
  }
  return keys;
}

/** The box of one area. */
export function boxOfArea(scene: Scene, nth: number): Box {
  return withAreas(spotOf(scene.areas[nth]!), [scene.drawn[nth]!]);
}

function spotOf({ x, y }: { x: number; y: number }): Box {
  return { left: x, top: y, right: x, bottom: y };
}

function boxOf(points: readonly { x: number; y: number }[]): Box | undefined {
  if (points.length === 0) return undefined;
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const { x, y } of points) {
    box.left = Math.min(box.left, x);
    box.right = Math.max(box.right, x);
    box.top = Math.min(box.top, y);
    box.bottom = Math.max(box.bottom, y);
  }
  return box;
}
