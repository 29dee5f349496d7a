/** Which page is where. The first that fits is shown. */
export const PAGES = {
  "/admin": () => import("./events/Events.svelte"),
  "/admin/events/new": () => import("./events/New.svelte"),
  "/admin/events/:event/edit": () => import("./events/Edit.svelte"),
  "/admin/events/:event": () => import("./control/Control.svelte"),
};

/** All that who lets people in may see. */
export const SCANNER_PAGES = {};
