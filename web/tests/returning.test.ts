/** Coming back: tokens that ran out while their owner was away, links of bookings, and other devices. */
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import decodeQR from "qr/decode.js";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { forgetful, launch, PHONE, violations, visit, type Visit } from "./browser";
import { heading, hold, untilStatus } from "./checkout";
import { pay } from "./scenes";
import { CARDS, openEvent, Server } from "./server";

const DAY_MS = 86_400_000;

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  await openEvent(server, "gala", {
    settings: {
      title: "Gala",
      room: null,
      starts_at: Date.now() + 60 * DAY_MS,
      refunds: [{ days_before: 1, percent: 80 }],
    },
    pools: [{ pool: "standing", capacity: 100, price_minor: 3_000 }],
  });
  await openEvent(server, "rush", {
    settings: { title: "The rush", room: { capacity: 1 } },
    pools: [{ pool: "floor", capacity: 5, price_minor: 0 }],
    phase: "prequeue",
  });
  await openEvent(server, "away", {
    settings: { title: "Away", room: null },
    pools: [{ pool: "floor", capacity: 5, price_minor: 0 }],
  });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

interface Guest {
  user: string;
  token: string;
  expires_at: number;
  renew_at?: number;
}

async function guest(): Promise<Guest> {
  return (await server.ask("POST", "/visitors")).body;
}

/** The same visitor's token as it was given out that long ago: a day later it was over. */
function ofDaysAgo({ user }: Guest, days: number): Guest {
  const hmac = (key: Buffer, text: string) => createHmac("sha256", key).update(text).digest();
  const key = readFileSync(path.join(server.dir, "data/keys/token.key"));
  const expiresS = Math.floor(Date.now() / 1_000) - (days - 1) * 86_400;
  const signed = `g1.${user}.${expiresS}`;
  const mac = hmac(hmac(key, "guest token"), signed).toString("base64url");
  return {
    user,
    token: `${signed}.${mac}`,
    expires_at: expiresS * 1_000,
    renew_at: expiresS * 1_000 - DAY_MS / 2,
  };
}

/** A browser that was this visitor when it was last here. */
async function returning(identity: Guest): Promise<Visit> {
  const visited = await visit(browser);
  await visited.page.goto(`${server.url}/`);
  await visited.page.evaluate(
    (identity) => localStorage.setItem("onrush.visitor", identity),
    JSON.stringify(identity),
  );
  return visited;
}

async function identityOf(page: Page): Promise<Guest> {
  return JSON.parse(await page.evaluate(() => localStorage.getItem("onrush.visitor")!));
}

async function paid(identity: Guest): Promise<string> {
  const booking = await hold(server, identity.token, "gala", { pools: { standing: 1 } });
  await pay(server, booking, identity.token, CARDS.good);
  return booking;
}

/** What a QR code on the page says. */
async function readCode(page: Page, name: string): Promise<string> {
  const side = 600;
  const image = page.getByRole("img", { name });
  const pixels = await image.evaluate(async (image: HTMLImageElement, side) => {
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: side, height: side });
    const context = canvas.getContext("2d")!;
    // The code has no ground of its own; the page's is white.
    context.fillStyle = getComputedStyle(image).backgroundColor;
    context.fillRect(0, 0, side, side);
    context.drawImage(image, 0, 0, side, side);
    const { data } = context.getImageData(0, 0, side, side);
    let text = "";
    for (let at = 0; at < data.length; at += 4) text += data[at]! < 128 ? "#" : " ";
    return text;
  }, side);
  const data = new Uint8Array(side * side * 3);
  for (const [at, pixel] of [...pixels].entries()) data.fill(pixel === "#" ? 0 : 255, at * 3, at * 3 + 3);
  return decodeQR({ width: side, height: side, data });
}

test("tickets are there although the token ran out while their owner was away", async () => {
  const ann = await guest();
  const booking = await paid(ann);
  const { page, complaints, close } = await returning(ofDaysAgo(ann, 4));
  await page.goto(`${server.url}/bookings/${booking}/tickets`);
  await page.getByRole("img", { name: "QR code of ticket 1: Standing" }).waitFor();
  const now = await identityOf(page);
  expect(now.user).toBe(ann.user);
  expect(now.expires_at).toBeGreaterThan(Date.now());
  expect(complaints).toEqual([]);
  await close();
});

