/** The hash-chained ledger of what people and programs changed. */
import { declareFeature } from '../../kit/feature.ts';
import { createCheckpointFile } from './checkpoint-file.ts';
import { createSigner } from './checkpoint.ts';
import { startCheckpoints } from './checkpointer.ts';
import { createAudit } from './service.ts';

export { createCheckpointFile } from './checkpoint-file.ts';
export type { CheckpointFile } from './checkpoint-file.ts';
export { createSigner as createCheckpointSigner } from './checkpoint.ts';
export type { Signer as CheckpointSigner } from './checkpoint.ts';
export { gatherEvidence } from './evidence.ts';
export { streamEntries } from './store.ts';
export { ChainCheck } from './verify.ts';
export type { Evidence, Report } from './verify.ts';

export const auditFeature = declareFeature({
  name: 'audit',
  start: ({ config, clock, db, secrets, onError }) => {
    const file = createCheckpointFile(config.dataDir);
    const signer = createSigner(secrets);
    return {
      services: createAudit({ signer, file }),
      loops: [() => startCheckpoints({ sql: db.sql, clock, signer, file }, onError)],
    };
  },
});
