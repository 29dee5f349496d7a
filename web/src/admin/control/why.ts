/** Why a unit is what it is: the organiser's answers about one seat and one pool. */
import type { SeatStatus } from "../../api/schema";

export type What =
  | "added"
  | "blocked"
  | "unblocked"
  | "allotted"
  | "held"
  | "extended"
  | "paying"
  | "payment_failed"
  | "confirmed"
  | "released"
  | "expired"
  | "cancelled"
  | "checked_in"
  | "capacity"
  | "claimed"
  | "returned"
  | "adjusted";

export interface Happened {
  seq: number;
  at: number;
  what: What;
  units?: number;
  booking?: string;
  user?: string;
  by?: string;
  why?: string;
  /** The channel it went to; missing where that was everybody's stock. */
  channel?: string;
  before?: number;
  after?: number;
}

export interface SeatFile {
  seat: string;
  section?: string;
  row?: string;
  number?: string;
  category: string;
  price_minor: number;
  status: SeatStatus;
  booking?: string;
  user?: string;
  by?: string;
  why?: string;
  since?: number;
  history: Happened[];
}

export interface PoolFile {
  pool: string;
  capacity: number;
  price_minor: number;
  free: number;
  held: number;
  sold: number;
  blocked: number;
  history: Happened[];
}
