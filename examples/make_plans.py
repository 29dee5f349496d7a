#!/usr/bin/env python3
"""Draws the two example seating plans, theatre.json and arena.json, in the pretix seating-plan format.

Run it from anywhere: `python3 examples/make_plans.py` rewrites both files next to it, byte for byte the same each
time. It needs nothing but Python's standard library.

Units are those of the format: a seat is a disc of radius 10, the stage is at the top, y points down. Positions add up:
a seat's is relative to its row, a row's to its zone. In rows that face the stage numbers rise from left to right; in
the bowl of the arena they run on clockwise, as the sections do.
"""

import json
import math
from pathlib import Path

SEAT_PITCH = 25  # between the middles of neighbouring seats
# Houses leave out I and O, which look like 1 and 0 on a ticket.
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"


class Zone:
    """One part of the house: rows of seats, and areas that are only drawn."""

    def __init__(self, name, prefix, x, y):
        self.name, self.prefix, self.x, self.y = name, prefix, x, y
        self.rows, self.areas = [], []

    def row(self, label, seats):
        """Adds a row; `seats` are (number, x, y, category) on the whole plan, in the order they stand."""
        x0, y0 = round(seats[0][1] - self.x, 1), round(seats[0][2] - self.y, 1)
        self.rows.append({
            "row_number": label,
            "row_number_position": "both",
            "position": {"x": tidy(x0), "y": tidy(y0)},
            "seats": [
                {
                    "seat_guid": f"{self.prefix}-{label}-{number}".replace(" ", ""),
                    "seat_number": str(number),
                    "position": {"x": tidy(x - self.x - x0), "y": tidy(y - self.y - y0)},
                    "category": category,
                }
                for number, x, y, category in seats
            ],
        })

    def rectangle(self, x, y, width, height, text, color="#e4e0d8", ink="#4a4a4a", rotation=0, size=16):
        """Adds a rectangle with a text in its middle; `rotation` is in degrees, clockwise around its first corner."""
        area = {
            "shape": "rectangle",
            "color": color,
            "border_color": "#8a8478",
            "rotation": tidy(rotation),
            "position": {"x": tidy(x - self.x), "y": tidy(y - self.y)},
            "rectangle": {"width": width, "height": height},
        }
        if text:
            area["text"] = {
                "text": text, "color": ink, "size": size, "position": {"x": width / 2, "y": height / 2}
            }
        self.areas.append(area)

    def polygon(self, points, text, at, color="#e4e0d8", ink="#4a4a4a", size=16):
        """Adds a polygon with a text at the point `at`, all on the whole plan."""
        (x0, y0) = points[0]
        self.areas.append({
            "shape": "polygon",
            "color": color,
            "border_color": "#8a8478",
            "rotation": 0,
            "position": {"x": tidy(x0 - self.x), "y": tidy(y0 - self.y)},
            "polygon": {"points": [{"x": tidy(x - x0), "y": tidy(y - y0)} for x, y in points]},
            "text": {
                "text": text, "color": ink, "size": size,
                "position": {"x": tidy(at[0] - x0), "y": tidy(at[1] - y0)},
            },
        })

    def label(self, x, y, text, size):
        """Adds a text on its own."""
        self.areas.append({
            "shape": "text",
            "position": {"x": tidy(x - self.x), "y": tidy(y - self.y)},
            "text": {"text": text, "color": "#4a4a4a", "size": size, "position": {"x": 0, "y": 0}},
        })


def tidy(number):
    """One decimal is a fiftieth of a seat; whole numbers are written without it."""
    number = round(number, 1)
    return int(number) if number == int(number) else number


