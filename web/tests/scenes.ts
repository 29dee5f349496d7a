/** Every page there is, each in a state worth looking at: for tests of all of them, and for pictures. */
import { readFileSync } from "node:fs";
import path from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { visit, type Visit } from "./browser";
import { ADMIN_KEY, CARDS, openEvent, type Server, smallPlan } from "./server";

export interface Scene {
  name: string;
  path: string;
  /** Whose page it is: a visitor's token, or the organiser's. */
  as: { token: string } | "organiser";
  /** What is clicked there to come to it: a selector. */
  click?: string;
}

const ARENA = path.resolve(import.meta.dirname, "../../examples/arena.json");
const DAY_MS = 86_400_000;
const BUYER = { name: "Ann Lee", email: "ann@example.org", language: "en" };

/** Puts events, places, bookings and money into a fresh server, and says which pages show them. */
export async function setUpScenes(server: Server): Promise<Scene[]> {
  const plan = JSON.parse(readFileSync(ARENA, "utf8"));
  const categories: { name: string }[] = plan.categories;
  const prices = Object.fromEntries(categories.map(({ name }, step) => [name, 9_500 - 1_500 * step]));
  const startsAt = Date.now() + 60 * DAY_MS;
  await openEvent(server, "arena", {
    settings: {
      title: "Winter tour",
      room: null,
      starts_at: startsAt,
      max_per_user: 4,
      fees: { fixed_minor: 100, percent_bp: 500 },
      refunds: [{ days_before: 1, percent: 90 }],
    },
    pools: [{ pool: "standing", capacity: 500, price_minor: 4_500 }],
    plan,
    prices,
  });
  await server.organise("PUT", "/events/arena/texts/en", {
    title: "Winter tour",
    description: "Two hours of songs that you know by heart, and some that you do not know yet.",
    venue: "The Arena",
  });
  await openEvent(server, "rush", {
    settings: { title: "The rush", starts_at: startsAt, room: { capacity: 1 } },
    pools: [{ pool: "floor", capacity: 2, price_minor: 4_500 }],
  });
  await openEvent(server, "lot", {
    settings: { title: "The draw", room: { capacity: 1, order: "draw" }, opens_at: Date.now() + DAY_MS },
    pools: [{ pool: "floor", capacity: 50, price_minor: 2_500 }],
    phase: "prequeue",
  });
  await openEvent(server, "inn", {
    settings: { title: "Christmas at the inn", max_per_user: 12, room: null },
    // Nights that are over are not offered.
    pools: ["12-24", "12-25", "12-26"].map((date) => ({
      pool: `deluxe.${new Date().getFullYear() + 1}-${date}`,
      capacity: 8,
      price_minor: 12_900,
    })),
  });
  await openEvent(server, "soon", {
    settings: { title: "Not on sale yet", opens_at: Date.now() + 3 * DAY_MS, room: { capacity: 100 } },
    pools: [{ pool: "floor", capacity: 50, price_minor: 2_500 }],
    phase: "scheduled",
  });

  await openEvent(server, "family", {
    settings: { title: "For all ages", room: null, fees: { percent_bp: 500 } },
    pools: [{ pool: "standing", capacity: 50, price_minor: 2_000 }],
    plan: smallPlan(3, 10),
    prices: { Stalls: 4_500 },
  });
  const types = [
    { id: "adult", name: "Adult", percent_bp: 10_000 },
    { id: "child", name: "Child under 12", percent_bp: 5_000, min: 2, max: 4, proof: true },
    { id: "group", name: "Group", less_minor: 500, min: 5 },
  ];
  const office = { by: "Ann", why: "families" };
  await server.organise("PUT", "/events/family/types", { pool: "standing", types, ...office });
  await server.organise("PUT", "/events/family/types", { category: "Stalls", types, ...office });

  const active = await joined(server, "rush");
  const waiting = await joined(server, "rush");
  for (let count = 0; count < 20; count += 1) await joined(server, "rush");
  const drawn = await joined(server, "lot");
  for (let count = 0; count < 30; count += 1) await joined(server, "lot");
  await server.organise("POST", "/events/lot/prequeue/close");
  await server.organise("POST", "/events/lot/open", { public_value: "7 11 23 31 42 44" });

  const buyer = await server.visitor();
  const seats: { id: string; status: string }[] = (await server.ask("GET", "/events/arena/seats")).body.seats;
  const hold = async (key: string, lines: unknown, token = buyer, event = "arena"): Promise<string> => {
    const wish = { token, key, body: lines };
    const { status, body } = await server.ask("POST", `/events/${event}/bookings`, wish);
    if (status !== 201) throw new Error(`${key}: ${JSON.stringify(body)}`);
    return body.booking;
  };
  const confirmed = await hold("confirmed", { seats: [seats[0]!.id, seats[1]!.id] });
  await pay(server, confirmed, buyer, CARDS.good);
  const cancelled = await hold("cancelled", { seats: [seats[3]!.id] });
  await pay(server, cancelled, buyer, CARDS.good);
  await server.ask("POST", `/bookings/${cancelled}/cancel`, { token: buyer });
  const other = await server.visitor();
  const paying = await hold("paying", { pools: { standing: 1 } }, other);
  await server.ask("POST", `/bookings/${paying}/payment`, { token: other, key: "p", body: { buyer: BUYER } });
  const held = await hold("held", { seats: [seats[5]!.id], pools: { standing: 1 } });
  const family = { seats: ["A-1", "A-2"], types: { seats: { "A-1": "child", "A-2": "child" } } };
  const typed = await hold("typed", { pools: { standing: 1 }, ...family }, buyer, "family");
  await pay(server, typed, buyer, CARDS.good);
  // Some that others have, so that maps and lists show something.
  for (let start = 20; start < seats.length; start += 40) {
    const lines = { seats: seats.slice(start, start + 4).map((seat) => seat.id) };
    await hold(`crowd-${start}`, lines, await server.visitor());
  }

  const chooser = await server.visitor();

  const visitor = (name: string, path: string, token = buyer): Scene => ({ name, path, as: { token } });
  const organiser = (name: string, path: string): Scene => ({ name, path: `/admin${path}`, as: "organiser" });
  return [
    visitor("events", "/"),
    visitor("event", "/events/arena"),
    visitor("event-soon", "/events/soon"),
    visitor("waiting", "/events/rush/queue", waiting),
    visitor("your-turn", "/events/rush/queue", active),
    visitor("draw", "/events/lot/draw", drawn),
    visitor("choose-best", "/events/arena/choose", chooser),
    { ...visitor("choose-seats", "/events/arena/choose", chooser), click: "#choose-on-map" },
    { ...visitor("choose-list", "/events/arena/choose", chooser), click: "#choose-from-list" },
    visitor("choose-nights", "/events/inn/choose"),
    visitor("choose-types", "/events/family/choose", chooser),
    visitor("booking-types", `/bookings/${typed}`),
    visitor("tickets-types", `/bookings/${typed}/tickets`),
    visitor("booking-held", `/bookings/${held}`),
    visitor("booking-paying", `/bookings/${paying}`, other),
    visitor("booking-confirmed", `/bookings/${confirmed}`),
    visitor("booking-cancelled", `/bookings/${cancelled}`),
    visitor("tickets", `/bookings/${confirmed}/tickets`),
    visitor("bookings", "/bookings"),
    visitor("carry", "/carry"),
    organiser("admin-events", ""),
    organiser("admin-new-event", "/events/new"),
    organiser("admin-edit-event", "/events/arena/edit"),
    organiser("admin-plan", "/events/arena/plan"),
    organiser("admin-control-room", "/events/arena"),
    organiser("admin-types", "/events/family"),
    organiser("admin-booking-types", `/bookings/${typed}`),
    organiser("admin-bookings", "/bookings"),
    organiser("admin-booking", `/bookings/${confirmed}`),
    organiser("admin-sagas", "/sagas"),
    organiser("admin-money", "/money"),
    organiser("admin-feed", "/feed"),
    organiser("admin-messages", "/messages"),
    organiser("admin-flags", "/flags"),
    organiser("admin-inventory", "/inventory"),
    organiser("admin-check-in", "/check-in"),
  ];
}

