/** Parts of pages that are gone because the server was updated since the page was opened. */
import { NoAnswer } from "../api/client";

/** A part that is there no more: after its page was loaded anew, or where nobody may do that unasked. */
export class NoPart extends Error {}

/**
 * Loads the part of this name. If it is gone and the server is there, the address is loaded anew, once
 * for each part and each time that the server was away: its document names the parts of now.
 * @throws {NoPart} if that did not help, {@link NoAnswer} if the server is not there.
 */
export async function partOf<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    const part = await partOfNow(name, load);
    forget(name);
    return part;
  } catch (error) {
    // Many browsers never ask again for what did not come to a document: once the server is there, it has to
    // be loaded anew, also if it was already.
    if (error instanceof NoAnswer) forget(name);
    if (!(error instanceof NoPart) || loadedAnewFor().includes(name)) throw error;
    note([...loadedAnewFor(), name]);
    location.reload();
    return new Promise(() => {});
  }
}

/**
 * The same where somebody would lose what they typed: nothing is loaded anew.
 * @throws {NoPart} if the part is gone, {@link NoAnswer} if the server is not there.
 */
export async function partOfNow<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (!(await isServerThere())) throw new NoAnswer("a part cannot be loaded", { cause: error });
    throw new NoPart(`${name} cannot be loaded`, { cause: error });
  }
}

// The entry of the history lasts over a reload, also where nothing may be stored. Of several parts that
// are gone for good, none makes up for another that is there: the page would be loaded for ever.
function loadedAnewFor(): string[] {
  const names = (history.state as { anew?: unknown } | null)?.anew;
  return Array.isArray(names) ? (names as string[]) : [];
}

function forget(name: string): void {
  note(loadedAnewFor().filter((other) => other !== name));
}

function note(names: string[]): void {
  if (names.length === loadedAnewFor().length) return;
  // What a page keeps there stays.
  const entry = { ...(history.state as object | null), anew: names.length > 0 ? names : undefined };
  const isEmpty = Object.values(entry).every((value) => value === undefined);
  history.replaceState(isEmpty ? null : entry, "");
}

/** Without a network a reload would take away what is on the page. */
async function isServerThere(): Promise<boolean> {
  try {
    return (await fetch(location.href, { method: "HEAD", cache: "no-store" })).ok;
  } catch {
    return false;
  }
}