def plan(name, width, height, categories, zones):
    """The plan as text: one row of seats a line."""
    head = {
        "name": name,
        "size": {"width": width, "height": height},
        "categories": [{"name": name, "color": color} for name, color in categories],
    }
    out = [compact(head)[:-1] + ',"zones":[']
    for i, zone in enumerate(zones):
        position = {"x": zone.x, "y": zone.y}
        start = {"name": zone.name, "zone_id": zone.prefix, "position": position, "areas": zone.areas}
        out.append(compact(start)[:-1] + ',"rows":[')
        out.append(",\n".join(compact(row) for row in zone.rows))
        out.append("]}" if i + 1 == len(zones) else "]},")
    out.append("]}")
    return "\n".join(line for line in out if line) + "\n"


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# --- the theatre -----------------------------------------------------------------------------------------------------

THEATRE_CATEGORIES = [
    ("Front stalls", "#b3261e"),
    ("Stalls", "#d9772b"),
    ("Circle", "#2f6fb0"),
    ("Boxes", "#7b4fa3"),
    ("Restricted view", "#8d8d8d"),
]


def arc_row(centre, radius, blocks, aisle):
    """Middles of the seats of a row bent around `centre`, block after block with an aisle between; left to right."""
    length = sum(blocks) * SEAT_PITCH + (len(blocks) - 1) * aisle
    along, places = -length / 2, []
    for block in blocks:
        for _ in range(block):
            angle = (along + SEAT_PITCH / 2) / radius
            places.append((centre[0] + radius * math.sin(angle), centre[1] + radius * math.cos(angle)))
            along += SEAT_PITCH
        along += aisle
    return places


def theatre():
    """A playhouse: stalls around a centre aisle, a circle above their rear, four boxes on each side."""
    middle = 550
    centre = (middle, -620)
    stage = Zone("Stage", "stage", 0, 0)
    stage.polygon(
        [(270, 40), (830, 40), (770, 170), (670, 196), (550, 204), (430, 196), (330, 170)],
        "STAGE", (middle, 116), color="#3a332c", ink="#ffffff", size=36,
    )

    stalls = Zone("Stalls", "S", 210, 240)
    halves = [8, 9, 9, 10, 10, 11, 11, 12, 12, 12, 13, 13, 13, 13, 12]
    for k, half in enumerate(halves):
        places = arc_row(centre, 890 + 33 * k, [half, half], 60)
        row = []
        for i, (x, y) in enumerate(places):
            at_the_end = min(i, len(places) - 1 - i) < 2
            if k < 2 and at_the_end:
                category = "Restricted view"
            else:
                category = "Front stalls" if k < 4 else "Stalls"
            row.append((i + 1, x, y, category))
        stalls.row(LETTERS[k], row)

    circle = Zone("Circle", "C", 60, 800)
    for k, side in enumerate([7, 7, 8, 8, 9, 9]):
        places = arc_row(centre, 1445 + 33 * k, [side, 18, side], 50)
        row = []
        for i, (x, y) in enumerate(places):
            at_the_end = min(i, len(places) - 1 - i) < 2
            category = "Restricted view" if at_the_end else "Circle"
            row.append((i + 1, x, y, category))
        circle.row(LETTERS[k] * 2, row)

    boxes = Zone("Boxes", "B", 20, 240)
    for side in (-1, 1):
        for k in range(4):
            # The boxes stand along the side walls, which open a little towards the rear.
            number = 2 * k + (1 if side < 0 else 2)
            x = middle + side * (355 + 26 * k)
            y = 270 + 112 * k
            tilt = math.atan2(26, 112)
            across, along = (side * math.cos(tilt), -math.sin(tilt)), (side * math.sin(tilt), math.cos(tilt))
            spots = [(u, v) for u in (-14, 14) for v in (-28, 0, 28)]
            corner_u, corner_v = (-30, -46) if side > 0 else (30, -46)
            boxes.rectangle(
                x + across[0] * corner_u + along[0] * corner_v, y + across[1] * corner_u + along[1] * corner_v,
                60, 92, None, color="#f1e9f7", rotation=-side * math.degrees(tilt),
            )
            boxes.label(x + across[0] * 48, y + across[1] * 48, str(number), 16)
            seats = [
                (i + 1, x + across[0] * u + along[0] * v, y + across[1] * u + along[1] * v, "Boxes")
                for i, (u, v) in enumerate(spots)
            ]
            boxes.row(f"Box {number}", seats)

    return plan("Playhouse", 1100, 1060, THEATRE_CATEGORIES, [stage, stalls, circle, boxes])


