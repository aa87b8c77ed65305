/** How a plain resource is built: its table, its rows for a caller, its messages, its changes. */
export { change, transition, unlessTaken } from './change.ts';
export type { Act, Transition } from './change.ts';
export { inTeams, lockTeam, rowsOf } from './rows.ts';
export type { Changes, NewRow, Query, RowOf, Rows, Who } from './rows.ts';
export { enumNumber, enumWord, given, shown } from './shown.ts';
export type { Given, Row } from './shown.ts';
