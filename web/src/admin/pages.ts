/** Which page is where. The first that fits is shown. */
import type { Load } from "../lib/router.svelte";

/** All that who lets people in may see. */
export const SCANNER_PAGES: Record<string, Load> = {
  "/admin/check-in": () => import("./checkin/CheckIn.svelte"),
};

export const PAGES: Record<string, Load> = {
  "/admin": () => import("./events/Events.svelte"),
  "/admin/events/new": () => import("./events/New.svelte"),
  "/admin/events/:event/edit": () => import("./events/Edit.svelte"),
  "/admin/events/:event/plan": () => import("./plan/Plan.svelte"),
  "/admin/events/:event": () => import("./control/Control.svelte"),
  "/admin/bookings": () => import("./bookings/Bookings.svelte"),
  "/admin/bookings/:booking": () => import("./bookings/Booking.svelte"),
  "/admin/sagas": () => import("./bookings/Sagas.svelte"),
  "/admin/money": () => import("./bookings/Money.svelte"),
  "/admin/feed": () => import("./feed/Feed.svelte"),
  "/admin/messages": () => import("./system/Messages.svelte"),
  "/admin/flags": () => import("./system/Flags.svelte"),
  "/admin/inventory": () => import("./system/Inventory.svelte"),
  ...SCANNER_PAGES,
};
