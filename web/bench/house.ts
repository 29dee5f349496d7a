/** A house made up for measurements: sections in rings around a stage, as an arena's are. */
import { House, type SeatLike, type Status } from "../src/lib/seatmap/house";

const CATEGORIES = [
  { name: "Front", color: "#b3261e", priceMinor: 14_500 },
  { name: "Middle", color: "#2f6fb0", priceMinor: 9_500 },
  { name: "Back", color: "#3f9a6b", priceMinor: 4_500 },
];
const PITCH = 25;
const ROWS_PER_SECTION = 20;

/** So many seats; every third is held, sold or blocked. */
export function bigHouse(count: number): House {
  const seats: SeatLike[] = [];
  for (let ring = 0; seats.length < count; ring += 1) {
    const inner = 900 + ring * (ROWS_PER_SECTION + 4) * PITCH;
    const sections = 10 + 6 * ring;
    for (let section = 0; section < sections; section += 1) {
      for (let row = 0; row < ROWS_PER_SECTION; row += 1) {
        const radius = inner + row * PITCH;
        const wide = Math.floor(((2 * Math.PI) / sections) * radius - 2.5 * PITCH);
        const places = Math.floor(wide / PITCH);
        for (let place = 0; place < places && seats.length < count; place += 1) {
          const angle = (section / sections) * 2 * Math.PI + ((place + 1.5) * PITCH) / radius;
          const name = `${ring + 1}${String(section + 1).padStart(2, "0")}`;
          seats.push({
            id: `${name}-${row}-${place}`,
            section: `Section ${name}`,
            row: String(row + 1),
            number: String(place + 1),
            category: CATEGORIES[Math.min(ring, 2)]!.name,
            x: Math.cos(angle) * radius,
            y: Math.sin(angle) * radius,
            status: statusOf(seats.length),
          });
        }
      }
    }
  }
  return new House(seats, CATEGORIES);
}

function statusOf(seat: number): Status {
  const at = (seat * 2_654_435_761) % 2 ** 32;
  return (["free", "free", "free", "free", "free", "free", "held", "sold", "sold", "blocked"] as const)[
    Math.floor((at / 2 ** 32) * 10)
  ]!;
}
