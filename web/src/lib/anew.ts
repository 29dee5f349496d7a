/** Pages whose parts are gone because the server was updated since they were opened. */

/**
 * Loads a part of the page. If it is gone and the server is there, the address is loaded anew, once:
 * its document names the parts of now.
 */
export async function partOf<T>(load: () => Promise<T>): Promise<T> {
  try {
    const part = await load();
    note(false);
    return part;
  } catch (error) {
    if (wasLoadedAnew() || !(await isServerThere())) throw error;
    note(true);
    location.reload();
    return new Promise(() => {});
  }
}

// The entry of the history lasts over a reload, also where nothing may be stored.
function wasLoadedAnew(): boolean {
  return (history.state as { anew?: boolean } | null)?.anew === true;
}

function note(anew: boolean): void {
  if (anew !== wasLoadedAnew()) history.replaceState(anew ? { anew } : null, "");
}

/** Without a network a reload would take away what is on the page. */
async function isServerThere(): Promise<boolean> {
  try {
    return (await fetch(location.href, { method: "HEAD", cache: "no-store" })).ok;
  } catch {
    return false;
  }
}
