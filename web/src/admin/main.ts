/** The organiser's pages. */
import { mount } from "svelte";
import { i18n } from "../lib/i18n.svelte";
import { cleared, tryAgainHere } from "../lib/not-yet";
import { followLinks, match } from "../lib/router.svelte";
import "../lib/theme.css";
import "./admin.css";
import App from "./App.svelte";
import { ALL_PAGES } from "./pages";

tryAgainHere();
await i18n.start(["common", "admin", "plan", "seats"]);
followLinks((path) => Object.keys(ALL_PAGES).some((pattern) => match(pattern, path)));
mount(App, { target: cleared() });
