/** The events there are. */
import { ask, path } from "../../api/client";
import type { Event, Events } from "../../api/schema";

/** All of them, page by page; those made last come first, as those are worked on. */
export async function allEvents(): Promise<Event[]> {
  const all: Event[] = [];
  for (let after: string | undefined; ;) {
    const page = await ask<Events>(path`/events`, { query: { after, limit: 1_000 } });
    all.push(...page.events);
    after = page.next;
    if (after === undefined) break;
  }
  return all.reverse();
}
