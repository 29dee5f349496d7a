/** One booking as its page follows it: what it is now, and what its buyer can do about it. */
import { ask, isAnswered, isUndecided, newKey, NoAnswer, path, Refused } from "../../api/client";
import type { Booking, Buyer, Event as Sale, GivingBack, Link, Payment, Summary } from "../../api/schema";
import { askAsKeeper, isWayKept, keepLink, links, persistAsKeeper, wayTo, type Way } from "../../api/keeper";
import { askAsVisitor, isKnown } from "../../api/visitor";
import { clock } from "../../lib/clock";
import { follow } from "../../lib/live";
import { aboutEvent, type About } from "./about";
import { Documents } from "./documents.svelte";
import { briefly, namesOf, readableLines, type Line } from "./lines";
import { attempt, endAttempt, hasOpenAttempt, notePayment, rememberBuyer, type Names } from "./memory";

/** With Stripe an open payment names the key its form is made with. */
export type OpenPayment = Payment & { publishable_key?: string };

/** What the page shows: the booking's status, and for an expired one what became of its money. */
export type Outcome = Booking["status"] | "late" | "refunded";

/** The status of an answer that tells of a payment which ran before, begun by another wish. */
const FOUND = 200;
/** A hold's last minute. */
const ENDING_MS = 60_000;
/** The longest pause before another look; browsers' timers do not reach much further. */
const LONGEST_MS = 24 * 3_600_000;
/** The longest pause while the server cannot be reached, or says that it cannot answer. */
const LONGEST_AWAY_MS = 15_000;

export class Checkout {
  readonly id: string;
  /** Its receipt and credit notes. */
  readonly documents: Documents;
  booking = $state.raw<Booking>();
  /** The present payment, if one was begun. */
  payment = $state.raw<OpenPayment>();
  about = $state.raw<About>();
  names = $state.raw<Names>();
  /** What lines are called is being found out for the first time. */
  isNaming = $state(true);
  /** The tax in each line, where the event tells of one. */
  summary = $state.raw<Summary>();
  /** How this browser gets at the booking. */
  way = $state.raw<Way>();
  /** Why there is nothing to show. */
  failure = $state.raw<unknown>();
  /** Why the last thing the buyer wanted did not happen. */
  problem = $state.raw<unknown>();
  /** What the buyer wants done just now. */
  doing = $state<"extend" | "release" | "pay" | "confirm">();
  /** The server did not answer the last time it was asked. */
  isAway = $state(false);
  /** A payment was asked for and no answer came: it may or may not run. */
  isPaymentUnknown: boolean;
  /** The hold ran out while this page was open, with a payment under way. */
  wasLate = $state(false);
  /** It was to be given back, and had been confirmed before. */
  wasKept = $state(false);
  nowMs = $state(clock.now());

  readonly lines: Line[] = $derived(
    this.booking ? readableLines(this.booking.lines, this.names, this.booking.types) : [],
  );
  readonly leftMs = $derived((this.booking?.until ?? 0) - this.nowMs);
  readonly isLive = $derived(this.booking?.status === "held" || this.booking?.status === "paying");
  /** Held still, and not for long. */
  readonly isEnding = $derived(this.booking?.status === "held" && this.leftMs <= ENDING_MS);
  readonly outcome = $derived(outcomeOf(this.booking, this.payment));

  #isOpen = false;
  #isLinkKept = false;
  #keepingLink: Promise<void> | undefined;
  #looking: Promise<void> | undefined;
  #describing: Promise<unknown> | undefined;
  /** How often in a row nothing was to be had, and how long the server asked to wait. */
  #misses = 0;
  #wantedMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Keys of wishes that have no answer yet. */
  readonly #keys = new Map<string, string>();
  /** Who was to confirm what is free of charge, of whom no answer is known yet. */
  #confirmers: Buyer[] = [];

  constructor(id: string) {
    this.id = id;
    this.documents = new Documents(id);
    this.isPaymentUnknown = $state(hasOpenAttempt(id));
  }