test("place in a prequeue of three days ago is still there", async () => {
  const ann = await guest();
  const { body: place } = await server.ask("POST", "/events/rush/queue", { token: ann.token });
  const { page, complaints, close } = await returning(ofDaysAgo(ann, 3));
  await page.goto(`${server.url}/events/rush/queue`);
  await heading(page, "You are in the waiting room");
  const now = await identityOf(page);
  expect(now.user).toBe(ann.user);
  const { body } = await server.ask("GET", "/events/rush/queue", { token: now.token });
  expect(body.place).toBe(place.place);
  expect(complaints).toEqual([]);
  await close();
});

test("place of the visitor whom this browser was before is not said to have ended", async () => {
  const [ann, bo] = [await guest(), await guest()];
  const { page, complaints, close } = await returning(ann);
  await page.goto(`${server.url}/events/rush/queue`);
  await heading(page, "You are in the waiting room");
  // As when another device's visitor is taken over.
  await page.goto(`${server.url}/`);
  await page.evaluate((bo) => localStorage.setItem("onrush.visitor", bo), JSON.stringify(bo));
  await page.goto(`${server.url}/events/rush/queue`);
  await heading(page, "You are in the waiting room");
  expect((await server.ask("GET", "/events/rush/queue", { token: bo.token })).body.status).toBe("queued");
  expect(complaints).toEqual([]);
  await close();
});

test("token is renewed while it is used, without a word", async () => {
  const ann = await guest();
  const old = { ...ann, renew_at: Date.now() - 1 };
  const { page, close } = await returning(old);
  await page.goto(`${server.url}/bookings`);
  await page.getByText("You have no bookings in this browser yet.").waitFor();
  const now = await identityOf(page);
  expect(now.user).toBe(ann.user);
  expect(now.renew_at).toBeGreaterThan(Date.now());
  await close();
});

