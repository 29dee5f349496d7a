/** An event's settings as somebody types them, and what that comes to for the server. */
import { fromLocal, isTime, toLocal } from "../when";
import type {
  Event,
  EventDefaults,
  Phase,
  RefundRule,
  Room,
  SingleSeats,
  Tax,
  UserLimit,
} from "../../api/schema";
import { toMajor, toMinor } from "../money";

/** What the fields hold: minutes and whole units of money; null is an empty field. */
export interface Draft {
  event: string;
  title: string;
  currency: string;
  /** Local times as `2026-12-24T20:00`, or empty. */
  prequeue_at: string;
  opens_at: string;
  closes_at: string;
  starts_at: string;
  max_per_user: number | null;
  limits: LimitDraft[];
  max_per_email: number | null;
  max_per_card: number | null;
  /** Empty lets visitors claim for good. */
  claim_max_min: number | null;
  hold_min: number | null;
  hold_max_min: number | null;
  extensions: number | null;
  payment_window_min: number | null;
  payment_attempts: number | null;
  single_seats: SingleSeats;
  /** Null until somebody has chosen. */
  hasRoom: boolean | null;
  capacity: number | null;
  outflow_per_min: number | null;
  order: "fifo" | "draw";
  /** Empty promises none. */
  public_value_source: string;
  session_min: number | null;
  arrive_min: number | null;
  place_ttl_min: number | null;
  max_queue_size: number | null;
  places_per_user: number | null;
  units_per_visitor: number | null;
  fee_fixed: number | null;
  fee_percent: number | null;
  tax_name: string;
  tax_percent: number | null;
  refunds: { days_before: number | null; percent: number | null }[];
}

/** A limit per person of a pool or a category, or of one ticket type of it. */
export interface LimitDraft {
  kind: "category" | "pool";
  name: string;
  /** Empty counts all types together. */
  ticket_type: string;
  max_per_user: number | null;
}

/** Which field shows a setting, by the server's name of it. */
const FIELDS: Record<string, keyof Draft> = {
  event: "event",
  title: "title",
  currency: "currency",
  prequeue_at: "prequeue_at",
  opens_at: "opens_at",
  closes_at: "closes_at",
  starts_at: "starts_at",
  max_per_user: "max_per_user",
  limits: "limits",
  max_per_email: "max_per_email",
  max_per_card: "max_per_card",
  claim_ttl_max_ms: "claim_max_min",
  hold_ttl_ms: "hold_min",
  hold_max_ms: "hold_max_min",
  extensions: "extensions",
  payment_window_ms: "payment_window_min",
  payment_attempts: "payment_attempts",
  single_seats: "single_seats",
  room: "hasRoom",
  "room.capacity": "capacity",
  "room.outflow_per_min": "outflow_per_min",
  "room.order": "order",
  "room.public_value_source": "public_value_source",
  "room.session_ms": "session_min",
  "room.arrive_ms": "arrive_min",
  "room.place_ttl_ms": "place_ttl_min",
  "room.max_queue_size": "max_queue_size",
  "room.places_per_user": "places_per_user",
  "room.units_per_visitor": "units_per_visitor",
  fees: "fee_percent",
  "fees.fixed_minor": "fee_fixed",
  "fees.percent_bp": "fee_percent",
  tax: "tax_percent",
  "tax.name": "tax_name",
  "tax.rate_bp": "tax_percent",
  refunds: "refunds",
};

const TIMES = ["prequeue_at", "opens_at", "closes_at", "starts_at"] as const;
const MIN_MS = 60_000;

/** The first field for a time that holds something else. */
export function unreadTime(draft: Draft): (typeof TIMES)[number] | undefined {
  return TIMES.find((name) => draft[name] !== "" && !isTime(draft[name]));
}

/** What begins as soon as these settings are set: a time that is past means at once, unless it has begun. */
export function beginsAtOnce(
  settings: Record<string, unknown>,
  now: number,
  phase: Phase = "scheduled",
): "open" | "prequeue" | undefined {
  const isPast = (at: unknown) => typeof at === "number" && at <= now;
  if (phase !== "scheduled" && phase !== "prequeue") return undefined;
  if (isPast(settings["opens_at"])) return "open";
  return phase === "scheduled" && isPast(settings["prequeue_at"]) ? "prequeue" : undefined;
}

