import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser, Page, Route } from "playwright-core";
import encodeQR from "qr";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hold, sell, signIn, type Sold, ticketCode } from "./admin";
import { launch, PHONE, violations, visit } from "./browser";
import { CARDS, openEvent, SCANNER_KEY, Server, smallPlan } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  await openEvent(server, "door", {
    settings: { room: null },
    plan: smallPlan(2, 5),
    prices: { Stalls: 4_000 },
    pools: [{ pool: "ga", capacity: 20, price_minor: 4_500 }],
  });
  await openEvent(server, "other-door", {
    settings: { room: null },
    pools: [{ pool: "ga", capacity: 20, price_minor: 4_500 }],
  });
  await openEvent(server, "family-door", {
    settings: { room: null },
    pools: [{ pool: "ga", capacity: 20, price_minor: 4_500 }],
  });
  await server.organise("PUT", "/events/family-door/types", {
    pool: "ga",
    types: [
      { id: "adult", name: "Adult", percent_bp: 10_000 },
      { id: "child", name: "Child", percent_bp: 5_000, proof: true },
    ],
    by: "Ann",
    why: "families",
  });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

async function type(page: Page, code: string): Promise<void> {
  await page.getByLabel("Ticket code").fill(code);
  await page.getByRole("button", { name: "Check in", exact: true }).click();
}

/** A visitor who holds these lines and pays under this name. */
async function buy(event: string, lines: unknown, name: string): Promise<Sold> {
  const held = await hold(server, event, lines);
  const buyer = { name, email: "ann@example.org", language: "en" };
  const payment = await server.ask("POST", `/bookings/${held.booking}/payment`, {
    token: held.token,
    key: "pay",
    body: { buyer },
  });
  const payer = await visit(browser);
  await payer.page.goto(payment.body.url);
  await payer.page.locator("input").first().fill(CARDS.good);
  await payer.page.getByRole("button").first().click();
  const status = async () =>
    (await server.ask("GET", `/bookings/${held.booking}`, { token: held.token })).body.status;
  await expect.poll(status, { timeout: 20_000 }).toBe("confirmed");
  await payer.close();
  return held;
}