test("visitor whom the server knows no more is put aside, and the page says what to do", async () => {
  const stranger = {
    ...(await guest()),
    token: "g1.nobody.1.x",
    user: "00000000-0000-4000-8000-000000000000",
  };
  const { page, complaints, close } = await returning(stranger);
  await page.goto(`${server.url}/bookings`);
  await page.getByText("Some of what this browser had cannot be opened from here any more").waitFor();
  await page.getByText(stranger.user).waitFor();
  expect(await violations(page)).toEqual([]);
  expect((await identityOf(page)).user).not.toBe(stranger.user);
  const aside = await page.evaluate(() => localStorage.getItem("onrush.visitors")!);
  expect(JSON.parse(aside)).toMatchObject([{ user: stranger.user, token: stranger.token }]);
  await page.getByRole("button", { name: "Do not show this again" }).click();
  await page.reload();
  await page.getByText("You have no bookings in this browser yet.").waitFor();
  expect(await page.getByText(stranger.user).count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

test("link opens its booking in a fresh browser, which shows the tickets and cancels", async () => {
  const ann = await guest();
  const booking = await paid(ann);
  const mine = await returning(ann);
  await mine.page.goto(`${server.url}/bookings/${booking}`);
  await mine.page.getByRole("button", { name: "Show the link" }).click();
  const address = await mine.page.getByLabel("Link to this booking").inputValue();
  expect(address).toMatch(new RegExp(`^${server.url}/bookings/${booking}#b1\\.`));
  expect(await readCode(mine.page, "QR code with the link to this booking")).toBe(address);
  expect(await violations(mine.page)).toEqual([]);
  await mine.close();

  const { page, complaints, close } = await visit(browser, PHONE);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url() + (request.headers().referer ?? "")));
  await page.goto(address);
  await heading(page, "Your booking is confirmed");
  expect(page.url(), "the link is not left in the address").toBe(`${server.url}/bookings/${booking}`);
  expect(asked.filter((there) => there.includes("b1."))).toEqual([]);
  expect(await page.evaluate(() => localStorage.getItem("onrush.visitor")), "nobody new").toBe(null);
  await page.getByRole("link", { name: "Show the tickets" }).click();
  await page.getByRole("img", { name: "QR code of ticket 1: Standing" }).waitFor();
  await page.goto(`${server.url}/bookings`);
  await page.getByRole("article").filter({ hasText: "Gala" }).getByRole("link", { name: "Gala" }).click();
  await page.getByRole("button", { name: "Cancel the booking" }).click();
  await page.getByRole("button", { name: "Yes, cancel it" }).click();
  await heading(page, "This booking is cancelled");
  await untilStatus(server, { token: ann.token, booking }, "cancelled");
  expect(complaints).toEqual([]);
  await close();
});

test("withdrawn link says so, and the new one opens", async () => {
  const ann = await guest();
  const booking = await paid(ann);
  const mine = await returning(ann);
  await mine.page.goto(`${server.url}/bookings/${booking}`);
  await mine.page.getByRole("button", { name: "Show the link" }).click();
  const field = mine.page.getByLabel("Link to this booking");
  const old = await field.inputValue();
  await mine.page.getByRole("button", { name: "Make a new link" }).click();
  await mine.page.getByRole("button", { name: "Yes, make a new one" }).click();
  await mine.page.getByText("This is the new link.").waitFor();
  const fresh = await field.inputValue();
  await mine.close();

  const { page, close } = await visit(browser);
  await page.goto(old);
  await page.getByText("This link was withdrawn.").waitFor();
  await page.goto(fresh);
  await heading(page, "Your booking is confirmed");
  await page.getByRole("button", { name: "Forget this booking on this device" }).click();
  await page.getByText("You have no bookings in this browser yet.").waitFor();
  await close();
});

test("withdrawn link that is opened again takes nothing from the browser that has the new one", async () => {
  const ann = await guest();
  const booking = await paid(ann);
  const old = await mailed(ann, booking);
  const to = `/bookings/${booking}/link`;
  await server.ask("POST", to, { token: ann.token, key: "anew" });
  const fresh = await mailed(ann, booking);
  expect(fresh).not.toBe(old);

  const { page, complaints, close } = await visit(browser);
  await page.goto(fresh);
  await heading(page, "Your booking is confirmed");
  await page.goto(`${server.url}/`);
  await page.goto(old);
  await heading(page, "Your booking is confirmed");
  await page.goto(`${server.url}/bookings`);
  await page.getByRole("article").getByRole("link", { name: "Gala" }).waitFor();
  expect(complaints.filter((complaint) => !complaint.includes("401"))).toEqual([]);
  await close();
});

test("link that is kept here is exchanged when it was withdrawn elsewhere", async () => {
  const ann = await guest();
  const booking = await paid(ann);
  const { page, complaints, close } = await returning(ann);
  await page.goto(`${server.url}/bookings/${booking}`);
  const kept = () =>
    page.evaluate(() => Object.values(JSON.parse(localStorage.getItem("onrush.links") ?? "{}")));
  const link = async () =>
    (await server.ask("GET", `/bookings/${booking}/link`, { token: ann.token })).body.link;
  const old = await link();
  await expect.poll(kept).toEqual([old]);
  await server.ask("POST", `/bookings/${booking}/link`, { token: ann.token, key: "anew" });
  await page.reload();
  await expect.poll(kept).toEqual([await link()]);
  expect(await link()).not.toBe(old);
  expect(complaints).toEqual([]);
  await close();
});

/** The address in the mail about a booking. */
async function mailed(identity: Guest, booking: string): Promise<string> {
  const { body } = await server.ask("GET", `/bookings/${booking}/link`, { token: identity.token });
  return `${server.url}/bookings/${booking}#${body.link}`;
}

test.each([
  { status: 429, code: "RATE_LIMITED", retryable: true },
  { status: 403, code: "GUESTS_DISABLED", retryable: false },
])("link opens its booking where $code keeps this browser from a token of its own", async (problem) => {
  const [ann, bo] = [await guest(), await guest()];
  const address = await mailed(ann, await paid(ann));
  const { page, complaints, close } = await returning(ofDaysAgo(bo, 4));
  await page.route(/\/api\/v1\/visitors(\/renew)?$/, (route) =>
    route.fulfill({ status: problem.status, json: { ...problem, detail: "no" } }),
  );
  await page.goto(address);
  await heading(page, "Your booking is confirmed");
  await page.getByRole("link", { name: "Show the tickets" }).click();
  await page.getByRole("img", { name: "QR code of ticket 1: Standing" }).waitFor();
  await page.goto(`${server.url}/bookings`);
  await page.getByRole("article").getByRole("link", { name: "Gala" }).waitFor();
  // What this browser's visitor may have beside it is not passed over in silence.
  expect(await page.getByRole("alert").count()).toBe(problem.retryable ? 1 : 0);
  expect(complaints).toEqual([]);
  await close();
});

test("link opens its booking where the browser keeps nothing", async () => {
  const ann = await guest();
  const booking = await paid(ann);
  const address = await mailed(ann, booking);
  const { page, complaints, close } = await forgetful(browser);
  await page.goto(address);
  await heading(page, "Your booking is confirmed");
  expect(page.url()).toBe(`${server.url}/bookings/${booking}`);
  await page.getByRole("link", { name: "Show the tickets" }).click();
  await page.getByRole("img", { name: "QR code of ticket 1: Standing" }).waitFor();
  await page.getByRole("link", { name: "My bookings" }).first().click();
  await page.getByRole("article").getByRole("link", { name: "Gala" }).click();
  await heading(page, "Your booking is confirmed");
  // Another link to it, while its page is open.
  const loads = page.waitForEvent("load");
  await page.evaluate((hash) => (location.hash = hash), new URL(address).hash);
  await loads;
  await heading(page, "Your booking is confirmed");
  expect(page.url()).toBe(`${server.url}/bookings/${booking}`);
  expect(complaints).toEqual([]);
  await close();
});

test("who keeps nothing in the browser chooses and holds", async () => {
  const { page, complaints, close } = await forgetful(browser);
  await page.goto(`${server.url}/events/gala/choose`);
  await page.getByRole("button", { name: "More: Standing" }).click();
  await page.getByRole("button", { name: "Hold these" }).click();
  await heading(page, "Complete your booking");
  expect(complaints).toEqual([]);
  await close();
});

test("archived event takes its own booking from the list and no other", async () => {
  const ann = await guest();
  const booking = await paid(ann);
  const pools = [{ pool: "floor", capacity: 5, price_minor: 0 }];
  await openEvent(server, "bygone", { settings: { title: "Bygone", room: null }, pools });
  const bygone = await hold(server, ann.token, "bygone", { pools: { floor: 1 } });
  await server.ask("POST", `/bookings/${bygone}/confirm`, { token: ann.token });
  const { page, complaints, close } = await returning(ann);
  await page.goto(`${server.url}/bookings/${bygone}`);
  await heading(page, "Your booking is confirmed");
  const links = () =>
    page.evaluate(() => Object.keys(JSON.parse(localStorage.getItem("onrush.links") ?? "{}")));
  await expect.poll(links).toEqual([bygone]);
  await server.organise("POST", "/events/bygone/close");
  await server.organise("POST", "/events/bygone/archive", { why: "it is over" });
  await page.goto(`${server.url}/bookings`);
  await page.locator(`a[href="/bookings/${booking}"]`).first().waitFor();
  expect(await page.getByRole("article").count()).toBe(1);
  expect(await page.getByRole("alert").count()).toBe(0);
  expect(await links(), "what is gone for good is not asked for again").toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("event that cannot be read takes its own booking from the list and no other", async () => {
  const ann = await guest();
  const booking = await paid(ann);
  await hold(server, ann.token, "away", { pools: { floor: 1 } });
  const { page, complaints, close } = await returning(ann);
  let isAway = true;
  const problem = { status: 500, code: "INTERNAL", detail: "no", retryable: false };
  await page.route("**/api/v1/events/away", (route) =>
    isAway ? route.fulfill({ status: 500, json: problem }) : route.continue(),
  );
  await page.goto(`${server.url}/bookings`);
  await page.locator(`a[href="/bookings/${booking}"]`).first().waitFor();
  expect(await page.getByRole("article").count()).toBe(1);
  await page.getByRole("alert").waitFor();
  isAway = false;
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await expect.poll(() => page.getByRole("article").count()).toBe(2);
  expect(complaints).toEqual([]);
  await close();
});

test("code carries place and bookings to a second browser, which keeps its own", async () => {
  const ann = await guest();
  const booking = await paid(ann);
  const first = await returning(ann);
  await first.page.goto(`${server.url}/bookings`);
  await first.page.getByRole("link", { name: "Continue on another device" }).click();
  await heading(first.page, "Continue on another device");
  await first.page.getByRole("button", { name: "Make a code" }).click();
  const code = await first.page.locator(".code").innerText();
  expect(code).toMatch(/^[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}$/);
  const name = "QR code that opens this page on the other device, with the code filled in";
  const address = await readCode(first.page, name);
  expect(address).toBe(`${server.url}/carry#${code}`);
  expect(await violations(first.page)).toEqual([]);

  const bo = await guest();
  const own = await paid(bo);
  const { page, complaints, close } = await returning(bo);
  await page.goto(address);
  // Opening it takes nothing over, and leaves no code in the address.
  const field = page.getByLabel("Code", { exact: true });
  expect(await field.inputValue()).toBe(code);
  expect(page.url()).toBe(`${server.url}/carry`);
  expect((await identityOf(page)).user).toBe(bo.user);
  // By keyboard alone.
  await field.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "You can go on here" }).waitFor();
  expect(await violations(page)).toEqual([]);
  expect((await identityOf(page)).user).toBe(ann.user);
  await page.getByRole("main").getByRole("link", { name: "My bookings" }).click();
  await heading(page, "My bookings");
  const listed = page.getByRole("heading", { level: 3 }).getByRole("link");
  await expect.poll(() => listed.count()).toBe(2);
  const there = await Promise.all((await listed.all()).map((link) => link.getAttribute("href")));
  expect(there.sort()).toEqual([`/bookings/${booking}`, `/bookings/${own}`].sort());
  await page.goto(`${server.url}/bookings/${own}/tickets`);
  await page.getByRole("img", { name: "QR code of ticket 1: Standing" }).waitFor();
  expect(complaints).toEqual([]);

  // Whoever has a place here goes back to who this browser was.
  await page.goto(`${server.url}/carry`);
  await page.getByRole("button", { name: "Go back to that visitor" }).click();
  await heading(page, "My bookings");
  expect((await identityOf(page)).user).toBe(bo.user);

  // It works once.
  await page.goto(address);
  await page.getByRole("button", { name: "Continue here" }).click();
  await page.getByText("There is no such code").waitFor();
  await close();
  await first.close();
});

test("code whose answer got lost is said to need a new one, as it works no more", async () => {
  const ann = await guest();
  const { code } = (await server.ask("POST", "/visitors/carry", { token: ann.token })).body;
  const bo = await guest();
  const { page, complaints, close } = await returning(bo);
  await page.goto(`${server.url}/carry#${code}`);
  await page.route(
    "**/api/v1/visitors/carried",
    async (route) => {
      await route.fetch();
      await route.abort();
    },
    { times: 1 },
  );
  await page.getByRole("button", { name: "Continue here" }).click();
  const alert = page.getByRole("alert");
  const anew = "Make a new code on the other device and type it here.";
  await alert
    .filter({ hasText: /^\s*Check your connection first\./ })
    .filter({ hasText: anew })
    .waitFor();
  expect(await alert.filter({ hasText: "nothing is done twice" }).count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Continue here" }).click();
  await alert.filter({ hasText: "There is no such code" }).waitFor();
  expect((await identityOf(page)).user).toBe(bo.user);
  const another = (await server.ask("POST", "/visitors/carry", { token: ann.token })).body.code;
  await page.getByLabel("Code", { exact: true }).fill(another);
  await page.getByRole("button", { name: "Continue here" }).click();
  await page.getByRole("heading", { name: "You can go on here" }).waitFor();
  expect((await identityOf(page)).user).toBe(ann.user);
  expect(complaints).toEqual([]);
  await close();
});

test("code that the server left open is said to need a new one, and nothing of the connection", async () => {
  const { page, close } = await returning(await guest());
  await page.goto(`${server.url}/carry#ABCD-EFGH-JKMN`);
  await page.route("**/api/v1/visitors/carried", (route) =>
    route.fulfill({
      status: 503,
      contentType: "application/problem+json",
      body: JSON.stringify({ code: "STOPPED", status: 503, title: "", detail: "", retryable: true }),
    }),
  );
  await page.getByRole("button", { name: "Continue here" }).click();
  const alert = page.getByRole("alert");
  await alert.filter({ hasText: "Make a new code on the other device and type it here." }).waitFor();
  expect(await alert.filter({ hasText: "connection" }).count()).toBe(0);
  await close();
});

test("drawer of QR codes that is gone has the page loaded anew before a code is made, once", async () => {
  const { page, close } = await returning(await guest());
  let loads = 0;
  let codes = 0;
  page.on("request", (request) => {
    loads += Number(request.isNavigationRequest());
    codes += Number(request.url().endsWith("/api/v1/visitors/carry"));
  });
  await page.route(/\/assets\/qr-.*\.js/, (route) => route.fulfill({ status: 404 }));
  await page.goto(`${server.url}/carry`);
  const anew = page.waitForEvent("load");
  await page.getByRole("button", { name: "Make a code" }).click();
  await anew;
  expect({ loads, codes }).toEqual({ loads: 2, codes: 0 });
  // What is gone for good takes no code away: it can be typed.
  await page.getByRole("button", { name: "Make a code" }).click();
  await page.getByRole("alert").filter({ hasText: "Something went wrong on this page." }).waitFor();
  expect(await page.locator(".code").innerText()).toMatch(/^[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}$/);
  expect({ loads, codes }).toEqual({ loads: 2, codes: 1 });
  await close();
});