/** What the server begins with where nothing is said; only the way in must be chosen. */
export function newDraft(defaults: EventDefaults): Draft {
  return {
    ...termsOf(defaults, defaults.room),
    event: "",
    title: "",
    currency: "EUR",
    prequeue_at: "",
    opens_at: "",
    closes_at: "",
    starts_at: "",
    limits: [],
    max_per_email: null,
    max_per_card: null,
    hasRoom: null,
    fee_fixed: null,
    fee_percent: null,
    tax_name: "",
    tax_percent: null,
    refunds: [],
  };
}

/** An event as it is; the fields of a room that it has not begin with the defaults. */
export function draftOf(event: Event, defaults: EventDefaults): Draft {
  return {
    ...termsOf(event, event.room ?? defaults.room),
    event: event.event,
    title: event.title,
    currency: event.currency,
    prequeue_at: toLocal(event.prequeue_at),
    opens_at: toLocal(event.opens_at),
    closes_at: toLocal(event.closes_at),
    starts_at: toLocal(event.starts_at),
    limits: (event.limits ?? []).map(limitDraft),
    max_per_email: event.max_per_email ?? null,
    max_per_card: event.max_per_card ?? null,
    hasRoom: event.room !== undefined,
    fee_fixed: event.fees?.fixed_minor ? toMajor(event.fees.fixed_minor, event.currency) : null,
    fee_percent: event.fees?.percent_bp ? event.fees.percent_bp / 100 : null,
    tax_name: event.tax?.name ?? "",
    tax_percent: event.tax === undefined ? null : event.tax.rate_bp / 100,
    refunds: (event.refunds ?? []).map(({ days_before, percent }) => ({ days_before, percent })),
  };
}

/** The server's answer to what was sent, with what was typed since. */
export function withTyped(fresh: Draft, sent: Draft, now: Draft): Draft {
  const isSame = (name: keyof Draft) => JSON.stringify(now[name]) === JSON.stringify(sent[name]);
  const names = Object.keys(fresh) as (keyof Draft)[];
  return Object.fromEntries(
    names.map((name) => [name, (isSame(name) ? fresh : now)[name]]),
  ) as unknown as Draft;
}

/** What is typed, but for what somebody else has changed since: that is as they set it. */
export function withOthers(typed: Draft, read: Draft, fresh: Draft): Draft {
  return withTyped(typed, read, fresh);
}

/** What an event and the defaults have in common. */
function termsOf(terms: Omit<EventDefaults, "room">, room: Room) {
  const claimMaxMs = terms.claim_ttl_max_ms;
  return {
    max_per_user: terms.max_per_user ?? null,
    claim_max_min: claimMaxMs === undefined ? null : claimMaxMs / MIN_MS,
    hold_min: terms.hold_ttl_ms / MIN_MS,
    hold_max_min: terms.hold_max_ms / MIN_MS,
    extensions: terms.extensions,
    payment_window_min: terms.payment_window_ms / MIN_MS,
    payment_attempts: terms.payment_attempts,
    single_seats: terms.single_seats,
    capacity: room.capacity,
    outflow_per_min: room.outflow_per_min ?? null,
    order: room.order,
    public_value_source: room.public_value_source ?? "",
    session_min: room.session_ms / MIN_MS,
    arrive_min: room.arrive_ms / MIN_MS,
    place_ttl_min: room.place_ttl_ms / MIN_MS,
    max_queue_size: room.max_queue_size,
    places_per_user: room.places_per_user,
    units_per_visitor: room.units_per_visitor,
  };
}

type Body = Record<string, unknown> & { room: Record<string, unknown> | null };

/**
 * All settings, as `POST /admin/events` takes them; empty is null.
 * @throws {RangeError} if there is an `unreadTime`.
 */
