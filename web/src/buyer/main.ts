/** The buyers' pages. */
import { mount } from "svelte";
import { bookingInAddress, takeLink } from "../api/keeper";
import { i18n } from "../lib/i18n.svelte";
import { cleared, tryAgainHere } from "../lib/not-yet";
import { followLinks, match } from "../lib/router.svelte";
import "../lib/theme.css";
import App from "./App.svelte";
import { PAGES } from "./pages";

// Whoever follows another link while a page is open stays on that page, and nothing would be read anew.
// It is taken by the page that comes: what this one knows is gone where the browser keeps nothing.
addEventListener("hashchange", () => bookingInAddress() !== undefined && location.reload());

tryAgainHere();
await i18n.start(["common", "events", "queue", "seats", "checkout"]);
// Not before: until there is a page that knows it, whoever loads the address anew needs it there.
takeLink();
followLinks((path) => Object.keys(PAGES).some((pattern) => match(pattern, path)));
mount(App, { target: cleared() });
