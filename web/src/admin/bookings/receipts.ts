/** Receipts and credit notes, as the organiser asks for them. */
import { path, Refused } from "../../api/client";
import { askAsOrganiser } from "../../api/organiser";
import type { Receipt, ReceiptPage } from "../../api/schema";

async function pageOf(query: { booking?: string; limit?: number }): Promise<Receipt[] | undefined> {
  try {
    return (await askAsOrganiser<ReceiptPage>(path`/admin/receipts`, { query })).receipts;
  } catch (error) {
    if (error instanceof Refused && error.code === "RECEIPTS_OFF") return undefined;
    throw error;
  }
}

/** A booking's, the first one first; `undefined` where none are issued. */
export async function receiptsOf(booking: string): Promise<Receipt[] | undefined> {
  return (await pageOf({ booking }))?.reverse();
}

/** Whether any are issued here. */
export async function areIssued(): Promise<boolean> {
  return (await pageOf({ limit: 1 })) !== undefined;
}
