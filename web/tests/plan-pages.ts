/** The seat-plan editor as tests use it. */
import type { Page } from "playwright-core";
import { signIn } from "./admin";
import { contentOf } from "./browser";
import type { Server } from "./server";

/** Opens the editor for an event. */
export async function open(page: Page, server: Server, event: string): Promise<void> {
  await signIn(page, server, `/admin/events/${event}/plan`);
  await page.getByRole("application", { name: "Drawing of the plan" }).waitFor();
}

/** Fills in the form for rows, and adds them. */
export async function addRows(page: Page, wish: Record<string, string | number>): Promise<void> {
  const form = page.getByRole("form", { name: "Add rows" });
  for (const [label, value] of Object.entries(wish)) {
    if (label === "Shape") await form.getByRole("combobox", { name: label }).selectOption(String(value));
    else await form.getByLabel(label, { exact: true }).fill(String(value));
  }
  await form.getByRole("button", { name: "Add these rows" }).click();
}

/** What is drawn, as the file that the page saves. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a test knows what it asked for
export async function saved(page: Page): Promise<any> {
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as a file" }).click();
  return JSON.parse((await contentOf(await download)).toString());
}

/** Opens a file with this content. */
export async function give(page: Page, content: string): Promise<void> {
  const file = { name: "plan.json", mimeType: "application/json", buffer: Buffer.from(content) };
  await page.getByLabel("Open a file").setInputFiles(file);
}