export function settingsOf(draft: Draft): Body {
  const body: Body = {
    title: draft.title,
    currency: draft.currency,
    max_per_user: draft.max_per_user,
    limits: draft.limits.filter(isFilled).map(limitOf),
    max_per_email: draft.max_per_email,
    max_per_card: draft.max_per_card,
    claim_ttl_max_ms: ms(draft.claim_max_min),
    hold_ttl_ms: ms(draft.hold_min),
    hold_max_ms: ms(draft.hold_max_min),
    extensions: draft.extensions,
    payment_window_ms: ms(draft.payment_window_min),
    payment_attempts: draft.payment_attempts,
    single_seats: draft.single_seats,
    fees: feesOf(draft),
    tax: taxOf(draft),
    refunds: draft.refunds.filter(isWhole),
    room: draft.hasRoom ? roomOf(draft) : null,
  };
  for (const name of TIMES) body[name] = draft[name] === "" ? null : fromLocal(draft[name]);
  return body;
}

function roomOf(draft: Draft): Record<string, unknown> {
  return {
    capacity: draft.capacity,
    outflow_per_min: draft.outflow_per_min,
    order: draft.order,
    public_value_source: sourceOf(draft),
    session_ms: ms(draft.session_min),
    arrive_ms: ms(draft.arrive_min),
    place_ttl_ms: ms(draft.place_ttl_min),
    max_queue_size: draft.max_queue_size,
    places_per_user: draft.places_per_user,
    units_per_visitor: draft.units_per_visitor,
  };
}

/** Only a draw is promised a value. */
function sourceOf(draft: Draft): string | null {
  const source = draft.public_value_source.trim();
  return draft.order === "draw" && source !== "" ? source : null;
}

function feesOf(draft: Draft): Record<string, number> | null {
  const fixed_minor = toMinor(draft.fee_fixed ?? 0, draft.currency);
  const percent_bp = Math.round((draft.fee_percent ?? 0) * 100);
  return fixed_minor === 0 && percent_bp === 0 ? null : { fixed_minor, percent_bp };
}

/** None where neither is filled in; half of it is for the server to refuse. */
function taxOf(draft: Draft): Tax | null {
  if (draft.tax_name.trim() === "" && draft.tax_percent === null) return null;
  return { name: draft.tax_name.trim(), rate_bp: Math.round((draft.tax_percent ?? 0) * 100) };
}

function limitDraft({ of, ticket_type, max_per_user }: UserLimit): LimitDraft {
  const [kind, name] = "pool" in of ? (["pool", of.pool] as const) : (["category", of.category] as const);
  return { kind, name, ticket_type: ticket_type ?? "", max_per_user };
}

function isFilled(limit: LimitDraft): boolean {
  return limit.name.trim() !== "" && limit.max_per_user !== null;
}

function limitOf({ kind, name, ticket_type, max_per_user }: LimitDraft): Record<string, unknown> {
  const type = ticket_type.trim();
  return { of: { [kind]: name.trim() }, ...(type === "" ? {} : { ticket_type: type }), max_per_user };
}

function isWhole(rule: Draft["refunds"][number]): rule is RefundRule {
  return rule.days_before !== null && rule.percent !== null;
}

/** Only what differs: what is fixed by now must not be sent again, or all of it would be refused. */
export function changesOf(before: Draft, after: Draft): Record<string, unknown> {
  const was = settingsOf(before);
  const is = settingsOf(after);
  const changed = different(was, is);
  if (was.room && is.room && "room" in changed) changed.room = different(was.room, is.room);
  return changed;
}

function different(was: Record<string, unknown>, is: Record<string, unknown>): Record<string, unknown> {
  const names = Object.keys(is).filter((name) => JSON.stringify(was[name]) !== JSON.stringify(is[name]));
  return Object.fromEntries(names.map((name) => [name, is[name]]));
}

/**
 * The changes, and what those settings were that are replaced as a whole: what somebody else has made
 * of one since is not taken back unseen.
 */
export function withWas(changes: Record<string, unknown>, { fees, tax, refunds, limits }: Event): unknown {
  const read = { fees, tax, refunds, limits };
  const replaced = Object.entries(read).filter(([name]) => name in changes);
  if (replaced.length === 0) return changes;
  const was = Object.fromEntries(replaced.map(([name, value]) => [name, value ?? null]));
  return { ...changes, was };
}

/** The field of the form that shows the setting which a problem is about. */
export function fieldOf(setting: string | undefined): keyof Draft | undefined {
  // `refunds[1].percent`: the rules are one field.
  return FIELDS[setting?.split("[")[0] ?? ""];
}

function ms(min: number | null): number | null {
  return min === null ? null : Math.round(min * MIN_MS);
}
