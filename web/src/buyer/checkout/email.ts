/** Which mail addresses a letter can be sent to, by the same rules as the server's. */

/** What names and hosts are made of, between their full stops. */
const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]*[A-Za-z0-9])?";
const ADDRESS = new RegExp(`^(?=.{1,254}$)(?=[^@]{1,64}@)${ATOM}(?:\\.${ATOM})*@${LABEL}(?:\\.${LABEL})*$`);

export function canBeWrittenTo(address: string): boolean {
  return ADDRESS.test(address);
}
