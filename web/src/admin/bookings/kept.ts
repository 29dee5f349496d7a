/** What is kept about a buyer, as a file for whoever asked. */
import { path } from "../../api/client";
import { askAsOrganiser } from "../../api/organiser";
import type { KeptData, LedgerBooking } from "../../api/schema";

/** Everything about whoever bought, found by their mail address where it is known, as one document. */
export async function keptAbout({ booking, buyer }: LedgerBooking): Promise<KeptData> {
  const whose = buyer ? { email: buyer.email } : { booking };
  const ask = (body: object) =>
    askAsOrganiser<KeptData>(path`/admin/buyers/export`, { method: "POST", effect: "look", body });
  const { next, ...all } = await ask(whose);
  for (let after = next; after;) {
    const more = await ask({ ...whose, after });
    all.bookings.push(...more.bookings);
    all.users = [...new Set([...all.users, ...more.users])];
    after = more.next;
  }
  return all;
}

/** Has the browser save a document as a file. */
export function save(name: string, kept: KeptData): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify(kept, null, 2)], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
