/** What this browser remembers of a booking beside what the server knows. */
import { newKey } from "../../api/client";
import type { Buyer } from "../../api/schema";
import type { SeatName } from "../../lib/seatmap/names";
import { store, tabStore } from "../../lib/store";

/** What the lines of one booking are called and cost. */
export interface Names {
  seats: Record<string, SeatName>;
  /** Prices of one unit by pool. */
  pools: Record<string, number>;
}

interface Memory {
  names?: Names;
  /** Payments that are known here. */
  payments?: string[];
  /** Whose name is on the tickets: the server tells it to those at the door only. */
  holder?: string;
  /** The address that it was bought with. */
  email?: string;
  /** The seats that were chosen, by name, where others are held in their place. */
  chosen?: string[];
  /** What was asked for first, in words, where something else is held that was wanted rather than nothing. */
  asked?: string;
}

const BOOKINGS = "onrush.bookings";
const BUYER = "onrush.buyer";
/** Bookings that are remembered; older ones are forgotten. */
const KEPT = 60;

function all(): Record<string, Memory> {
  return store.read(BOOKINGS) ?? {};
}

export function recall(booking: string): Memory {
  return all()[booking] ?? {};
}

export function remember(booking: string, more: Memory): void {
  const { [booking]: before, ...others } = all();
  const entries = [...Object.entries(others), [booking, { ...before, ...more }] as const];
  store.write(BOOKINGS, Object.fromEntries(entries.slice(-KEPT)));
}

/** Remembers who bought, as far as all who may have agree: a form may be changed after a lost answer. */
export function rememberBuyer(booking: string, candidates: readonly Buyer[]): void {
  const [buyer] = candidates;
  if (!buyer) return;
  const agreed = (what: "name" | "email") =>
    candidates.every((other) => other[what] === buyer[what]) ? buyer[what] : undefined;
  remember(booking, { holder: agreed("name"), email: agreed("email") });
}

/** Notes that a payment was begun; true if that is news. */
export function notePayment(booking: string, payment: string): boolean {
  const known = recall(booking).payments ?? [];
  if (known.includes(payment)) return false;
  remember(booking, { payments: [...known, payment] });
  // However it was begun, the wish that was open is answered by it.
  const open = openAttempt(booking);
  if (open) rememberBuyer(booking, [open.buyer, ...open.earlier]);
  endAttempt(booking);
  return true;
}

/** Who buys, as written into the form in this tab. */
export function formBuyer(): { name: string; email: string } {
  return { name: "", email: "", ...tabStore.read<{ name: string; email: string }>(BUYER) };
}

export function keepForm(buyer: { name: string; email: string }): void {
  tabStore.write(BUYER, buyer);
}

interface Attempt {
  key: string;
  buyer: Buyer;
  /** Who was to buy in attempts before, of which nothing is known either. */
  earlier: Buyer[];
}

/**
 * A wish to pay. Until it is answered, also over a reload, the same wish has the same key, so that an answer
 * that got lost is found and nothing is begun twice.
 */
export function attempt(booking: string, buyer: Buyer): Attempt {
  const open = openAttempt(booking);
  // Another buyer is another wish: the server refuses it under the first one's key.
  if (open && isSame(open.buyer, buyer)) return open;
  const earlier = open ? [open.buyer, ...open.earlier] : [];
  const fresh: Attempt = { key: newKey(), buyer, earlier };
  tabStore.write(attemptName(booking), fresh);
  return fresh;
}

function openAttempt(booking: string): Attempt | undefined {
  const open = tabStore.read<Attempt>(attemptName(booking));
  // What an older page stored knows of no earlier ones.
  return open && { ...open, earlier: open.earlier ?? [] };
}

function isSame(one: Buyer, other: Buyer): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function attemptName(booking: string): string {
  return `onrush.attempt.${booking}`;
}

/** Whether a payment was asked for and nothing is known of the answer. */
export function hasOpenAttempt(booking: string): boolean {
  return tabStore.get(attemptName(booking)) !== null;
}

/** The wish was answered: the next one is another. */
export function endAttempt(booking: string): void {
  tabStore.remove(attemptName(booking));
}
