/** A page that is loaded anew, because a part of it is gone. */
import { afterEach, expect, test, vi } from "vitest";
import { NoAnswer } from "../../src/api/client";
import { NoPart, partOf } from "../../src/lib/anew";

afterEach(() => vi.unstubAllGlobals());

/** A page with this in its entry of the history, and a server that is there. */
function opened(state: unknown) {
  const entry: { state: unknown; replaceState: (state: unknown) => void } = {
    state,
    replaceState: (state) => (entry.state = state),
  };
  vi.stubGlobal("history", entry);
  const server = { isThere: true };
  vi.stubGlobal("fetch", () =>
    server.isThere ? Promise.resolve(new Response()) : Promise.reject(new TypeError("offline")),
  );
  return { entry, server };
}

const gone = () => Promise.reject(new Error("gone"));

/** Asks for a part that does not come, until the page is loaded anew. */
async function loadedAnew(name: string): Promise<void> {
  const loaded = new Promise<void>((resolve) => {
    vi.stubGlobal("location", { href: "http://127.0.0.1/admin/bookings", reload: resolve });
  });
  await Promise.race([loaded, partOf(name, gone)]);
}

test("what a page keeps beside its address stays when it is loaded anew", async () => {
  const beside = { text: "ann@example.org" };
  const { entry } = opened({ beside });
  await loadedAnew("bookings");
  expect(entry.state).toEqual({ beside, anew: ["bookings"] });
  await partOf("bookings", () => Promise.resolve("there"));
  expect(entry.state).toEqual({ beside });
});

test("page is loaded anew once more where the line breaks while it is loaded anew", async () => {
  const { entry, server } = opened({ anew: ["charts"] });
  await loadedAnew("texts");
  expect(entry.state).toEqual({ anew: ["charts", "texts"] });
  server.isThere = false;
  await expect(partOf("texts", gone)).rejects.toThrow(NoAnswer);
  expect(entry.state).toEqual({ anew: ["charts"] });

  // The browser does not ask again for what did not come.
  server.isThere = true;
  await loadedAnew("texts");
  expect(entry.state).toEqual({ anew: ["charts", "texts"] });
  // What is gone for good is told, and nothing goes round in circles.
  await expect(partOf("texts", gone)).rejects.toThrow(NoPart);
  expect(entry.state).toEqual({ anew: ["charts", "texts"] });
});
