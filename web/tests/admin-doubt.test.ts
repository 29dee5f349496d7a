/** Whether an organiser may ask again for what no answer tells of: nothing that they typed is lost then. */
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loseFirstAnswer, signIn } from "./admin";
import { launch, violations, visit } from "./browser";
import { openEvent, SCANNER_KEY, Server } from "./server";

const SAME_AGAIN = /it is not known whether this was done\. .* nothing is done twice\./;
const LOOK_FIRST = /it is not known whether this was done\. .* look before you do it again\./;

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/** Says why in the dialog that is open, and finds the button that does it. */
async function because(page: Page, button: string): Promise<Locator> {
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("as agreed");
  return dialog.getByRole("button", { name: button, exact: true });
}

/** What is set, on which page of an event and by which path of it, and the button for what was typed. */
const SET: [what: string, on: string, to: string, type: (page: Page) => Promise<Locator>][] = [
  [
    "a setting",
    "/edit",
    "",
    async (page) => {
      const settings = page.getByRole("form", { name: "Settings" });
      await settings.getByLabel("Title", { exact: true }).fill("Typed at length");
      return page.getByRole("button", { name: "Save changes" });
    },
  ],
  [
    "a text",
    "/edit",
    "/texts/th",
    async (page) => {
      const texts = page.locator("#texts");
      await texts.getByLabel("Language").selectOption("th");
      await texts.getByLabel("Title").fill("ทัวร์ฤดูหนาว");
      return texts.getByRole("button", { name: "Save text in ไทย" });
    },
  ],
  [
    "the units of a pool",
    "/edit",
    "/pools/ga/capacity",
    async (page) => {
      await page.locator("#pools").getByRole("button", { name: "Change units ga" }).click();
      await page.getByRole("dialog").getByLabel("Units").fill("55");
      return because(page, "Change units");
    },
  ],
  [
    "a price",
    "",
    "/prices",
    async (page) => {
      await page.getByRole("button", { name: "Change price ga" }).click();
      await page.getByRole("dialog").getByLabel("Price from now on, in EUR").fill("20");
      return because(page, "Change price");
    },
  ],
  [
    "ticket types",
    "",
    "/types",
    async (page) => {
      await page.getByRole("button", { name: "Change types ga" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: "Add a type" }).click();
      await page.keyboard.type("Adult");
      await dialog.getByLabel("Price in EUR").fill("20");
      return because(page, "Change types");
    },
  ],
  [
    "a channel",
    "",
    "/channels/fans",
    async (page) => {
      await page.getByRole("button", { name: "Show channels" }).click();
      await page.getByRole("button", { name: "New channel" }).click();
      await page.getByRole("dialog").getByLabel("Channel", { exact: true }).fill("fans");
      return because(page, "New channel");
    },
  ],
];

test.each(SET)("%s that may be set is set again by the same request", async (what, on, to, type) => {
  const event = `again-${what.replaceAll(" ", "-")}`;
  await openEvent(server, event, { pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }] });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, `/admin/events/${event}${on}`);
  const asked = await loseFirstAnswer(page, `**/api/v1/admin/events/${event}${to}`);
  const set = await type(page);
  await set.click();
  await page.getByRole("alert").filter({ hasText: SAME_AGAIN }).waitFor();
  expect(await violations(page)).toEqual([]);
  const answered = page.waitForResponse(`**/api/v1/admin/events/${event}${to}`);
  await set.click();
  expect((await answered).status()).toBe(200);
  expect(asked).toHaveLength(2);
  expect(asked[1]!.body).toEqual(asked[0]!.body);
  expect(complaints).toEqual([]);
  await close();
});

test("room that may be set is said to be set once, and what is in effect shows by itself", async () => {
  await openEvent(server, "again-room", {
    settings: { room: { capacity: 20 } },
    pools: [{ pool: "ga", capacity: 10, price_minor: 4_500 }],
  });
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/again-room");
  await loseFirstAnswer(page, "**/api/v1/admin/events/again-room/room");
  const room = page.getByRole("region", { name: "Waiting room" });
  const field = room.getByRole("textbox", { name: "People in the room at once" });
  await field.fill("200");
  await field.press("Enter");
  await room.getByRole("alert").filter({ hasText: SAME_AGAIN }).waitFor();
  await room.getByText("In effect: 200", { exact: true }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("flag that may be set is set again", async () => {
  const flag = { name: "a-way", percent: 10, about: "A way of working." };
  const { page, complaints, close } = await visit(browser);
  await page.route("**/api/v1/admin/flags", (route) => route.fulfill({ json: { flags: [flag] } }));
  const asked: unknown[] = [];
  // This server has no flags of its own: only nodes of a cluster do.
  await page.route(`**/api/v1/admin/flags/${flag.name}`, (route) => {
    asked.push(route.request().postDataJSON());
    return asked.length === 1 ? route.abort() : route.fulfill({ json: { ...flag, percent: 50 } });
  });
  await signIn(page, server, "/admin/flags");
  await page.getByRole("spinbutton").fill("50");
  const set = page.getByRole("button", { name: `Set ${flag.name}` });
  await set.click();
  await page.getByRole("alert").filter({ hasText: SAME_AGAIN }).waitFor();
  await set.click();
  await page.getByText("Saved.").waitFor();
  expect(asked).toEqual([{ percent: 50 }, { percent: 50 }]);
  expect(complaints).toEqual([]);
  await close();
});

test("one browser may be signed out again, and everybody only after a look", async () => {
  const door = await visit(browser);
  await signIn(door.page, server, "/admin", SCANNER_KEY);
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/actions");
  const asked = await loseFirstAnswer(page, "**/api/v1/admin/sessions/*");
  await page.getByRole("button", { name: "Sign out scanner" }).click();
  const dialog = page.getByRole("dialog");
  const end = dialog.getByRole("button", { name: "Sign out", exact: true });
  await end.click();
  await dialog.getByRole("alert").filter({ hasText: SAME_AGAIN }).waitFor();
  await end.click();
  await dialog.waitFor({ state: "detached" });
  expect(asked).toHaveLength(2);

  await loseFirstAnswer(page, "**/api/v1/admin/sessions");
  await page.getByRole("button", { name: "Sign everybody out" }).click();
  await dialog.getByRole("button", { name: "Sign everybody out" }).click();
  await dialog.getByRole("alert").filter({ hasText: LOOK_FIRST }).waitFor();
  // Whoever looks, as they are told to, sees that it was done.
  await page.reload();
  await page.getByRole("heading", { name: "Organiser sign-in" }).waitFor();
  expect(complaints).toEqual([]);
  await close();
  await door.close();
});

test("who may be signed out signs out again", async () => {
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/events/new");
  await loseFirstAnswer(page, "**/api/v1/session");
  const leave = page.getByRole("button", { name: "Sign out", exact: true });
  await leave.click();
  await page.getByRole("alert").filter({ hasText: SAME_AGAIN }).waitFor();
  await leave.click();
  await page.getByRole("heading", { name: "Organiser sign-in" }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});
