/** A plain resource is built from these: its table, its rows for a caller, its messages, its changes. */
export { change, transition, unlessTaken } from './change.ts';
export type { Transition } from './change.ts';
export { inTeams, lockTeam, refuseMore, rowsOf } from './rows.ts';
export type { Changes, NewRow, RowOf, Rows, Who } from './rows.ts';
export type { TeamTable } from './team-table.ts';
export { enumNumber, enumWord, given, shown } from './shown.ts';
export type { Row } from './shown.ts';