/** A visitor who has a place in the queue. */
async function joined(server: Server, event: string): Promise<string> {
  const token = await server.visitor();
  await server.ask("POST", `/events/${event}/queue`, { token });
  return token;
}

/** Begins a payment, uses the card on the sandbox's page, and waits until the booking is confirmed. */
export async function pay(server: Server, booking: string, token: string, card: string): Promise<void> {
  const wish = { token, key: `pay-${booking}`, body: { buyer: BUYER } };
  const { status, body: payment } = await server.ask("POST", `/bookings/${booking}/payment`, wish);
  if (status !== 201) throw new Error(JSON.stringify(payment));
  await fetch(payment.url, {
    method: "POST",
    body: new URLSearchParams({ action: "pay", card }),
    redirect: "manual",
  });
  for (let asked = 0; asked < 400; asked += 1) {
    const { body } = await server.ask("GET", `/bookings/${booking}`, { token });
    if (body.status === "confirmed") return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`${booking} was not confirmed`);
}

/** The browser of somebody whose page a scene is, in a language. */
export async function enter(
  browser: Browser,
  server: Server,
  as: Scene["as"],
  language = "en",
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const visited = await visit(browser, options);
  const guest =
    as === "organiser" ? null : { user: "scene", token: as.token, expires_at: Date.now() + DAY_MS };
  await visited.page.addInitScript(
    ([guest, language]) => {
      if (guest) localStorage.setItem("onrush.visitor", guest);
      localStorage.setItem("onrush.language", language);
    },
    [guest && JSON.stringify(guest), language] as const,
  );
  if (as === "organiser") {
    // Signing in by the API leaves its cookie in the browser.
    const signedIn = await visited.page.request.post(`${server.url}/api/v1/session`, {
      data: { key: ADMIN_KEY },
    });
    if (!signedIn.ok()) throw new Error(`the organiser cannot sign in: ${signedIn.status()}`);
  }
  return visited;
}

