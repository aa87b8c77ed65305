/** Whose certificates count on statements that are uploaded. */
import { optional, readableFile } from '@svc/proto/process/settings.ts';

export const settings = {
  sigstoreTrustedRoot: optional('SIGSTORE_TRUSTED_ROOT', {
    about:
      'File with the authorities and logs whose certificates count on statements about artifacts: `trusted_root.json` of Sigstore. Read at the start.',
    type: 'path',
    absent: 'no certificate counts, and such statements are `unverified`',
    parse: readableFile,
  }),
};
