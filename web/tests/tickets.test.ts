import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import decodeQR from "qr/decode.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sell } from "./admin";
import { contentOf, launch, PHONE, violations, type Visit } from "./browser";
import { heading, hold, untilStatus } from "./checkout";
import { enter, pay } from "./scenes";
import { ADMIN_KEY, CARDS, openEvent, SCANNER_KEY, Server, smallPlan } from "./server";

const STARTS_AT = Date.parse("2046-05-01T18:00:00Z");

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  await openEvent(server, "gala", {
    settings: {
      title: "Gala",
      room: null,
      starts_at: STARTS_AT,
      fees: { fixed_minor: 200 },
      refunds: [
        { days_before: 7, percent: 80 },
        { days_before: 1, percent: 50 },
      ],
    },
    pools: [{ pool: "standing", capacity: 100, price_minor: 3_000 }],
    plan: smallPlan(3, 10),
    prices: { Stalls: 4_500 },
  });
  await server.organise("PUT", "/events/gala/texts/en", { title: "The gala night", venue: "Old Opera" });
  await openEvent(server, "sinking", {
    settings: {
      title: "Less and less",
      room: null,
      starts_at: STARTS_AT,
      refunds: [{ days_before: 1, percent: 80 }],
    },
    plan: smallPlan(1, 10),
    prices: { Stalls: 4_500 },
  });
  await openEvent(server, "firm", {
    settings: { title: "No way back", room: null },
    pools: [{ pool: "standing", capacity: 100, price_minor: 3_000 }],
  });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

interface Owner extends Visit {
  token: string;
  booking: string;
}

/** Somebody who has paid for these lines. */
async function owner(event: string, lines: unknown, options: BrowserContextOptions = {}): Promise<Owner> {
  const token = await server.visitor();
  const booking = await hold(server, token, event, lines);
  await pay(server, booking, token, CARDS.good);
  return { ...(await enter(browser, server, { token }, "en", options)), token, booking };
}

/** What a QR code says that the page shows. */
async function readCode(page: Page, name: string): Promise<string> {
  const image = page.getByRole("img", { name });
  return scan(page, await image.evaluate((drawn) => new XMLSerializer().serializeToString(drawn)));
}

/** What a QR code says in this SVG: it is drawn and read as a camera's picture would be. */
async function scan(page: Page, svg: string): Promise<string> {
  const side = 800;
  const pixels = await page.evaluate(
    async ([svg, side]) => {
      const image = new Image();
      image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
      await image.decode();
      const canvas = Object.assign(document.createElement("canvas"), { width: side, height: side });
      const context = canvas.getContext("2d")!;
      context.drawImage(image, 0, 0, side, side);
      const { data } = context.getImageData(0, 0, side, side);
      let text = "";
      for (let at = 0; at < data.length; at += 4) text += data[at]! < 128 ? "#" : " ";
      return text;
    },
    [svg, side] as const,
  );
  const data = new Uint8Array(side * side * 3);
  for (const [at, pixel] of [...pixels].entries()) data.fill(pixel === "#" ? 0 : 255, at * 3, at * 3 + 3);
  return decodeQR({ width: side, height: side, data });
}

/** How many pages there are when the page is printed. */
async function printed(page: Page): Promise<number> {
  const pdf = (await page.pdf({ format: "A4" })).toString("latin1");
  return pdf.match(/\/Type\s*\/Page\b(?!s)/g)?.length ?? 0;
}