test("typed code lets in once and names the seat; the second time says when it was used", async () => {
  const code = await ticketCode(server, await sell(server, "door", { seats: ["A-1"] }));
  const { page, complaints, close } = await visit(browser, PHONE);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await type(page, code);
  await page.getByRole("heading", { name: "Welcome" }).waitFor();
  await page.getByText("Stalls · A · 1").first().waitFor();
  expect(await violations(page)).toEqual([]);
  await type(page, code);
  await page.getByRole("heading", { name: "Used already" }).waitFor();
  await page.getByText("Somebody came in with this ticket").waitFor();
  expect(await violations(page)).toEqual([]);
  const last = page.getByRole("listitem").filter({ hasText: "Stalls · A · 1" });
  await last.getByText("Welcome").waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("buyer's name is shown at the door", async () => {
  const held = await buy("door", { seats: ["A-2"] }, "Ann Lee");
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await type(page, await ticketCode(server, held));
  await page.getByText("Ann Lee").waitFor();
  await close();
});

test("ticket that is void, of another event or no ticket at all is refused in words", async () => {
  const sold = await sell(server, "door", { seats: ["A-3"] });
  const code = await ticketCode(server, sold);
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in");
  await type(page, "not-a-ticket");
  await page.getByText("This is not one of our tickets").waitFor();
  await page.getByLabel("Tickets for").selectOption("Event other-door");
  await type(page, code);
  // The answer before reads the same: the second is there when the first has gone into the list.
  await page.locator("ol > li").waitFor();
  await page.getByText("This ticket is for another event").waitFor();
  await page.getByLabel("Tickets for").selectOption("All events");
  await server.organise("POST", `/events/door/bookings/${sold.booking}/cancel`, { by: "Ann", why: "ill" });
  await type(page, code);
  await page.getByText("The booking was cancelled: the ticket is void.").waitFor();
  await close();
});

test("code typed while the answer before is under way stays in its field", async () => {
  const code = await ticketCode(server, await sell(server, "door", { pools: { ga: 1 } }));
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  const answer = await holdAnswers(page);
  await type(page, code);
  await page.getByLabel("Ticket code").fill("the-next-one");
  answer();
  await page.getByRole("heading", { name: "Welcome" }).waitFor();
  expect(await page.getByLabel("Ticket code").inputValue()).toBe("the-next-one");
  await close();
});

test("hand scanner that does not wait for an answer loses no ticket", async () => {
  const codes: string[] = [];
  for (const pools of [{ ga: 1 }, { ga: 1 }]) {
    codes.push(await ticketCode(server, await sell(server, "door", { pools })));
  }
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  let answer = () => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  const asked: string[] = [];
  await page.route("**/api/v1/check-in", async (route) => {
    asked.push(route.request().postDataJSON().code);
    await held;
    await route.continue();
  });
  const field = page.getByLabel("Ticket code");
  // The second of them is scanned twice while nobody answers.
  for (const code of [codes[0]!, codes[1]!, codes[1]!]) {
    await field.fill(code);
    await field.press("Enter");
    expect(await field.inputValue()).toBe("");
  }
  answer();
  await page.getByRole("heading", { name: "Last scans" }).waitFor();
  await page.getByRole("heading", { name: "Welcome" }).waitFor();
  expect(asked).toEqual(codes);
  await close();
});

/** An answer of the server that is no admission. */
function problem(status: number, code: string, retryable: boolean) {
  return {
    status,
    contentType: "application/problem+json",
    body: JSON.stringify({ code, status, title: code, detail: `it says ${code}`, retryable }),
  };
}

/** What the server says that was told to stop while it decided. */
const STOPPED = problem(503, "STOPPED", true);

test.each([
  ["lost", (route: Route) => route.abort()],
  ["that leaves it open", (route: Route) => route.fulfill(STOPPED)],
])("answer %s is not known; asked again, it is this device's own admission", async (_, answer) => {
  const code = await ticketCode(server, await sell(server, "door", { pools: { ga: 1 } }));
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await page.route("**/api/v1/check-in", async (route) => {
    // The server hears it; the device does not hear the server.
    await route.fetch();
    await answer(route);
  });
  await type(page, code);
  await page.getByRole("heading", { name: "Not known" }).waitFor();
  await page.unroute("**/api/v1/check-in");
  await page.getByRole("button", { name: "Ask again" }).dblclick();
  await page.getByRole("heading", { name: "Welcome" }).waitFor();
  expect(await page.getByText("Used already").count()).toBe(0);
  await page.getByText("by this device, whose first answer got lost").waitFor();
  await close();
});

test("answer that got lost is this device's own admission after a reload, too", async () => {
  const code = await ticketCode(server, await sell(server, "door", { pools: { ga: 1 } }));
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await page.route("**/api/v1/check-in", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await type(page, code);
  await page.getByRole("heading", { name: "Not known" }).waitFor();
  await page.unroute("**/api/v1/check-in");
  await page.reload();
  await type(page, code);
  await page.locator(".result section.in").waitFor();
  await page.getByText("by this device, whose first answer got lost").waitFor();
  // Now it is known: whoever shows a copy is not let in by the same key.
  await type(page, code);
  await page.getByRole("heading", { name: "Used already" }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test.each([
  [503, "EVENT_REBUILDING"],
  [429, "TOO_MANY_CONNECTIONS"],
])("answer %i %s says nothing of the ticket, which is let in when asked again", async (status, code) => {
  const ticket = await ticketCode(server, await sell(server, "door", { pools: { ga: 1 } }));
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await page.route("**/api/v1/check-in", (route) => route.fulfill(problem(status, code, true)));
  await type(page, ticket);
  await page.locator(".result h2").waitFor();
  expect(await page.locator(".result h2").innerText()).toBe("Not known");
  expect(await page.getByText("Not valid").count()).toBe(0);
  await page.unroute("**/api/v1/check-in");
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.getByRole("heading", { name: "Welcome" }).waitFor();
  await close();
});

test("key without the right to let in is trouble, and says nothing of the ticket", async () => {
  const codes: string[] = [];
  for (const pools of [{ ga: 1 }, { ga: 1 }]) {
    codes.push(await ticketCode(server, await sell(server, "door", { pools })));
  }
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await type(page, codes[0]!);
  await page.getByRole("heading", { name: "Welcome" }).waitFor();
  await page.route("**/api/v1/check-in", (route) => route.fulfill(problem(403, "SCOPE_MISSING", false)));
  await type(page, codes[1]!);
  await page.getByRole("alert").waitFor();
  expect(await page.getByText("Not valid").count()).toBe(0);
  // Nor is the ticket before taken for this one.
  expect(await page.getByRole("heading", { name: "Welcome" }).count()).toBe(0);
  await page.unroute("**/api/v1/check-in");
  await type(page, codes[1]!);
  await page.getByRole("heading", { name: "Welcome" }).waitFor();
  await close();
});

test("event remembered from another day that is gone leaves all events to choose from", async () => {
  const code = await ticketCode(server, await sell(server, "door", { pools: { ga: 1 } }));
  const { page, close } = await visit(browser);
  await page.addInitScript(() => localStorage.setItem("onrush.check-in.event", "gone"));
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await page.getByRole("option", { name: "Event other-door" }).waitFor({ state: "attached" });
  expect(await page.getByLabel("Tickets for").inputValue()).toBe("");
  await type(page, code);
  await page.locator(".result h2").waitFor();
  expect(await page.locator(".result h2").innerText()).toBe("Welcome");
  await close();
});

test("event on the second page of the list can be chosen, and stays chosen", async () => {
  const { page, close } = await visit(browser);
  await page.addInitScript(() => localStorage.setItem("onrush.check-in.event", "other-door"));
  // A server of so many events that the list comes in pages.
  await page.route(/\/api\/v1\/events\?/, async (route) => {
    const all = (await (await route.fetch()).json()).events as { event: string }[];
    const isSecond = new URL(route.request().url()).searchParams.has("after");
    const events = all.filter(({ event }) => (event === "other-door") === isSecond);
    await route.fulfill({ json: { events, ...(!isSecond && { next: "door" }) } });
  });
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await page.getByRole("option", { name: "Event other-door" }).waitFor({ state: "attached" });
  expect(await page.getByLabel("Tickets for").inputValue()).toBe("other-door");
  await close();
});

test("ticket that was used elsewhere after a request that got lost is used", async () => {
  const code = await ticketCode(server, await sell(server, "door", { pools: { ga: 1 } }));
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  // At this very moment somebody shows a copy at another gate.
  await page.route("**/api/v1/check-in", (route) => route.abort());
  await type(page, code);
  await page.getByRole("heading", { name: "Not known" }).waitFor();
  await page.unroute("**/api/v1/check-in");
  const used = await server.ask("POST", "/check-in", { token: SCANNER_KEY, body: { code } });
  expect(used.status).toBe(200);
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.getByRole("heading", { name: "Used already" }).waitFor();
  await close();
});

test("camera reads a ticket's QR code", async () => {
  const code = await ticketCode(server, await sell(server, "door", { seats: ["B-1"] }));
  const dir = await mkdtemp(path.join(tmpdir(), "onrush-camera-"));
  const film = path.join(dir, "ticket.y4m");
  await writeFile(film, filmOf(code));
  const filming = await launch([
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
    `--use-file-for-fake-video-capture=${film}`,
  ]);
  try {
    const { page, complaints } = await visit(filming, { permissions: ["camera"] });
    await signIn(page, server, "/admin/check-in", SCANNER_KEY);
    await page.getByRole("button", { name: "Start camera" }).click();
    await page.getByRole("heading", { name: "Welcome" }).waitFor({ timeout: 20_000 });
    await page.getByText(seatName(1)).waitFor();
    // It stays in the picture, and is not taken for a second visit.
    const played = () => page.locator("video").evaluate((video: HTMLVideoElement) => video.currentTime);
    const readAt = await played();
    await expect.poll(played, { timeout: 20_000 }).toBeGreaterThan(readAt + 2);
    await page.getByRole("button", { name: "Stop camera" }).click();
    expect(await page.getByText("Used already").count()).toBe(0);
    expect(complaints).toEqual([]);
  } finally {
    await filming.close();
    await rm(dir, { recursive: true });
  }
});

test("copy shown right after its ticket is told from it, and the server is not asked", async () => {
  const code = await ticketCode(server, await sell(server, "door", { seats: ["B-2"] }));
  const dir = await mkdtemp(path.join(tmpdir(), "onrush-camera-"));
  const film = path.join(dir, "ticket.y4m");
  // The film begins again: somebody else holds up the same code.
  await writeFile(film, filmOf(code, { goneS: 1.5 }));
  const filming = await launch([
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
    `--use-file-for-fake-video-capture=${film}`,
  ]);
  try {
    const { page, complaints } = await visit(filming, { permissions: ["camera"] });
    let asked = 0;
    await page.route("**/api/v1/check-in", (route) => {
      asked += 1;
      return route.continue();
    });
    await signIn(page, server, "/admin/check-in", SCANNER_KEY);
    const cards = await noteCards(page);
    await page.getByRole("button", { name: "Start camera" }).click();
    const result = page.locator(".result section");
    await result.getByRole("heading", { name: "The same ticket" }).waitFor();
    await result.getByText(/^Let in at \d+:\d\d:\d\d.*\. Nobody else comes in with it\.$/).waitFor();
    await result.getByText(seatName(2)).waitFor();
    expect(asked).toBe(1);
    // With the ticket the green went, before anybody else came.
    expect(await cards()).toEqual(["Welcome", "Welcome, gone", "The same ticket"]);
    await page.getByRole("button", { name: "Stop camera" }).click();
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
  } finally {
    await filming.close();
    await rm(dir, { recursive: true });
  }
});

test("ticket that comes back into the picture keeps its type, the proof to check and the name", async () => {
  const wish = { pools: { ga: 1 }, types: { pools: { ga: { child: 1 } } } };
  const code = await ticketCode(server, await buy("family-door", wish, "Kim Lee"));
  await atCamera(async (page) => {
    const result = page.locator(".result section");
    await film(page, [code]);
    await result.getByRole("heading", { name: "Welcome" }).waitFor();
    // Who is asked for a proof lowers the phone to look for it.
    await film(page, [...AWAY, code]);
    await result.getByRole("heading", { name: "The same ticket" }).waitFor();
    await result.getByText("Child: check proof").waitFor();
    await result.getByText("Kim Lee").waitFor();
    await film(page, [...AWAY, code]);
    const before = page.getByRole("listitem").filter({ hasText: "The same ticket" });
    await before.getByText("Kim Lee").waitFor();
    await result.getByText("Child: check proof").waitFor();
    await result.getByText("Kim Lee").waitFor();
    expect(await violations(page)).toEqual([]);
  });
});

test("ticket that was typed in stays green while the camera sees nobody", async () => {
  const code = await ticketCode(server, await sell(server, "door", { pools: { ga: 1 } }));
  await atCamera(async (page) => {
    await type(page, code);
    await page.locator(".result section.in").waitFor();
    await film(page, [...AWAY, null]);
    await filmed(page);
    expect(await page.locator(".result h2").innerText()).toBe("Welcome");
    expect(await page.locator(".result section.gone").count()).toBe(0);
  });
});

test("green of a ticket goes as soon as the camera sees the next one", async () => {
  const codes: string[] = [];
  for (const pools of [{ ga: 1 }, { ga: 1 }]) {
    codes.push(await ticketCode(server, await sell(server, "door", { pools })));
  }
  await atCamera(async (page) => {
    await film(page, [codes[0]!]);
    await page.locator(".result section.in:not(.gone)").waitFor();
    const answer = await holdAnswers(page);
    await film(page, [codes[1]!]);
    await page.locator(".result section.in.gone").waitFor();
    answer();
    await page.locator("ol > li").waitFor();
    await page.locator(".result section.in:not(.gone)").waitFor();
  });
});

test("copy that is shown before the answer for its ticket came is told from it", async () => {
  const code = await ticketCode(server, await sell(server, "door", { seats: ["B-3"] }));
  await atCamera(async (page) => {
    const answer = await holdAnswers(page);
    const cards = await noteCards(page);
    await film(page, [code, ...AWAY, code, code]);
    await filmed(page);
    answer();
    const result = page.locator(".result section");
    await result.getByRole("heading", { name: "The same ticket" }).waitFor();
    await result.getByText(/^Let in at .*: one person\..* look who showed it first\.$/).waitFor();
    await result.getByText(seatName(3)).waitFor();
    // The one before them is in.
    await page
      .getByRole("listitem")
      .filter({ hasText: seatName(3) })
      .getByText("Welcome")
      .waitFor();
    expect(await cards()).toEqual(["The same ticket"]);
  });
});

test("ticket that is gone when its answer comes is not green", async () => {
  const code = await ticketCode(server, await sell(server, "door", { seats: ["B-4"] }));
  await atCamera(async (page) => {
    const answer = await holdAnswers(page);
    const cards = await noteCards(page);
    await film(page, [code, ...AWAY, null]);
    await filmed(page);
    answer();
    await page.locator(".result section.in.gone").waitFor();
    expect(await cards()).toEqual(["Welcome, gone"]);
    // Within 3 s of the answer, whenever that came.
    await film(page, [code]);
    await page
      .locator(".result")
      .getByText(/^Let in at .* Nobody else comes in with it\.$/)
      .waitFor();
  });
});

test("camera that starts when the page is left already is switched off", async () => {
  const filming = await launch(["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]);
  try {
    const { page } = await visit(filming, { permissions: ["camera"] });
    await page.addInitScript(() => {
      const cameras = navigator.mediaDevices;
      const own = cameras.getUserMedia.bind(cameras);
      const released = new Promise<void>((resolve) => Object.assign(window, { release: resolve }));
      cameras.getUserMedia = async (wish) => {
        await released;
        const stream = await own(wish);
        Object.assign(window, { tracks: stream.getTracks() });
        return stream;
      };
    });
    await signIn(page, server, "/admin/check-in");
    await page.getByRole("button", { name: "Start camera" }).click();
    await page.getByRole("link", { name: "Events", exact: true }).click();
    await page.getByRole("heading", { name: "Events" }).waitFor();
    await page.evaluate(() => (window as unknown as { release: () => void }).release());
    const states = () =>
      page.evaluate(() =>
        (window as unknown as { tracks?: MediaStreamTrack[] }).tracks?.map((track) => track.readyState),
      );
    await expect.poll(states).toEqual(["ended"]);
  } finally {
    await filming.close();
  }
});

/** A seat of row B. Nobody waits for its name, which is its id where the names come late. */
function seatName(number: number): RegExp {
  return new RegExp(`(Stalls · B · |B-)${number}\\b`);
}

/** Nothing in the picture, for longer than a ticket may be out of it: each look takes 120 ms or more. */
const AWAY = new Array<null>(9).fill(null);

/** What a camera of the tests has to show. */
interface Film {
  film: (string | null)[];
}

/** A scanner's page whose camera is on, and sees nothing until a {@link film} is put in. */
async function atCamera(use: (page: Page) => Promise<void>): Promise<void> {
  const filming = await launch(["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]);
  try {
    const { page, complaints } = await visit(filming, { permissions: ["camera"] });
    await page.addInitScript(() => {
      const camera = window as unknown as Film;
      camera.film = [null];
      class BarcodeDetector {
        static getSupportedFormats() {
          return Promise.resolve(["qr_code"]);
        }
        detect() {
          const code = camera.film.length > 1 ? camera.film.shift() : camera.film[0];
          return Promise.resolve(code ? [{ rawValue: code }] : []);
        }
      }
      Object.assign(window, { BarcodeDetector });
    });
    await signIn(page, server, "/admin/check-in", SCANNER_KEY);
    await page.getByRole("button", { name: "Start camera" }).click();
    await page.getByRole("button", { name: "Stop camera" }).waitFor();
    await use(page);
    expect(complaints).toEqual([]);
  } finally {
    await filming.close();
  }
}

/** Lets the camera see this code or none at each look, and the last of them from then on. */
async function film(page: Page, codes: (string | null)[]): Promise<void> {
  await page.evaluate((codes) => {
    (window as unknown as Film).film = codes;
  }, codes);
}

/** Until the camera was looked at so often that the last of its film stays. */
async function filmed(page: Page): Promise<void> {
  await expect.poll(() => page.evaluate(() => (window as unknown as Film).film.length)).toBe(1);
}

/** Lets the server's answers wait from now on, until the returned function is called. */
async function holdAnswers(page: Page): Promise<() => void> {
  let answer = () => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  await page.route("**/api/v1/check-in", async (route) => {
    await held;
    await route.continue();
  });
  return () => answer();
}

/** Notes from now on which cards are shown, and whether their bearer is said to be gone: each once. */
async function noteCards(page: Page): Promise<() => Promise<string[]>> {
  await page.locator(".result").waitFor();
  await page.evaluate(() => {
    const shown: string[] = [];
    Object.assign(window, { shown });
    new MutationObserver(() => {
      const card = document.querySelector(".result section");
      const heading = card?.querySelector("h2")?.textContent;
      if (card) shown.push(`${heading}${card.matches(".gone") ? ", gone" : ""}`);
    }).observe(document.querySelector(".result")!, { subtree: true, childList: true, attributes: true });
  });
  return async () => {
    const shown = await page.evaluate(() => (window as unknown as { shown: string[] }).shown);
    return [...new Set(shown)];
  };
}

/**
 * Two seconds of film that show this code as a QR code, and then none for `goneS`: YUV4MPEG2, which
 * Chromium plays as its camera.
 */
function filmOf(code: string, { goneS = 0 } = {}): Buffer {
  const width = 640;
  const height = 480;
  const dots = encodeQR(code, "raw", { border: 4 });
  const scale = Math.floor(height / dots.length);
  const left = (width - scale * dots.length) >> 1;
  const top = (height - scale * dots.length) >> 1;
  const luma = Buffer.alloc(width * height, 235);
  for (const [row, line] of dots.entries()) {
    for (const [column, isDark] of line.entries()) {
      if (!isDark) continue;
      for (let y = 0; y < scale; y += 1) {
        const from = (top + row * scale + y) * width + left + column * scale;
        luma.fill(16, from, from + scale);
      }
    }
  }
  const chroma = Buffer.alloc((width * height) / 2, 128);
  const frame = Buffer.concat([Buffer.from("FRAME\n"), luma, chroma]);
  const blank = Buffer.concat([Buffer.from("FRAME\n"), Buffer.alloc(width * height, 235), chroma]);
  const head = Buffer.from(`YUV4MPEG2 W${width} H${height} F10:1 Ip A1:1 C420jpeg\n`);
  const frames = [...new Array<Buffer>(20).fill(frame), ...new Array<Buffer>(10 * goneS).fill(blank)];
  return Buffer.concat([head, ...frames]);
}
