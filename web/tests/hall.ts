/** A hall with a dear section and another, and what its seats are called. */
const SEATS_A_ROW = 6;

/** Two sections of two rows each: Floor, which is dear, and Balcony. Seats are called F-A-1 and so on. */
export function hall(): unknown {
  const section = (name: string, y: number) => ({
    name,
    position: { x: 0, y },
    rows: ["A", "B"].map((row, at) => ({
      row_number: row,
      position: { x: 0, y: 30 * at },
      seats: Array.from({ length: SEATS_A_ROW }, (_, seat) => ({
        seat_number: String(seat + 1),
        seat_guid: `${name[0]}-${row}-${seat + 1}`,
        position: { x: 25 * seat, y: 0 },
        category: name,
      })),
    })),
  });
  return {
    name: "Hall",
    categories: [
      { name: "Floor", color: "#aa3333" },
      { name: "Balcony", color: "#3366cc" },
    ],
    zones: [section("Floor", 0), section("Balcony", 200)],
    size: { width: 25 * SEATS_A_ROW + 25, height: 300 },
  };
}

/** Seats of a row, by their numbers. */
export const row = (name: string, ...numbers: number[]) => numbers.map((number) => `${name}-${number}`);

export const BALCONY = [...row("B-A", 1, 2, 3, 4, 5, 6), ...row("B-B", 1, 2, 3, 4, 5, 6)];
