/** What buyers read about an event in one language, as somebody types it; empty is nothing. */
export interface TextDraft {
  title: string;
  venue: string;
  description: string;
}

/** The languages in which a text is not as the server has it. */
export function unsavedOf(drafts: Record<string, TextDraft>, saved: Record<string, TextDraft>): string[] {
  return Object.keys(drafts).filter((tag) => {
    const [draft, was] = [drafts[tag]!, saved[tag]];
    return draft.title !== was?.title || draft.venue !== was.venue || draft.description !== was.description;
  });
}
