/** These settings say whose certificates count on statements that are uploaded. */
import { address, optional, readableFile, text } from '@svc/proto/process/settings.ts';

export const settings = {
  attestationTypeBase: text('ATTESTATION_TYPE_BASE', {
    about:
      'Beginning of the types of statements that this installation makes up itself. Policies of others name them: choose it once and keep it.',
    type: 'http(s) address',
    fallback: 'https://svc.example/attestations',
    parse: address('http:', 'https:'),
  }),
  sigstoreTrustedRoot: optional('SIGSTORE_TRUSTED_ROOT', {
    about:
      'File with the authorities and logs whose certificates count on statements about artifacts: `trusted_root.json` of Sigstore. Read at the start.',
    type: 'path',
    absent: 'no certificate counts, and such statements are `unverified`',
    parse: readableFile,
  }),
};
