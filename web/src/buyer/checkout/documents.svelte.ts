/** A booking's receipt and credit notes, as its page reads them: they are issued beside the payment. */
import { path, Refused } from "../../api/client";
import { askAsKeeper, sendAsKeeper } from "../../api/keeper";
import type { Booking, BookingReceipts, Payment, Receipt } from "../../api/schema";
import type { Language } from "../../lib/i18n.svelte";

/** How long to wait before each look for what is not issued yet. Then only another visit looks again. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000, 8_000, 16_000];

export class Documents {
  /** The first one first; none where no receipts are issued. */
  listed = $state.raw<Receipt[]>([]);

  readonly #booking: string;
  #areOff = false;
  #expected = 0;
  #looks = 0;

  constructor(booking: string) {
    this.#booking = booking;
  }

  /** Reads what there is, if there may be any. */
  async look(booking: Booking, payment: Payment | undefined): Promise<void> {
    const expected = expectedOf(booking, payment);
    if (expected !== this.#expected) this.#looks = 0;
    this.#expected = expected;
    if (expected === 0 || this.#areOff) return;
    this.#looks += 1;
    try {
      const to = path`/bookings/${this.#booking}/receipts`;
      this.listed = (await askAsKeeper<BookingReceipts>(this.#booking, to)).receipts;
    } catch (error) {
      // Whatever else it was, the booking is shown without them; the next look tries again.
      this.#areOff = error instanceof Refused && error.code === "RECEIPTS_OFF";
    }
  }

  /** When to look again for what may be issued any moment. */
  get pauseMs(): number | undefined {
    const isMissing = !this.#areOff && this.listed.length < this.#expected;
    return isMissing ? PAUSES_MS[this.#looks - 1] : undefined;
  }

  /** One of them on paper. */
  async read(number: string, language: Language): Promise<Blob> {
    const to = path`/bookings/${this.#booking}/receipts/${number}` + ".pdf";
    const response = await sendAsKeeper(this.#booking, to, { query: { language } });
    return response.blob();
  }
}

/** How many there should be, sooner or later: docs/design/receipts.md. */
function expectedOf({ status, amount_minor }: Booking, payment: Payment | undefined): number {
  const wasSold = status === "confirmed" || status === "cancelled";
  if (!wasSold || amount_minor === 0 || !payment) return 0;
  return status === "cancelled" && payment.status === "refunded" ? 2 : 1;
}