  /** Follows the booking until the returned function is called. */
  watch(): () => void {
    this.#isOpen = true;
    void this.look();
    const clockTimer = setInterval(() => (this.nowMs = clock.now()), 500);
    const seen = () => document.visibilityState === "visible" && void this.look();
    const isBack = () => void this.look();
    document.addEventListener("visibilitychange", seen);
    // A browser shows this page as it was left when its buyer steps back from the payment page.
    addEventListener("pageshow", isBack);
    addEventListener("online", isBack);
    return () => {
      this.#isOpen = false;
      clearTimeout(this.#timer);
      clearInterval(clockTimer);
      document.removeEventListener("visibilitychange", seen);
      removeEventListener("pageshow", isBack);
      removeEventListener("online", isBack);
    };
  }

  /** Follows the event's live messages; those about this booking make it look again. */
  listen(event: string): () => void {
    return follow(event, (message) => {
      const isMine = "booking" in message && message.booking === this.id;
      if (isMine || message.type === "phase") void this.look();
    });
  }

  /** Asks how things stand. While that is under way, another call waits for the same answer. */
  look(): Promise<void> {
    this.#looking ??= this.#ask().finally(() => {
      this.#looking = undefined;
      this.#plan();
    });
    return this.#looking;
  }

  async #ask(): Promise<void> {
    try {
      const booking = await askAsKeeper<Booking>(this.id, path`/bookings/${this.id}`);
      // Only what costs something has a payment, and only the ledger knows how it ended.
      const payment = booking.amount_minor > 0 ? await this.#askPayment() : undefined;
      if (payment && notePayment(this.id, payment.payment)) {
        // The answer that did not come: whatever became of that payment is told by its own status.
        this.isPaymentUnknown = false;
        if (isUndecided(this.problem)) this.problem = undefined;
      }
      const described = this.#describe(booking);
      this.about ??= await aboutEvent(booking.event);
      if (!this.booking) await briefly(described);
      this.booking = booking;
      this.payment = payment;
      this.way = wayTo(this.id);
      if (booking.status === "confirmed") {
        rememberBuyer(this.id, this.#confirmers);
        void this.#keepLink();
      }
      // Asked for only when the buyer leaves, it would be late: some methods begin with the click alone.
      if (booking.status === "paying" && !isWayKept(this.id)) void this.#keepLink();
      this.failure = undefined;
      this.isAway = false;
      this.#misses = 0;
      // As long as it is held, the request may still arrive; asked again, it has the same key.
      if (booking.status !== "held") this.isPaymentUnknown = false;
      this.nowMs = clock.now();
      if (this.outcome === "late") this.wasLate = true;
      await this.documents.look(booking, payment);
    } catch (error) {
      this.isAway = error instanceof NoAnswer || (error instanceof Refused && error.retryable);
      if (!this.booking || !this.isAway) this.failure = error;
      this.#misses += 1;
      this.#wantedMs = error instanceof Refused ? (error.retryAfterS ?? 0) * 1_000 : 0;
    }
  }

  async #askPayment(): Promise<OpenPayment | undefined> {
    try {
      return await askAsKeeper<OpenPayment>(this.id, path`/bookings/${this.id}/payment`);
    } catch (error) {
      if (error instanceof Refused && error.code === "SAGA_NOT_FOUND") return undefined;
      throw error;
    }
  }

  /**
   * Reads once what lines are called and which tax is in them, one try at a time. That may take minutes:
   * without it the page still tells what counts, so looks go on beside it, and the next one tries again.
   */
  #describe(booking: Booking): Promise<unknown> {
    this.#describing ??= Promise.all([this.#readNames(booking), this.#readSummary(booking)]).finally(() => {
      this.#describing = undefined;
    });
    return this.#describing;
  }

  async #readNames({ event, lines }: Booking): Promise<void> {
    if (this.names) return;
    this.names = await namesOf(this.id, event, lines).catch(() => undefined);
    // For good: what is read out would change with every further try that fails.
    this.isNaming = false;
  }

  async #readSummary({ event, amount_minor }: Booking): Promise<void> {
    if (this.summary || amount_minor === 0) return;
    try {
      const { sale } = await aboutEvent(event);
      if (sale.tax) this.summary = await askAsKeeper<Summary>(this.id, path`/bookings/${this.id}/summary`);
    } catch {
      // The next look tries again.
    }
  }

  /**
   * Keeps the link of what was bought, or is paid for in a browser that keeps nothing else: it leads back
   * here when this browser is somebody else. One that is here already may have been withdrawn, unless it
   * has just opened the booking.
   */
  #keepLink(): Promise<void> {
    if (this.#isLinkKept || this.way?.is === "link") return Promise.resolve();
    this.#keepingLink ??= this.#readLink().finally(() => {
      this.#keepingLink = undefined;
    });
    return this.#keepingLink;
  }

  async #readLink(): Promise<void> {
    try {
      const { link } = await askAsKeeper<Link>(this.id, path`/bookings/${this.id}/link`);
      keepLink(this.id, link);
      this.#isLinkKept = true;
    } catch {
      // The next look tries again.
    }
  }

  #plan(): void {
    clearTimeout(this.#timer);
    const pauseMs = this.#pauseMs();
    if (this.#isOpen && pauseMs !== undefined) this.#timer = setTimeout(() => void this.look(), pauseMs);
  }

  /** When to look next: live messages come on top. */
  #pauseMs(): number | undefined {
    if (this.isAway) {
      // A server in trouble is asked less often, and not by all at once when it is back.
      const ownMs = Math.min(1_000 * 2 ** this.#misses, LONGEST_AWAY_MS);
      return Math.max(ownMs, this.#wantedMs) * (0.75 + 0.5 * Math.random());
    }
    switch (this.outcome) {
      case "held":
        return this.booking!.until! <= clock.now() ? 700 : 15_000;
      case "paying":
      case "late":
        return 1_500;
      case "cancelled":
        return this.isRefundPending ? 3_000 : this.documents.pauseMs;
      case "confirmed": {
        // What goes back for a cancellation is another sum from then on.
        const until = this.booking!.refund_now?.until;
        const untilMs = until === undefined ? undefined : Math.min(until + 1 - clock.now(), LONGEST_MS);
        return this.documents.pauseMs ?? untilMs;
      }
      case "refunded":
      case "released":
      case "expired":
      case undefined:
        return undefined;
    }
  }

  /** Cancelled, and the money has not set out yet. */
  get isRefundPending(): boolean {
    return (this.booking?.refund_minor ?? 0) > 0 && this.payment?.status === "captured";
  }

  get sale(): Sale {
    return this.about!.sale;
  }

  /** How many more payments may be tried. */
  get attemptsLeft(): number {
    return Math.max(0, this.sale.payment_attempts - (this.booking?.payments_begun ?? 0));
  }

  /** Until when the hold can last, extended as often as may be. The server knows of downtime. */
  get latestUntil(): number {
    const { created_at, latest_until } = this.booking!;
    // A node of an older version does not tell it.
    return latest_until ?? created_at + this.sale.hold_max_ms;
  }

  /** Until when the hold would last if it were extended now; `undefined` if it cannot be. */
  get extendedUntil(): number | undefined {
    const { booking, sale } = this;
    if (!booking?.until || booking.extensions >= sale.extensions) return undefined;
    const until = Math.min(this.nowMs + sale.hold_ttl_ms, this.latestUntil);
    return until > booking.until ? until : undefined;
  }

  async extend(): Promise<void> {
    await this.#do("extend", () => this.#post("extend"));
  }

  /** Gives back what is held; what was confirmed meanwhile, in another tab perhaps, stays. */
  async release(): Promise<void> {
    await this.#do("release", async () => {
      try {
        await this.#post("cancel", { only: "held" });
      } catch (error) {
        this.wasKept = error instanceof Refused && error.code === "ALREADY_CONFIRMED";
        if (!this.wasKept) throw error;
      }
    });
  }

  /** Asks under one key until there is an answer, over several tries of the buyer if need be. */
  async #post(operation: "extend" | "cancel", body?: GivingBack): Promise<void> {
    const key = this.#keys.get(operation) ?? newKey();
    this.#keys.set(operation, key);
    try {
      const wish = { method: "POST", key, ...(body && { body }) } as const;
      await persistAsKeeper(this.id, `${path`/bookings/${this.id}`}/${operation}`, wish);
      this.#keys.delete(operation);
    } catch (error) {
      // What is refused for good is refused again under the same key.
      if (isAnswered(error)) this.#keys.delete(operation);
      throw error;
    }
  }

  /** Confirms what is free of charge. */
  async confirm(buyer?: Buyer): Promise<void> {
    await this.#do("confirm", async () => {
      if (buyer) this.#confirmers.push(buyer);
      try {
        const wish = { method: "POST", effect: "once", ...(buyer && { body: { buyer } }) } as const;
        await persistAsKeeper(this.id, path`/bookings/${this.id}/confirm`, wish);
        this.#confirmers = buyer ? [buyer] : [];
      } catch (error) {
        // An answer got lost, and what it said had happened.
        if (!(error instanceof Refused) || error.code !== "ALREADY_CONFIRMED") throw error;
      }
    });
  }

  /** Begins a payment, or finds the one that runs, and goes to the gateway's page if it has one. */
  async pay(buyer: Buyer): Promise<void> {
    const { key, earlier } = attempt(this.id, buyer);
    let isLeaving = false;
    await this.#do("pay", async () => {
      let begun: Payment;
      try {
        let isEarlier = false;
        const granted = (status: number) => (isEarlier = status === FOUND);
        const wish = { method: "POST", key, body: { buyer }, granted } as const;
        begun = await persistAsKeeper<Payment>(this.id, path`/bookings/${this.id}/payment`, wish);
        endAttempt(this.id);
        notePayment(this.id, begun.payment);
        // Another buyer's address withdraws the link that was there before.
        this.#isLinkKept = false;
        // One that ran before has the buyer of the wish that began it, which may be another tab's.
        rememberBuyer(this.id, isEarlier ? earlier : [buyer]);
        this.isPaymentUnknown = false;
      } catch (error) {
        this.isPaymentUnknown = error instanceof NoAnswer;
        if (isAnswered(error)) endAttempt(this.id);
        throw error;
      }
      // The buyer's time runs: what this page would look for now is not needed there.
      isLeaving = begun.status === "open" && leaveFor(begun.url);
    });
    // A gateway that was silent at first may have its page by now.
    if (!isLeaving && !this.problem && this.outcome === "paying") leaveFor(this.payment?.url);
  }

  /**
   * Where the gateway leads back to from other pages. That is another document: where the browser keeps
   * nothing, it is nobody's, and only the link opens the booking there.
   */
  async returnUrl(): Promise<string> {
    const page = location.origin + location.pathname;
    if (isWayKept(this.id)) return page;
    await this.#keepLink();
    const link = links()[this.id];
    return link === undefined ? page : `${page}#${link}`;
  }

  async #do(what: NonNullable<typeof this.doing>, work: () => Promise<void>): Promise<void> {
    if (this.doing) return;
    this.doing = what;
    this.problem = undefined;
    try {
      await work();
    } catch (error) {
      this.problem = error;
    }
    // A look that began before may have missed what was done.
    await this.#looking;
    await this.look();
    this.doing = undefined;
  }
}

/** Leaves for the gateway's page; false if it has none. */
function leaveFor(url: string | undefined): boolean {
  if (!url || !/^https?:$/.test(new URL(url).protocol)) return false;
  location.assign(url);
  return true;
}

function outcomeOf(booking: Booking | undefined, payment: Payment | undefined): Outcome | undefined {
  if (booking?.status !== "expired") return booking?.status;
  const isUnderWay = ["open", "authorised", "ending", "captured"].includes(payment?.status ?? "");
  if (booking.payment !== undefined || isUnderWay) return "late";
  return payment?.status === "refunded" ? "refunded" : "expired";
}

/**
 * Whether this visitor may choose again at once, or has to join the queue first; `undefined` if the
 * sale is over.
 */
export async function nextStep(event: string): Promise<"choose" | "join" | undefined> {
  const sale = await ask<Sale>(path`/events/${event}`);
  if (sale.phase === "closed") return undefined;
  if (!sale.room) return "choose";
  // Nobody becomes a visitor only by looking at what is over.
  if (!isKnown()) return "join";
  const place = await askAsVisitor<{ status: string }>(path`/events/${event}/queue`);
  return place.status === "active" ? "choose" : "join";
}