# --- the arena -------------------------------------------------------------------------------------------------------

ARENA_CATEGORIES = [
    ("Front rows", "#b3261e"),
    ("Floor", "#d9772b"),
    ("Lower bowl", "#2f6fb0"),
    ("Upper bowl", "#3f9a6b"),
    ("Restricted view", "#8d8d8d"),
]

ROW_PITCH = 32
# The edge of the floor: a rectangle whose two far corners are round.
ARENA_MIDDLE, FLOOR_HALF_WIDTH, CORNER_RADIUS = 2250, 800, 320
FLOOR_TOP, SIDE_LENGTH = 280, 2250
AISLE = 40


class Bowl:
    """One tier: the line of its first row, and how it is cut into sections.

    Sections are named clockwise from the visitor's left of the stage: down one side, around the end, up the other.
    """

    def __init__(self, offset, rows, first_section, wedges, category, labels, tunnels):
        self.offset, self.rows, self.first_section = offset, rows, first_section
        self.wedges, self.category, self.labels, self.tunnels = wedges, category, labels, tunnels

    def zones(self):
        """The tier's sections, each as a zone."""
        number, zones = self.first_section, []
        side, end = 5, 2
        length = SIDE_LENGTH / side
        end_length = 2 * (FLOOR_HALF_WIDTH - CORNER_RADIUS)
        for k in range(side):
            zones.append(self.straight(number, "right", FLOOR_TOP + length * (k + 0.5), length, k))
            number += 1
        for k in range(self.wedges):
            zones.append(self.wedge(number, 1, k))
            number += 1
        for k in range(end):
            middle = ARENA_MIDDLE + end_length / 2 - end_length / end * (k + 0.5)
            zones.append(self.straight(number, "end", middle, end_length / end, k))
            number += 1
        for k in range(self.wedges):
            zones.append(self.wedge(number, -1, self.wedges - 1 - k))
            number += 1
        for k in reversed(range(side)):
            zones.append(self.straight(number, "left", FLOOR_TOP + length * (k + 0.5), length, k))
            number += 1
        return zones

    def straight(self, number, where, middle, length, k):
        """A section with parallel rows; beside the stage the view is restricted."""
        seats = int((length - AISLE) // SEAT_PITCH)
        restricted = where != "end" and k == 0
        foot = FLOOR_TOP + SIDE_LENGTH + CORNER_RADIUS

        def place(depth, along):
            if where == "right":
                return ARENA_MIDDLE + FLOOR_HALF_WIDTH + depth, middle + along
            if where == "left":
                return ARENA_MIDDLE - FLOOR_HALF_WIDTH - depth, middle - along
            return middle - along, foot + depth

        def row(r):
            depth = self.offset + ROW_PITCH * r
            spots = [place(depth, (i - (seats - 1) / 2) * SEAT_PITCH) for i in range(seats)]
            return self.with_tunnel(r, spots)

        return self.section(number, row, restricted, place(self.offset + ROW_PITCH * (self.rows + 0.9), 0))

    def wedge(self, number, side, k):
        """A section of a round corner: its rows grow towards the back."""
        span = math.pi / 2 / self.wedges
        turn = span * (k + 0.5)
        centre = (ARENA_MIDDLE + side * (FLOOR_HALF_WIDTH - CORNER_RADIUS), FLOOR_TOP + SIDE_LENGTH)

        def place(radius, angle):
            return centre[0] + side * radius * math.cos(angle), centre[1] + radius * math.sin(angle)

        def row(r):
            radius = CORNER_RADIUS + self.offset + ROW_PITCH * r
            seats = int((radius * span - AISLE) // SEAT_PITCH)
            step = SEAT_PITCH / radius
            spots = [place(radius, turn + side * (i - (seats - 1) / 2) * step) for i in range(seats)]
            return list(enumerate(spots, 1))

        label = place(CORNER_RADIUS + self.offset + ROW_PITCH * (self.rows + 0.9), turn)
        return self.section(number, row, False, label)

    def with_tunnel(self, r, spots):
        """The row's numbered seats without those where the way in comes out."""
        numbered = list(enumerate(spots, 1))
        if self.tunnels and 3 <= r < 7:
            first = len(spots) // 2 - 2
            return numbered[:first] + numbered[first + 4:]
        return numbered

    def section(self, number, row, restricted, label):
        rows = [row(r) for r in range(self.rows)]
        xs = [x for spots in rows for _, (x, _) in spots]
        ys = [y for spots in rows for _, (_, y) in spots]
        zone = Zone(f"Section {number}", str(number), math.floor(min(xs)), math.floor(min(ys)))
        zone.label(*label, str(number), 34)
        for r, spots in enumerate(rows):
            category = "Restricted view" if restricted else self.category(r)
            zone.row(self.labels[r], [(n, x, y, category) for n, (x, y) in spots])
        return zone


def arena():
    """An arena with a stage at one end: standing room and seats on the floor, two tiers around it."""
    stage = Zone("Stage", "stage", 0, 0)
    stage.rectangle(
        ARENA_MIDDLE - 620, 130, 1240, 460, "STAGE", color="#3a332c", ink="#ffffff", size=110
    )
    stage.rectangle(ARENA_MIDDLE - 90, 590, 180, 190, None, color="#3a332c")

    floor = Zone("Floor", "floor", ARENA_MIDDLE - 700, 640)
    floor.polygon(
        [(ARENA_MIDDLE - 700, 640), (ARENA_MIDDLE - 130, 640), (ARENA_MIDDLE - 130, 820),
         (ARENA_MIDDLE + 130, 820), (ARENA_MIDDLE + 130, 640), (ARENA_MIDDLE + 700, 640),
         (ARENA_MIDDLE + 700, 1560), (ARENA_MIDDLE - 700, 1560)],
        "FLOOR (STANDING)", (ARENA_MIDDLE, 1200), color="#f6e7d2", size=90,
    )
    floor.rectangle(ARENA_MIDDLE - 130, 2670, 260, 120, "MIXER", color="#d8d4cc", size=40)

    blocks = []
    for deep in range(2):
        for across in range(3):
            seats, name = 17, f"Floor {'ABCDEF'[deep * 3 + across]}"
            left = ARENA_MIDDLE + (across - 1) * (seats * SEAT_PITCH + 60) - (seats - 1) * SEAT_PITCH / 2
            top = 1630 + deep * (14 * 34 + 80)
            zone = Zone(name, name.replace("loor ", ""), int(left), top)
            for r in range(14):
                category = "Front rows" if deep == 0 and r < 6 else "Floor"
                zone.row(LETTERS[r], [(i + 1, left + i * SEAT_PITCH, top + 34 * r, category) for i in range(seats)])
            zone.label(left + (seats - 1) * SEAT_PITCH / 2, top - 34, name, 34)
            blocks.append(zone)

    lower = Bowl(
        60, 17, 101, 3, lambda r: "Front rows" if r < 2 else "Lower bowl", LETTERS, tunnels=False
    )
    upper = Bowl(
        60 + ROW_PITCH * 17 + 150, 18, 201, 4, lambda r: "Upper bowl", [str(r + 1) for r in range(18)], tunnels=True
    )
    zones = [stage, floor, *blocks, *lower.zones(), *upper.zones()]
    return plan("Arena, end stage", 4500, 4260, ARENA_CATEGORIES, zones)


def main():
    here = Path(__file__).resolve().parent
    for name, text in [("theatre.json", theatre()), ("arena.json", arena())]:
        (here / name).write_text(text, encoding="utf-8")
        seats = text.count('"seat_guid"')
        print(f"{name}: {seats} seats, {len(text.encode()) / 1048576:.2f} MiB")


if __name__ == "__main__":
    main()
