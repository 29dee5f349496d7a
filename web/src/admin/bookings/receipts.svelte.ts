/** Receipts and credit notes, as the organiser asks for them: each time is written down with their name. */
import { path, Refused } from "../../api/client";
import { askAsOrganiser, isAllowed } from "../../api/organiser";
import type { LedgerBooking, Receipt, ReceiptPage, SagaFile } from "../../api/schema";

/** How often to look for what may be issued any moment. Then only another visit looks again. */
const LOOKS = 5;

/** A booking's. */
export class Receipts {
  /** The first one first; none where no receipts are issued, and for a key without `money`. */
  listed = $state.raw<Receipt[]>([]);

  #areOff = false;
  #expected = 0;
  #looks = 0;

  /** Reads them if there should be more than are known. */
  async look(booking: LedgerBooking, file: SagaFile | undefined): Promise<void> {
    const expected = expectedOf(booking, file);
    if (expected !== this.#expected) this.#looks = 0;
    this.#expected = expected;
    if (this.#areOff || this.listed.length >= expected || this.#looks === LOOKS) return;
    const issued = await pageOf({ booking: booking.booking });
    this.#looks += 1;
    this.#areOff = issued === undefined;
    this.listed = issued?.reverse() ?? [];
  }
}

/** Whether any are issued here, for who is signed in. */
export async function areIssued(): Promise<boolean> {
  return (await pageOf({ limit: 1 })) !== undefined;
}

/** `undefined` where none are issued, or none are for this key: the server would write down a refusal. */
async function pageOf(query: { booking?: string; limit?: number }): Promise<Receipt[] | undefined> {
  if (!isAllowed("money")) return undefined;
  try {
    return (await askAsOrganiser<ReceiptPage>(path`/admin/receipts`, { query })).receipts;
  } catch (error) {
    if (error instanceof Refused && error.code === "RECEIPTS_OFF") return undefined;
    throw error;
  }
}

/** How many there should be, sooner or later: docs/design/receipts.md. */
function expectedOf({ status, payment }: LedgerBooking, file: SagaFile | undefined): number {
  const wasSold = status === "confirmed" || status === "cancelled";
  const isPaid = file?.payments.some((one) => one.payment === payment && one.captured_minor > 0);
  if (!wasSold || !isPaid) return 0;
  const done = file!.refunds.filter((refund) => refund.payment === payment && refund.status === "done");
  return 1 + done.length;
}
