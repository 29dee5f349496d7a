/** What a document says until its page is there: index.html and admin.html have the words. */

/** Where the pages are shown. */
function place(): HTMLElement {
  return document.getElementById("app")!;
}

/**
 * Has "Try again" load the address as it is. As a link, which is all it is until our code has come, it
 * loses what stands behind `#`.
 */
export function tryAgainHere(): void {
  place()
    .querySelector("a")
    ?.addEventListener("click", (event) => {
      event.preventDefault();
      location.reload();
    });
}

/** Takes the words away, for the page. */
export function cleared(): HTMLElement {
  const there = place();
  there.replaceChildren();
  return there;
}
