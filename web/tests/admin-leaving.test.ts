/** What was typed about an event is not lost by one click. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signIn } from "./admin";
import { launch, violations, visit } from "./browser";
import { openEvent, Server } from "./server";

const LOST = "What you typed here is not saved. Leave all the same?";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/** Collects what the page asks before it goes, and answers so. */
function answering(page: Page): { asked: string[]; goes: boolean } {
  const state = { asked: [] as string[], goes: false };
  page.on("dialog", (dialog) => {
    state.asked.push(dialog.type() === "confirm" ? dialog.message() : dialog.type());
    void (state.goes ? dialog.accept() : dialog.dismiss());
  });
  return state;
}

test("settings that were typed and not saved are asked about, and stay", async () => {
  await openEvent(server, "typed", { settings: { room: null } });
  const { page, complaints, close } = await visit(browser);
  const leaving = answering(page);
  await signIn(page, server, "/admin/events/typed/edit");
  const title = page.getByRole("form", { name: "Settings" }).getByLabel("Title", { exact: true });
  await title.fill("Typed at length");
  await page.getByRole("link", { name: "Control room" }).click();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  expect(leaving.asked).toEqual([LOST, LOST]);
  expect(page.url()).toBe(`${server.url}/admin/events/typed/edit`);
  expect(await title.inputValue()).toBe("Typed at length");
  await page.evaluate(() => void setTimeout(() => location.reload()));
  await expect.poll(() => leaving.asked.at(-1)).toBe("beforeunload");
  expect(await title.inputValue()).toBe("Typed at length");

  leaving.asked.length = 0;
  await page.getByRole("button", { name: "Save changes" }).click();
  await page.getByText("Saved.").waitFor();
  await page.getByRole("link", { name: "Control room" }).click();
  await page.waitForURL(`${server.url}/admin/events/typed`);
  expect(leaving.asked).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("text that was typed in one language is not lost by saving another", async () => {
  await openEvent(server, "spoken", { settings: { room: null } });
  const { page, complaints, close } = await visit(browser);
  const leaving = answering(page);
  await signIn(page, server, "/admin/events/spoken/edit");
  const texts = page.locator("#texts");
  const language = texts.getByLabel("Language");
  const told = (tag: string) => language.locator(`option[value="${tag}"]`).textContent();
  const title = texts.getByLabel("Title");
  await title.fill("Winter tour");
  await language.selectOption("th");
  await title.fill("ทัวร์ฤดูหนาว");
  await texts.getByRole("button", { name: "Save text in ไทย" }).click();
  await texts.getByText("Saved.").waitFor();
  expect([await told("en"), await told("th"), await told("vi")]).toEqual([
    "English: not saved",
    "ไทย: written",
    "Tiếng Việt: not written yet",
  ]);
  expect(await violations(page)).toEqual([]);

  // Both forms have something to lose: that is one question.
  await page.getByRole("form", { name: "Settings" }).getByLabel("Title", { exact: true }).fill("Spoken");
  await page.getByRole("link", { name: "Events", exact: true }).click();
  expect(leaving.asked).toEqual([LOST]);
  await language.selectOption("en");
  expect(await title.inputValue()).toBe("Winter tour");

  leaving.goes = true;
  await page.getByRole("link", { name: "Events", exact: true }).click();
  await page.waitForURL(`${server.url}/admin`);
  expect(leaving.asked).toEqual([LOST, LOST]);
  // Where nothing was typed nothing is asked.
  await page.getByRole("link", { name: "New event" }).click();
  await page.waitForURL(`${server.url}/admin/events/new`);
  expect(leaving.asked).toHaveLength(2);
  expect(complaints).toEqual([]);
  await close();
});

test("new event is asked about until it is made", async () => {
  const { page, complaints, close } = await visit(browser);
  const leaving = answering(page);
  await signIn(page, server, "/admin");
  await page.getByRole("link", { name: "New event" }).click();
  const title = page.getByLabel("Title", { exact: true });
  await title.waitFor();
  await page.goBack();
  await page.waitForURL(`${server.url}/admin`);
  expect(leaving.asked).toEqual([]);
  await page.getByRole("link", { name: "New event" }).click();
  await page.getByLabel("Id", { exact: true }).fill("made");
  await title.fill("Made at last");
  await page.getByRole("link", { name: "Bookings", exact: true }).click();
  expect(leaving.asked).toEqual([LOST]);
  expect(await title.inputValue()).toBe("Made at last");
  await page.getByRole("radio", { name: "Everybody may buy at once" }).check();
  await page.getByRole("button", { name: "Create event" }).click();
  await page.waitForURL(`${server.url}/admin/events/made/edit`);
  expect(leaving.asked).toEqual([LOST]);
  expect(complaints).toEqual([]);
  await close();
});
