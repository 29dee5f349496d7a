/** The question that comes before a plan puts chairs on sale a second time. */
import type { Plan } from "./model/document";
import { findTwins } from "./send";

export class TwinCheck {
  /** So many seats would be on sale twice, as those of a plan that was numbered anew. */
  count = $state(0);
  /** They are arranged as what is on sale, and stand elsewhere. */
  isMoved = $state(false);
  /** Whoever sends the plan says that this is meant. */
  isMeant = $state(false);

  /** Whether a plan may be sent: no more of its seats would be on sale twice than are meant to be. */
  async allows(event: string, plan: Plan): Promise<boolean> {
    const meant = { count: this.isMeant ? this.count : 0, isMoved: this.isMoved };
    const { count, isMoved } = await findTwins(event, plan);
    this.count = count;
    this.isMoved = isMoved;
    this.isMeant = false;
    return count <= (isMoved === meant.isMoved ? meant.count : 0);
  }

  /** What was asked was asked about the plan of then. */
  forget(): void {
    this.count = 0;
    this.isMoved = false;
    this.isMeant = false;
  }
}
