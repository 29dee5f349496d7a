/** The question that comes before a plan puts chairs on sale a second time. */
import type { Plan } from "./model/document";
import { countTwins } from "./send";

export class TwinCheck {
  /** So many seats would be on sale twice, as those of a plan that was numbered anew. */
  count = $state(0);
  /** Whoever sends the plan says that this is meant. */
  isMeant = $state(false);

  /** Whether a plan may be sent: no more of its seats would be on sale twice than are meant to be. */
  async allows(event: string, plan: Plan): Promise<boolean> {
    const meant = this.isMeant ? this.count : 0;
    this.count = await countTwins(event, plan);
    this.isMeant = false;
    return this.count <= meant;
  }

  /** What was asked was asked about the plan of then. */
  forget(): void {
    this.count = 0;
    this.isMeant = false;
  }
}