/** Goes to a scene's page, and waits until it shows what it is about. */
export async function show(page: Page, server: Server, scene: Scene): Promise<void> {
  await page.goto(server.url + scene.path);
  await page.locator("h1").first().waitFor();
  await page.waitForFunction(() => document.querySelector(".loading") === null);
  if ((await page.locator("h1.no-page").count()) > 0) throw new Error(`${scene.path} is no page`);
  if (scene.click) {
    await page.locator(scene.click).click();
    await page.locator(scene.click).waitFor({ state: "detached" });
  }
}

/**
 * Shows one scene after the other, each in the browser of whose page it is, and complains of what
 * the browser complains of.
 */
export async function visitEach(
  browser: Browser,
  server: Server,
  scenes: Scene[],
  look: (page: Page, scene: Scene) => Promise<void>,
  language = "en",
  options: BrowserContextOptions = {},
): Promise<void> {
  const visits = new Map<string, Visit>();
  try {
    for (const scene of scenes) {
      const who = scene.as === "organiser" ? scene.as : scene.as.token;
      const visited = visits.get(who) ?? (await enter(browser, server, scene.as, language, options));
      visits.set(who, visited);
      await show(visited.page, server, scene);
      await look(visited.page, scene);
      if (visited.complaints.length > 0) throw new Error(`${scene.name}: ${visited.complaints.join("; ")}`);
    }
  } finally {
    for (const visited of visits.values()) await visited.close();
  }
}
