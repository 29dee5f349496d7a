/** Colours for the canvas, which cannot read CSS variables by itself. */

export type Rgb = readonly [red: number, green: number, blue: number];

/** The page's colours as the canvas needs them, in light or dark. */
export interface Palette {
  paper: Rgb;
  ink: Rgb;
  muted: Rgb;
  line: Rgb;
  accent: Rgb;
  onAccent: Rgb;
  warn: Rgb;
}

/** Reads the theme where this element is. Variables with `light-dark()` come out only as a colour in use. */
export function paletteOf(element: HTMLElement): Palette {
  const probe = element.appendChild(document.createElement("span"));
  const read = (variable: string): Rgb => {
    probe.style.color = `var(${variable})`;
    return parsed(getComputedStyle(probe).color);
  };
  const palette = {
    paper: read("--card"),
    ink: read("--ink"),
    muted: read("--muted"),
    line: read("--line"),
    accent: read("--accent"),
    onAccent: read("--on-accent"),
    warn: read("--warn"),
  };
  probe.remove();
  return palette;
}

let canvas: CanvasRenderingContext2D | null | undefined;

/** What any CSS colour is in red, green and blue; grey if it is none. */
export function rgbOf(color: string): Rgb {
  canvas ??= document.createElement("canvas").getContext("2d");
  if (!canvas) return [128, 128, 128];
  canvas.fillStyle = "#808080";
  canvas.fillStyle = color;
  return parsed(canvas.fillStyle);
}

function parsed(color: string): Rgb {
  if (color.startsWith("#")) {
    const value = parseInt(color.slice(1, 7), 16);
    return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
  }
  const [red = 128, green = 128, blue = 128] = (color.match(/[\d.]+/g) ?? []).map(Number);
  return [red, green, blue];
}

export function css([red, green, blue]: Rgb): string {
  return `rgb(${Math.round(red)},${Math.round(green)},${Math.round(blue)})`;
}

/** `share` of `b` in `a`. */
export function mixed(a: Rgb, b: Rgb, share: number): Rgb {
  return [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share];
}

/** WCAG's relative luminance. */
function luminance(color: Rgb): number {
  const [red, green, blue] = color.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

export function contrast(a: Rgb, b: Rgb): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light! + 0.05) / (dark! + 0.05);
}

/** An organiser's colour, moved towards the ink until it can be told from the paper (3 to 1, WCAG 1.4.11). */
export function visible(color: Rgb, palette: Palette): Rgb {
  for (let share = 0; share < 1; share += 0.1) {
    const tried = mixed(color, palette.ink, share);
    if (contrast(tried, palette.paper) >= 3) return tried;
  }
  return palette.ink;
}

/** Black or white, whichever is easier to read on this. */
export function inkOn(color: Rgb): string {
  return contrast(color, [255, 255, 255]) >= contrast(color, [0, 0, 0]) ? "#fff" : "#000";
}
