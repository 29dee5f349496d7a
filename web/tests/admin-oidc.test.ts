import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, violations, visit } from "./browser";
import { freePort, isInstalled, Provider } from "./provider";
import { openEvent, Server } from "./server";

const PEOPLE = {
  ann: { preferred_username: "ann", groups: ["office"] },
  guest: { preferred_username: "guest", groups: ["others"] },
};

const isThere = isInstalled();
let provider: Provider;
let server: Server;
let browser: Browser;

beforeAll(async () => {
  if (!isThere) {
    process.stderr.write(
      "NOT RUN admin-oidc: oidc-provider is not installed. Run scripts/need.sh npm oidc-provider\n",
    );
    return;
  }
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  provider = await Provider.start(url, PEOPLE);
  const settings = provider.settings({ office: "read,sell" });
  [server, browser] = await Promise.all([
    Server.start({ ...settings, ONRUSH_PUBLIC_URL: url }, `127.0.0.1:${port}`),
    launch(),
  ]);
  await openEvent(server, "tour", { pools: [{ pool: "ga", capacity: 10, price_minor: 4500 }] });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  await provider?.stop();
});

test.skipIf(!isThere)("who signs in with the provider is back on the page, by keyboard alone", async () => {
  const { page, complaints, close } = await visit(browser);
  await page.goto(`${server.url}/admin/events/tour`);
  const link = page.getByRole("link", { name: "Sign in with Hall of Ours" });
  await link.waitFor();
  expect(await violations(page)).toEqual([]);
  await link.focus();
  await page.keyboard.press("Enter");
  await page.getByLabel("Name").fill("ann");
  await page.keyboard.press("Enter");
  await page.waitForURL(`${server.url}/admin/events/tour`);
  await page.getByRole("button", { name: "Sign out", exact: true }).waitFor();
  await page.getByText(/^oidc:ann~[0-9a-f]{8}$/).waitFor();
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByText("Paused", { exact: true }).waitFor();
  expect((await server.ask("GET", "/events/tour")).body.phase).toBe("paused");
  expect(complaints).toEqual([]);
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  // The provider asks before it signs somebody out, and sends them back.
  await page.getByRole("button", { name: "Sign out there" }).click();
  await page.waitForURL(`${server.url}/admin`);
  await link.click();
  await page.getByLabel("Name").waitFor();
  await close();
});

test.skipIf(!isThere)("who has no rights, or goes away at the provider, is told so in words", async () => {
  const { page, close } = await visit(browser);
  await page.goto(`${server.url}/admin`);
  await page.getByRole("link", { name: "Sign in with Hall of Ours" }).click();
  await page.getByLabel("Name").fill("guest");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("alert").getByText("none of your groups may do anything here").waitFor();
  expect(await violations(page)).toEqual([]);
  expect(page.url()).toBe(`${server.url}/admin`);
  await page.context().clearCookies();
  await page.getByRole("link", { name: "Sign in with Hall of Ours" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("alert").getByText("The provider did not sign you in").waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Organiser sign-in" }).waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
  await close();
});

test.skipIf(!isThere)("session that ends while somebody types is taken up from another tab", async () => {
  const { page, close } = await visit(browser);
  await page.goto(`${server.url}/admin/events/new`);
  await page.getByRole("link", { name: "Sign in with Hall of Ours" }).click();
  await page.getByLabel("Name").fill("ann");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.waitForURL(`${server.url}/admin/events/new`);
  await page.getByLabel("Id", { exact: true }).fill("typed");
  await page.getByLabel("Title", { exact: true }).fill("Typed before the session ended");
  await page.context().clearCookies();
  await page.getByRole("radio", { name: "Everybody may buy at once" }).check();
  await page.getByRole("button", { name: "Create event" }).click();
  const dialog = page.getByRole("dialog", { name: "Organiser sign-in" });
  const opened = page.context().waitForEvent("page");
  await dialog.getByRole("link", { name: "Sign in with Hall of Ours" }).click();
  const other = await opened;
  await other.getByLabel("Name").fill("ann");
  await other.getByRole("button", { name: "Continue" }).click();
  await other.getByRole("button", { name: "Sign out", exact: true }).waitFor();
  await other.close();
  await page.bringToFront();
  // Chromium without a screen gives pages no focus by itself.
  await page.evaluate(() => window.dispatchEvent(new Event("focus")));
  await page.waitForURL(`${server.url}/admin/events/typed/edit`);
  expect((await server.ask("GET", "/events/typed")).body.title).toBe("Typed before the session ended");
  await close();
});
