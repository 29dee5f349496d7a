/** What pools are called: the API knows their ids only, which organisers choose for people to read. */

import { clock } from "./clock";

const DAY_MS = 86_400_000;
/** A room-night: the kind of room, and the date as YYYY-MM-DD. */
const NIGHT = /^(.+)\.(\d{4}-\d{2}-\d{2})$/;

/** The kind of room and the date, if the pool is a room-night such as `deluxe.2026-12-24`. */
export function nightOf(pool: string): { room: string; date: string } | undefined {
  const [, room, date] = NIGHT.exec(pool) ?? [];
  return room === undefined || date === undefined ? undefined : { room, date };
}

/**
 * The first night that may not be over: yesterday's by UTC. Nobody says in which time zone the rooms
 * are, and there it may be today's.
 */
export function firstNight(): string {
  return dateOf(clock.now() - DAY_MS);
}

/** Tonight, where this visitor is. */
export function tonight(): string {
  const now = new Date(clock.now());
  return dateOf(now.getTime() - now.getTimezoneOffset() * 60_000);
}

function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** A pool's id in a form for people: `standing-left` is Standing left, `ga` is GA. */
export function poolName(pool: string): string {
  const words = pool.replace(/[._-]+/g, " ").trim();
  if (words === "") return pool;
  return words.length <= 3 ? words.toUpperCase() : words.charAt(0).toUpperCase() + words.slice(1);
}
