/**
 * Makes a way to number questions: each is asked for whether its answer is still news, which it is not
 * once the answer to a later one was taken.
 */
export function inOrder(): () => () => boolean {
  let asked = 0;
  let taken = 0;
  return () => {
    const number = (asked += 1);
    return () => {
      if (number < taken) return false;
      taken = number;
      return true;
    };
  };
}
