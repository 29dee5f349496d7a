/** Which page is where, and which scope of a key it needs. The first that fits is shown. */
import { allows, type Scope } from "../api/organiser";
import type { Load } from "../lib/router.svelte";

const PAGES: [path: string, scope: Scope, load: Load][] = [
  ["/admin", "read", () => import("./events/Events.svelte")],
  ["/admin/events/new", "sell", () => import("./events/New.svelte")],
  ["/admin/events/:event/edit", "read", () => import("./events/Edit.svelte")],
  ["/admin/events/:event/plan", "stock", () => import("./plan/Plan.svelte")],
  ["/admin/events/:event", "read", () => import("./control/Control.svelte")],
  ["/admin/bookings", "read", () => import("./bookings/Bookings.svelte")],
  ["/admin/bookings/:booking", "read", () => import("./bookings/Booking.svelte")],
  ["/admin/sagas", "read", () => import("./bookings/Sagas.svelte")],
  ["/admin/money", "read", () => import("./bookings/Money.svelte")],
  ["/admin/feed", "read", () => import("./feed/Feed.svelte")],
  ["/admin/messages", "admin", () => import("./system/Messages.svelte")],
  ["/admin/flags", "read", () => import("./system/Flags.svelte")],
  ["/admin/inventory", "read", () => import("./system/Inventory.svelte")],
  ["/admin/actions", "admin", () => import("./system/Actions.svelte")],
  ["/admin/check-in", "door", () => import("./checkin/CheckIn.svelte")],
];

/** The pages that these scopes open. */
export function pagesOf(scopes: Scope[]): Record<string, Load> {
  const open = PAGES.filter(([, scope]) => allows(scopes, scope));
  return Object.fromEntries(open.map(([path, , load]) => [path, load]));
}

/** All there are. */
export const ALL_PAGES = pagesOf(["admin"]);
