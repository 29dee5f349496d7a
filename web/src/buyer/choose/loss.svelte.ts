/**
 * Chosen seats that somebody else took. The notice of it stands where the page begins, and whoever holds
 * may be far below: the press that would hold less than was chosen shows it first.
 */

/** What a press is to hold: what is chosen, or the best seats together with that. */
export type Press = "chosen" | "best";

type News =
  /** It came by itself. A press with fewer units chosen than these shows it first. */
  | { is: "unseen"; below: Readonly<Record<Press, number>> }
  /** Whoever wanted to hold this was told, and nothing was held. */
  | { is: "told"; press: Press };

/** A press so soon after the notice was shown is half of a double click: nobody has read that by then. */
const DOUBLE_CLICK_MS = 700;

export class Loss {
  #seats = $state.raw<readonly number[]>([]);
  #news = $state.raw<News>();
  #isToldJustNow = $state(false);
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** By index, in the order they were lost. */
  get seats(): readonly number[] {
    return this.#seats;
  }

  /** The press for which nothing was held; `undefined` where there was none since the loss. */
  get told(): Press | undefined {
    return this.#news?.is === "told" ? this.#news.press : undefined;
  }

  /** Whether that was only just now: a press belongs to the one before, and holds nothing either. */
  get isToldJustNow(): boolean {
    return this.#isToldJustNow;
  }

  /**
   * These left the choice by themselves, of which so many units are left. Whoever chooses as many again has
   * seen to it, and of a choice that is gone whole nothing can be held unseen; but for the best seats, where
   * their form was shown: it had said that the choice is held together with them.
   */
  come(seats: readonly number[], left: number, isForm: boolean): void {
    const before = left + seats.length;
    const known = this.#news?.is === "unseen" ? this.#news.below : { chosen: 0, best: 0 };
    this.#news = {
      is: "unseen",
      below: {
        chosen: left > 0 ? Math.max(before, known.chosen) : 0,
        best: left > 0 || isForm ? Math.max(before, known.best) : 0,
      },
    };
    this.#add(seats);
  }

  /** These could not be held when they were to be: whoever pressed for it is told. */
  tell(seats: readonly number[], press: Press): void {
    this.#wasTold(press);
    this.#add(seats);
  }

  /** Whether nothing is to be held by a press while so many units are chosen: it shows the loss first. */
  stop(press: Press, units: number): boolean {
    if (this.#isToldJustNow) return true;
    if (this.#news?.is !== "unseen" || units >= this.#news.below[press]) return false;
    this.#wasTold(press);
    return true;
  }

  /** The buyer has done something about it. */
  clear(): void {
    this.#seats = [];
    this.#news = undefined;
    this.#isToldJustNow = false;
    clearTimeout(this.#timer);
  }

  #wasTold(press: Press): void {
    this.#news = { is: "told", press };
    this.#isToldJustNow = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.#isToldJustNow = false), DOUBLE_CLICK_MS);
  }

  #add(seats: readonly number[]): void {
    this.#seats = [...new Set([...this.#seats, ...seats])];
  }
}
