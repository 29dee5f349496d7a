/** Which page is where. */
export const PAGES = {
  "/admin": () => import("./Events.svelte"),
};
