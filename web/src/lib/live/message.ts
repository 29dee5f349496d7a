/** What is told of an event while it is followed, whatever the way. docs/design/http.md lists it. */
export type LiveMessage =
  | { type: "position"; place: string; number: number; position?: number; total: number }
  | { type: "your_turn"; place: string; until: number; arrive_by?: number; pass?: string }
  | { type: "left"; place: string; how: "left" | "lapsed" | "removed" }
  | { type: "session_ended"; place: string; how: SessionEnd }
  | { type: "slot_kept"; place: string; until: number }
  | { type: "hold"; booking: string; status: string; until?: number }
  | { type: "hold_expiring"; booking: string; until: number }
  | { type: "seats"; at: number; changed: Record<string, "free" | "held" | "sold" | "blocked"> }
  | { type: "phase"; phase: "scheduled" | "prequeue" | "open" | "paused" | "closed" }
  | { type: "admission"; admission: "goes_on" | "waits" | "sold_out" }
  | { type: "not_in_queue" }
  | { type: "bye" };

/** How a session can end. */
export const SESSION_ENDS = ["no_show", "timeout", "left", "completed", "payment_failed", "removed"] as const;
export type SessionEnd = (typeof SESSION_ENDS)[number];
