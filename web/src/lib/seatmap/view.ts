/** Which part of the house is seen: sums only, no canvas. */
import type { Box } from "./box";

/** A point of the house is at `(x - left) * scale` on the map, in CSS pixels. */
export interface View {
  left: number;
  top: number;
  scale: number;
}

export interface Extent {
  bounds: Box;
  /** Between neighbours. */
  pitch: number;
}

/** Neighbours are at most so far apart on the map, in CSS pixels. */
export const NEAREST_PX = 56;
/** A small house is not blown up beyond this when it is first shown. */
const FIRST_PX = 40;

/** The whole house, in the middle. */
export function fit({ bounds, pitch }: Extent, width: number, height: number): View {
  const houseWidth = bounds.right - bounds.left + pitch * 2.5;
  const houseHeight = bounds.bottom - bounds.top + pitch * 2.5;
  const scale = Math.min(width / houseWidth, height / houseHeight, FIRST_PX / pitch);
  return centred((bounds.left + bounds.right) / 2, (bounds.top + bounds.bottom) / 2, scale, width, height);
}

/** This point in the middle of the map. */
export function centred(x: number, y: number, scale: number, width: number, height: number): View {
  return { left: x - width / 2 / scale, top: y - height / 2 / scale, scale };
}

/** This box as large as it goes. */
export function around(box: Box, extent: Extent, width: number, height: number): View {
  const scale = Math.min(
    width / (box.right - box.left + extent.pitch * 2),
    height / (box.bottom - box.top + extent.pitch * 2),
    FIRST_PX / extent.pitch,
  );
  return centred((box.left + box.right) / 2, (box.top + box.bottom) / 2, scale, width, height);
}

/** Nearer by `factor`; what is at this point of the map stays there. */
export function zoomed(view: View, factor: number, atX: number, atY: number): View {
  const scale = view.scale * factor;
  return {
    left: view.left + atX / view.scale - atX / scale,
    top: view.top + atY / view.scale - atY / scale,
    scale,
  };
}

export function moved(view: View, byX: number, byY: number): View {
  return { ...view, left: view.left - byX / view.scale, top: view.top - byY / view.scale };
}

/**
 * Nobody gets lost: not farther away than the whole house, not nearer than makes sense, and always
 * some of it in sight.
 */
export function kept(view: View, extent: Extent, width: number, height: number): View {
  const farthest = fit(extent, width, height).scale * 0.9;
  const nearest = Math.max(NEAREST_PX / extent.pitch, farthest);
  const scale = Math.min(nearest, Math.max(farthest, view.scale));
  const clamped = scale === view.scale ? view : zoomed(view, scale / view.scale, width / 2, height / 2);
  const { bounds } = extent;
  const midX = clamped.left + width / 2 / scale;
  const midY = clamped.top + height / 2 / scale;
  const x = Math.min(bounds.right, Math.max(bounds.left, midX));
  const y = Math.min(bounds.bottom, Math.max(bounds.top, midY));
  return centred(x, y, scale, width, height);
}