test("ticket shows what it is for, and its code lets its bearer in once", async () => {
  const { page, booking, complaints, close } = await owner("gala", { seats: ["A-1"] }, PHONE);
  await page.goto(`${server.url}/bookings/${booking}/tickets`);
  await heading(page, "Your tickets");
  const ticket = page.getByRole("article");
  for (const text of ["The gala night", "Old Opera", "Stalls, row A, seat 1", "Ticket 1 of 1", "2046"]) {
    await ticket.getByText(text).waitFor();
  }
  const code = await readCode(page, "QR code of ticket 1: Stalls, row A, seat 1");
  const scanned = await server.ask("POST", "/check-in", {
    token: SCANNER_KEY,
    body: { code, event: "gala" },
  });
  expect(scanned.body).toMatchObject({ booking, ticket: 1, for: { seat: "A-1" }, name: "Ann Lee" });
  expect(await violations(page)).toEqual([]);
  await page.reload();
  await ticket.getByText("Used", { exact: true }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("booking of more tickets than a visitor may ask for things in a minute is shown whole", async () => {
  const strict = await Server.start({ ONRUSH_LIMITS__USER_READS_PER_MIN: "60" });
  try {
    await openEvent(strict, "outing", {
      settings: { title: "The works outing", room: null, max_per_user: null },
      pools: [{ pool: "standing", capacity: 1_000, price_minor: 1_000 }],
    });
    const { booking, token } = await sell(strict, "outing", { pools: { standing: 320 } });
    const { page, complaints, close } = await enter(browser, strict, { token });
    await page.goto(`${strict.url}/bookings/${booking}/tickets`);
    await page.getByRole("article").first().waitFor();
    // By then few of them are drawn.
    expect(await printed(page)).toBe(320);
    await page.getByRole("img", { name: "QR code of ticket 320: Standing" }).waitFor();
    expect(await page.getByRole("article").count()).toBe(320);
    const code = await readCode(page, "QR code of ticket 320: Standing");
    const scanned = await strict.ask("POST", "/check-in", { token: SCANNER_KEY, body: { code } });
    expect(scanned.body).toMatchObject({ booking, ticket: 320 });
    expect(complaints).toEqual([]);
    await close();
  } finally {
    await strict.stop();
  }
});

test("tickets stay on the page when the network goes away", async () => {
  const { page, booking, close } = await owner("gala", { pools: { standing: 2 } });
  await page.goto(`${server.url}/bookings/${booking}/tickets`);
  await page.getByRole("img", { name: "QR code of ticket 2: Standing" }).waitFor();
  await page.context().setOffline(true);
  await page.getByText("You are offline. As long as this page stays open").waitFor();
  expect(await readCode(page, "QR code of ticket 2: Standing")).toMatch(/^ey[\w-]+\.[\w-]+\.[\w-]+$/);
  await close();
});

test("ticket is saved as a picture, and as SVG with its texts", async () => {
  const { page, token, booking, complaints, close } = await owner("gala", { seats: ["A-2"] });
  await page.goto(`${server.url}/bookings/${booking}/tickets`);
  const save = async (name: RegExp) => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name }).click(),
    ]);
    return { name: download.suggestedFilename(), bytes: await contentOf(download) };
  };
  await page.getByRole("article").getByText("Stalls, row A, seat 2").waitFor();
  const svg = await save(/Save as SVG/);
  expect(svg.name).toMatch(/^ticket-[0-9A-F]{8}-1\.svg$/);
  expect(svg.bytes.toString()).toContain("Stalls, row A, seat 2");
  const { tickets } = (await server.ask("GET", `/bookings/${booking}/tickets`, { token })).body;
  expect(await scan(page, svg.bytes.toString())).toBe(tickets[0].code);
  const png = await save(/Save as picture/);
  expect(png.name).toMatch(/^ticket-[0-9A-F]{8}-1\.png$/);
  expect(png.bytes.subarray(1, 4).toString()).toBe("PNG");
  // Twice 640 pixels wide, by the picture's header.
  expect(png.bytes.readUInt32BE(16)).toBe(1_280);
  expect(complaints).toEqual([]);
  await close();
});

test.each(["there", "missing"])(
  "title without a blank stands whole on the saved picture, broken between letters: Intl.Segmenter is %s",
  async (state) => {
    // Each of these letters is two characters.
    const title = "n\u0308".repeat(150);
    await openEvent(server, `long-${state}`, {
      settings: { title, room: null },
      pools: [{ pool: "standing", capacity: 10, price_minor: 3_000 }],
    });
    const { page, booking, close } = await owner(`long-${state}`, { pools: { standing: 1 } });
    if (state === "missing") await page.addInitScript(() => void Reflect.deleteProperty(Intl, "Segmenter"));
    await page.goto(`${server.url}/bookings/${booking}/tickets`);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: /Save as SVG/ }).click(),
    ]);
    const svg = (await contentOf(download)).toString();
    const lines = await page.evaluate((svg) => {
      const picture = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
      document.body.append(picture);
      return [...picture.querySelectorAll("text")].map((line) => {
        const { x, width } = line.getBBox();
        return { text: line.textContent, end: x + width };
      });
    }, svg);
    // The picture is 640 wide.
    expect(lines.filter(({ end }) => end > 620)).toEqual([]);
    const parts = lines.map(({ text }) => text).filter((text) => text.includes("n\u0308"));
    expect(parts.join("")).toBe(title);
    expect(parts.filter((part) => !part.startsWith("n"))).toEqual([]);
    await close();
  },
);

