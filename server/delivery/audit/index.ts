/** The hash-chained ledger of what people and programs changed. */
export { createCheckpointFile } from './checkpoint-file.ts';
export type { CheckpointFile } from './checkpoint-file.ts';
export { createSigner } from './checkpoint.ts';
export type { Signer } from './checkpoint.ts';
export { startCheckpoints } from './checkpointer.ts';
export { createAudit } from './service.ts';
export type { AuditDeps } from './service.ts';
