/** What lists of things to choose from have in common. */

export interface Item {
  id: string;
  label: string;
  /** What is heard, where the label alone says too little. */
  name?: string;
  level?: number;
  colour?: string;
  isChosen: boolean;
}

/** Whether something is chosen by itself, with what is chosen already, or no more if it was. */
export type How = "alone" | "more" | "toggle";