test("printed, each ticket has a page of its own and nothing else is on it", async () => {
  const options = { colorScheme: "dark" } as const;
  const { page, booking, close } = await owner("gala", { pools: { standing: 3 } }, options);
  await page.goto(`${server.url}/bookings/${booking}/tickets`);
  await page.getByRole("img", { name: "QR code of ticket 3" }).waitFor();
  await page.emulateMedia({ media: "print" });
  expect(await page.getByRole("navigation").isVisible()).toBe(false);
  expect(await page.getByRole("button").filter({ visible: true }).count()).toBe(0);
  expect(
    await page
      .locator("h2")
      .first()
      .evaluate((title) => getComputedStyle(title).color),
  ).toBe("rgb(22, 24, 31)");
  expect(await printed(page)).toBe(3);
  await close();
});

test("tickets of a booking that is not confirmed are not there, and the page says why", async () => {
  const token = await server.visitor();
  const booking = await hold(server, token, "gala", { seats: ["A-3"] });
  const { page, close } = await enter(browser, server, { token });
  await page.goto(`${server.url}/bookings/${booking}/tickets`);
  await heading(page, "There are no tickets");
  await page.getByRole("link", { name: "Back to the booking" }).click();
  await heading(page, "Complete your booking");
  await close();
});

test("bookings of all events are listed by what they need, the newest first", async () => {
  const { page, token, booking, complaints, close } = await owner("gala", { seats: ["B-1"] }, PHONE);
  const firm = await hold(server, token, "firm", { pools: { standing: 1 } });
  await pay(server, firm, token, CARDS.good);
  const held = await hold(server, token, "gala", { pools: { standing: 1 }, seats: ["B-2"] });
  const released = await hold(server, token, "gala", { pools: { standing: 1 } });
  await server.ask("POST", `/bookings/${released}/cancel`, { token });
  await page.goto(`${server.url}/bookings`);
  await heading(page, "My bookings");
  await page.getByRole("heading", { level: 2, name: "Waiting for you" }).waitFor();
  const links = await page.getByRole("heading", { level: 3 }).getByRole("link").all();
  const order = await Promise.all(links.map((link) => link.getAttribute("href")));
  expect(order).toEqual([held, firm, booking, released].map((id) => `/bookings/${id}`));
  expect(await page.getByRole("article").filter({ hasText: "No way back" }).getByRole("button").count()).toBe(
    0,
  );
  await page.getByText("1 × Standing, 1 seat").waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("link", { name: "Go on to pay" }).click();
  await heading(page, "Complete your booking");
  expect(complaints).toEqual([]);
  await close();
});

test("who has never booked is told so, and is led to the events", async () => {
  const { page, close } = await enter(browser, server, { token: await server.visitor() });
  await page.goto(`${server.url}/bookings`);
  await page.getByText("You have no bookings in this browser yet.").waitFor();
  await page.getByRole("main").getByRole("link", { name: "All events" }).waitFor();
  await close();
});

test("confirmed booking is cancelled for exactly what the page said goes back", async () => {
  const { page, token, booking, complaints, close } = await owner("gala", { seats: ["C-1", "C-2"] });
  await page.goto(`${server.url}/bookings`);
  await page.getByRole("button", { name: "Cancel the booking" }).click();
  const dialog = page.getByRole("dialog", { name: "Cancel this booking?" });
  await dialog.getByText("You get back 80 % of the price of the tickets.").waitFor();
  const sums = await dialog.locator("dl > div").allInnerTexts();
  const words = sums.map((line) => line.replace(/\s+/g, " "));
  expect(words).toEqual(["You paid €92.00", "Goes back to you €72.00", "Is kept €20.00"]);
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Yes, cancel it" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByText("€72.00 goes back to you").waitFor();
  await untilStatus(server, { token, booking }, "cancelled");
  await page.getByRole("heading", { level: 3 }).getByRole("link").click();
  await heading(page, "This booking is cancelled");
  await page.getByText("€72.00 goes back the way you paid.").waitFor();
  await page.goto(`${server.url}/bookings/${booking}/tickets`);
  await heading(page, "There are no tickets");
  const { body } = await server.ask("GET", `/admin/refunds?booking=${booking}`, { token: ADMIN_KEY });
  expect(body.refunds).toMatchObject([{ amount_minor: 7_200 }]);
  expect(complaints).toEqual([]);
  await close();
});

