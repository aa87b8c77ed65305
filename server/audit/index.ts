/** The hash-chained ledger of what people and programs changed. */
export { appendAudit, auditActor, PLATFORM_CHAIN, recordAct } from './append.ts';
export type { AuditAct } from './append.ts';
export { createCheckpointFile } from './checkpoint-file.ts';
export type { CheckpointFile } from './checkpoint-file.ts';
export { createSigner } from './checkpoint.ts';
export type { Signer } from './checkpoint.ts';
export { startCheckpoints } from './checkpointer.ts';
export type { AuditActor } from './entry.ts';
export { createAudit } from './service.ts';
export type { AuditDeps } from './service.ts';
