/**
 * Writes the hash-chained ledger of what people and programs changed. Area `delivery` reads, verifies and
 * exports it.
 */
export { appendAudit, auditActor, PLATFORM_CHAIN, recordAct } from './append.ts';
export type { ActCtx, AuditAct } from './append.ts';
export type { AuditActor } from './entry.ts';