test("whoever would get back less than they were shown is asked again", async () => {
  const { page, token, booking, complaints, close } = await owner("sinking", { seats: ["A-1"] });
  await page.goto(`${server.url}/bookings/${booking}`);
  await heading(page, "Your booking is confirmed");
  // The dialog looks when it opens: what it shows then is what is agreed to.
  const looked = page.waitForResponse(`**/api/v1/bookings/${booking}`);
  await page.getByRole("button", { name: "Cancel the booking" }).click();
  await (await looked).finished();
  const dialog = page.getByRole("dialog", { name: "Cancel this booking?" });
  await dialog.getByText("€36.00").waitFor();
  // A deadline passes while the wish is on its way, and the page cannot look.
  await page.route(`**/api/v1/bookings/${booking}`, (route) => route.abort());
  const refunds = [{ days_before: 1, percent: 40 }];
  await page.route(/\/cancel$/, async (route) => {
    await server.ask("PATCH", "/admin/events/sinking", { token: ADMIN_KEY, body: { refunds } });
    await page.unroute(`**/api/v1/bookings/${booking}`);
    await route.continue();
  });
  await dialog.getByRole("button", { name: "Yes, cancel it" }).click();
  await dialog.getByText("Less goes back by now than was shown.", { exact: false }).waitFor();
  await dialog.getByText("€18.00").waitFor();
  expect((await server.ask("GET", `/bookings/${booking}`, { token })).body.status).toBe("confirmed");
  await dialog.getByRole("button", { name: "Yes, cancel it" }).click();
  await heading(page, "This booking is cancelled");
  expect(complaints).toEqual([]);
  await close();
});

test("confirmed booking is cancelled once although the answer got lost", async () => {
  const { page, token, booking, close } = await owner("gala", { seats: ["C-3"] });
  await page.goto(`${server.url}/bookings/${booking}`);
  await heading(page, "Your booking is confirmed");
  let isLost = true;
  await page.route("**/api/v1/bookings/*/cancel", async (route) => {
    if (!isLost) return route.continue();
    isLost = false;
    await route.fetch();
    await route.abort();
  });
  await page.getByRole("button", { name: "Cancel the booking" }).click();
  await page.getByRole("button", { name: "Yes, cancel it" }).click();
  await heading(page, "This booking is cancelled");
  expect(isLost).toBe(false);
  const { body } = await server.ask("GET", `/bookings/${booking}`, { token });
  expect(body.refund_minor).toBe(3_600);
  await close();
});

test("cancellation that the server leaves open is asked for again under its key", async () => {
  const { page, booking, close } = await owner("gala", { seats: ["C-4"] });
  await page.goto(`${server.url}/bookings/${booking}`);
  await heading(page, "Your booking is confirmed");
  const keys: string[] = [];
  const problem = { status: 500, code: "INTERNAL", detail: "no", retryable: false };
  await page.route("**/api/v1/bookings/*/cancel", (route) => {
    keys.push(route.request().headers()["idempotency-key"]!);
    return keys.length > 1 ? route.continue() : route.fulfill({ status: 500, json: problem });
  });
  await page.getByRole("button", { name: "Cancel the booking" }).click();
  const yes = page.getByRole("button", { name: "Yes, cancel it" });
  await yes.click();
  await page.getByRole("dialog").getByText("nothing is done twice").waitFor();
  await yes.click();
  await heading(page, "This booking is cancelled");
  expect(keys).toHaveLength(2);
  expect(new Set(keys).size).toBe(1);
  await close();
});
