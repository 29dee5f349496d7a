/** Which page is where. A page is loaded when it is first asked for, so that the waiting room stays light. */
export const PAGES = {
  "/": () => import("./events/Events.svelte"),
  "/events/:event": () => import("./events/Event.svelte"),
  "/events/:event/queue": () => import("./queue/Queue.svelte"),
  "/events/:event/draw": () => import("./queue/Draw.svelte"),
  "/events/:event/choose": () => import("./choose/Choose.svelte"),
  "/bookings": () => import("./checkout/Bookings.svelte"),
  "/bookings/:booking": () => import("./checkout/Booking.svelte"),
  "/bookings/:booking/tickets": () => import("./checkout/Tickets.svelte"),
  "/carry": () => import("./carry/Carry.svelte"),
};
