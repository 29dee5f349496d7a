/** A rectangle upright to the axes. */
export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}
