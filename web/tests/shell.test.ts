import type { Browser, Page, Route } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signIn } from "./admin";
import { launch, PHONE, violations, visit } from "./browser";
import { openEvent, SCANNER_KEY, Server } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test("page that does not exist says so and leads back", async () => {
  const { page, complaints, close } = await visit(browser);
  await page.goto(`${server.url}/events/a/b/c`);
  await page.getByRole("heading", { name: "There is no such page" }).waitFor();
  await page.getByRole("link", { name: "All events" }).click();
  await page.waitForURL(`${server.url}/`);
  expect(complaints).toEqual([]);
  await close();
});

test("documents have the policy, and what is below assets is kept for good", async () => {
  const response = await fetch(`${server.url}/`, { headers: { "accept-encoding": "gzip" } });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-security-policy")).toContain("script-src 'self'; connect-src 'self'");
  expect(response.headers.get("cache-control")).toBe("no-cache");
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(await response.text())![1]!;
  const part = await fetch(server.url + script);
  expect(part.headers.get("cache-control")).toContain("immutable");
  const again = await fetch(server.url + script, { headers: { "if-none-match": part.headers.get("etag")! } });
  expect(again.status).toBe(304);
});

/** A page that was opened before the server was updated asks for parts that are gone. */
test("page whose next part is gone is loaded anew, once", async () => {
  const { page, close } = await visit(browser);
  let loads = 0;
  page.on("request", (request) => (loads += Number(request.isNavigationRequest())));
  await page.goto(`${server.url}/`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  let isGone = () => loads < 2;
  await page.route(/\/assets\/Bookings-.*\.js/, (route) =>
    isGone() ? route.fulfill({ status: 404 }) : route.continue(),
  );
  await page.getByRole("link", { name: "My bookings" }).click();
  await page.getByRole("heading", { level: 1, name: "My bookings" }).waitFor();
  expect(loads).toBe(2);

  // What is gone for good is told, and nothing goes round in circles.
  await page.goto(`${server.url}/`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  isGone = () => true;
  await page.getByRole("link", { name: "My bookings" }).click();
  await page.getByRole("button", { name: "Try again" }).waitFor();
  expect(loads).toBe(4);
  await close();
});

test("page whose texts in another language are gone is loaded anew by who wants it to be", async () => {
  const { page, complaints, close } = await visit(browser);
  let loads = 0;
  page.on("request", (request) => (loads += Number(request.isNavigationRequest())));
  const there = new Set<string>();
  let isGone = () => false;
  await page.route(/\/assets\/common-.*\.js/, (route) => {
    const part = route.request().url();
    if (isGone() && !there.has(part)) return route.fulfill({ status: 404 });
    there.add(part);
    return route.continue();
  });
  const language = page.getByRole("banner").getByRole("combobox");
  const alert = page.getByRole("banner").getByRole("alert");
  const shown = async (tag: string) => {
    await page.locator(`html[lang="${tag}"]`).getByRole("heading", { level: 1 }).waitFor();
    expect(await language.inputValue()).toBe(tag);
  };
  const stored = () => page.evaluate(() => localStorage.getItem("onrush.language"));
  await page.goto(`${server.url}/`);
  await shown("en");
  isGone = () => loads < 2;
  await language.selectOption("th");
  await alert.filter({ hasText: "What you have typed here may be lost" }).waitFor();
  await shown("en");
  expect(loads).toBe(1);
  expect(await stored()).toBeNull();
  expect(await violations(page)).toEqual([]);
  await alert.getByRole("button", { name: "Reload the page" }).click();
  await shown("th");
  expect(loads).toBe(2);
  expect(await alert.count()).toBe(0);

  // What is gone for good leaves a page in English, after another try at its start.
  isGone = () => true;
  await language.selectOption("ko");
  await alert.getByRole("button").click();
  await shown("en");
  expect(loads).toBe(4);
  await language.selectOption("ko");
  await alert.waitFor();
  await shown("en");
  expect(loads).toBe(4);
  expect(complaints).toEqual([]);
  await close();
});

test("who stays with an unkept page after all keeps language and selector together", async () => {
  const { page, close } = await visit(browser);
  await page.goto(`${server.url}/`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  // As the editor of plans does with a draft that is stored nowhere.
  await page.evaluate(() => addEventListener("beforeunload", (event) => event.preventDefault()));
  await page.route(/\/assets\/common-.*\.js/, (route) => route.fulfill({ status: 404 }));
  const language = page.getByRole("banner").getByRole("combobox");
  await language.selectOption("th");
  const asked = page.waitForEvent("dialog");
  const reload = page.getByRole("banner").getByRole("button", { name: "Reload the page" });
  await Promise.all([asked.then((dialog) => dialog.dismiss()), reload.click()]);
  expect(await language.inputValue()).toBe("en");
  expect(await page.locator("html").getAttribute("lang")).toBe("en");
  expect(await page.evaluate(() => history.state as unknown)).toBeNull();
  // They can go on, in a language that is there as well.
  await page.unroute(/\/assets\/common-.*\.js/);
  await language.selectOption("vi");
  await page.locator('html[lang="vi"]').waitFor();
  expect(await page.evaluate(() => localStorage.getItem("onrush.language"))).toBe("vi");
  await close();
});

test("page that is offline stays in its language, and says why", async () => {
  const { page, complaints, close } = await visit(browser);
  await page.goto(`${server.url}/`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.context().setOffline(true);
  const language = page.getByRole("banner").getByRole("combobox");
  const alert = page.getByRole("banner").getByRole("alert");
  await language.selectOption("th");
  await alert.filter({ hasText: "The server cannot be reached." }).waitFor();
  expect(await language.inputValue()).toBe("en");
  expect(await page.evaluate(() => localStorage.getItem("onrush.language"))).toBeNull();
  await page.context().setOffline(false);
  await language.selectOption("vi");
  await page.locator('html[lang="vi"]').waitFor();
  expect(await alert.count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

/** What a document offers whose page does not come. */
function tryAgain(page: Page) {
  return page.getByRole("link", { name: /^Try again/ });
}

test("page whose texts do not come says so, keeps its address, and comes with them", async () => {
  const { page, complaints, close } = await visit(browser, PHONE);
  let isAway = true;
  const unlessAway = (route: Route) => (isAway ? route.abort() : route.continue());
  await page.route(/\/assets\/common-.*\.js/, unlessAway);
  await page.route(/\/bookings\/tour\.1$/, (route) =>
    route.request().method() === "HEAD" ? unlessAway(route) : route.continue(),
  );
  const link = "b1.tour.1.0.aa.bb";
  const address = `${server.url}/bookings/tour.1`;
  await page.goto(`${address}#${link}`);
  await tryAgain(page).waitFor();
  expect(await violations(page)).toEqual([]);
  // Whoever tries again meanwhile is where they were.
  await Promise.all([page.waitForEvent("load"), tryAgain(page).click()]);
  expect(page.url()).toBe(`${address}#${link}`);
  const asked = page.waitForRequest((request) => request.headers().authorization === `Bearer ${link}`);
  isAway = false;
  await asked;
  await page.getByRole("heading", { level: 1 }).waitFor();
  expect(page.url()).toBe(address);
  expect(await page.locator(".not-yet").count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

test("page whose texts come late is in the reader's language, also if the line breaks twice", async () => {
  const { page, complaints, close } = await visit(browser, { locale: "th-TH" });
  // It breaks with the first load, and with the one by which the page is loaded anew; it is there again
  // after one look at it. What did not come is remembered for as long as a document is there, as many
  // browsers do.
  let loads = 0;
  let isAway = false;
  const remembered = new Set<string>();
  await page.route(/\/assets\/common-.*\.js/, (route) => {
    const url = route.request().url();
    if (isAway) remembered.add(url);
    return remembered.has(url) ? route.abort() : route.continue();
  });
  await page.route(`${server.url}/`, async (route) => {
    if (route.request().method() === "HEAD") {
      const wasAway = isAway;
      isAway = false;
      await (wasAway ? route.abort() : route.continue());
    } else {
      loads += 1;
      isAway = loads <= 2;
      remembered.clear();
      await route.continue();
    }
  });
  await page.goto(`${server.url}/`);
  await page.locator('html[lang="th"]').getByRole("heading", { level: 1 }).waitFor();
  expect(loads).toBe(3);
  expect(complaints).toEqual([]);
  await close();
});

test.each(["/", "/admin"])("document at %s whose scripts do not come offers another try", async (to) => {
  const { page, complaints, close } = await visit(browser);
  await page.route(/\/assets\/.*\.js/, (route) => route.abort());
  await page.goto(server.url + to);
  const words = page.locator(".not-yet");
  // Nobody sees them who waits for a moment only.
  const delay = await words.evaluate((shown) => getComputedStyle(shown).animationDelay);
  expect(parseFloat(delay)).toBeGreaterThan(3);
  await tryAgain(page).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.unroute(/\/assets\/.*\.js/);
  await tryAgain(page).click();
  await page.getByRole("heading").first().waitFor();
  expect(await words.count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

test("control room whose charts are gone for good is loaded anew once, and shows the rest", async () => {
  await openEvent(server, "chartless", {
    settings: { room: null },
    pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }],
  });
  const { page, close } = await visit(browser);
  await signIn(page, server);
  let loads = 0;
  page.on("request", (request) => (loads += Number(request.isNavigationRequest())));
  await page.route(/\/assets\/Charts-.*\.js/, (route) => route.fulfill({ status: 404 }));
  await page.goto(`${server.url}/admin/events/chartless`);
  await page.getByText("Something went wrong on this page.").waitFor();
  await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
  expect(loads).toBe(2);
  await close();
});

test("reader of codes that is gone is not taken for a camera that is missing", async () => {
  const filming = await launch(["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]);
  try {
    const { page } = await visit(filming, { permissions: ["camera"] });
    // Browsers with a reader of their own do not need ours.
    await page.addInitScript(() => void Reflect.deleteProperty(globalThis, "BarcodeDetector"));
    await signIn(page, server, "/admin/check-in", SCANNER_KEY);
    let loads = 0;
    page.on("request", (request) => (loads += Number(request.isNavigationRequest())));
    await page.route(/\/assets\/decode-.*\.js/, (route) => route.fulfill({ status: 404 }));
    const start = page.getByRole("button", { name: "Start camera" });
    await start.click();
    // It cannot be pressed again before the page is there anew.
    await start.click();
    await page.getByText("Something went wrong on this page.").waitFor();
    expect(await page.getByText("No camera can be used.").count()).toBe(0);
    expect(loads).toBe(1);
  } finally {
    await filming.close();
  }
});

test("page without a network keeps what it shows", async () => {
  const { page, close } = await visit(browser);
  await page.goto(`${server.url}/`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.context().setOffline(true);
  await page.getByRole("link", { name: "My bookings" }).click();
  await page.getByRole("button", { name: "Try again" }).waitFor();
  await page.context().setOffline(false);
  await close();
});
