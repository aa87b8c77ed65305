/** `svc artifacts verify` checks a signed statement on this machine. */
import { readFileUpTo } from '../shell/bytes.ts';
import { defineOwn, type ContextOf, type OwnArgs } from '../shell/command.ts';
import { verifyBundle } from './checks.ts';
import { BUNDLE_BYTES_MAX } from './envelope.ts';
import { findKeys, KEYS_ARG } from './key-source.ts';
import { printVerification, VERIFICATION } from './print-verification.ts';
import { digestOfFile, imageOf, isDigest } from './subject.ts';

const ARGS = {
  artifact: {
    type: 'positional',
    required: true,
    valueHint: 'file|digest|image@digest',
    description: 'What the statement is to be about: a file, sha256:…, or an image with its digest.',
  },
  bundle: {
    type: 'string',
    required: true,
    valueHint: 'path',
    description: 'The signed statement: a Sigstore bundle 0.1 to 0.3, or a DSSE envelope, gzipped or not.',
  },
  keys: KEYS_ARG,
} satisfies OwnArgs;

export const command = defineOwn({
  description: [
    'Verifies a signed statement about an artifact on this machine. It needs no credential, and with a file for --keys no network. A line says of each check what was seen: the bundle, its payload type, the statement, its subject, the signature, and, where the list of keys tells them, purpose and revocation of the key. A JWK set and PEM tell neither.',
    "What a revoked key signed fails, unless the list says since when the key was compromised and the statement's metadata.finishedOn is earlier. That time is the word of whoever signed, so where it matters look at the service's own record: svc artifacts show.",
    'Ends with 0 when everything holds, with 1 when something does not, and with 2 when a file cannot be read or holds no keys.',
  ].join('\n\n'),
  args: ARGS,
  answer: VERIFICATION,
  examples: [
    {
      title: 'A file, offline',
      cli: 'artifacts verify web.tgz --bundle web.sigstore.json --keys signing-keys.json',
    },
    {
      title: 'An image, with the keys of the server in use',
      cli: 'artifacts verify registry.example.com/acme/web@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 --bundle web.sigstore.json',
    },
  ],
  run: verifyArtifact,
});

async function verifyArtifact(context: ContextOf<typeof ARGS>): Promise<number> {
  const { args, signal } = context;
  const { artifact } = args;
  const bundle = await readFileUpTo(args.bundle, { flag: 'bundle', bytesMax: BUNDLE_BYTES_MAX, signal });
  const subject = isDigest(artifact)
    ? artifact
    : (imageOf(artifact)?.digest ?? (await digestOfFile(artifact, signal)));
  return await printVerification(context, verifyBundle(bundle, subject, await findKeys(context, args.keys)));
}
