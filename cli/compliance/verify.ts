/** `svc compliance verify` checks a package of evidence on this machine. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { verifyBundle, type Check, type Verification } from '../artifacts/checks.ts';
import { findKeys, KEYS_ARG } from '../artifacts/key-source.ts';
import type { VerificationKey } from '../artifacts/keys.ts';
import { printVerification, VERIFICATION } from '../artifacts/print-verification.ts';
import { readUpTo } from '../shell/bytes.ts';
import { defineOwn, type ContextOf, type OwnArgs } from '../shell/command.ts';
import { UsageError } from '../shell/errors.ts';
import { isRecord, type Json } from '../shell/paths.ts';
import { filesOf, PACKAGE_BYTES_MAX } from './package-file.ts';

const MANIFEST = 'MANIFEST.json';
/** The service signs other statements too, and some hold what callers wrote. */
const PREDICATE_SUFFIX = '/compliance-package/v1';
const SIGNATURE = 'manifest.sigstore.json';

const ARGS = {
  package: {
    type: 'positional',
    required: true,
    valueHint: 'path',
    description: 'The tar file of the package, as it was exported.',
  },
  keys: KEYS_ARG,
} satisfies OwnArgs;

export const command = defineOwn({
  description: [
    'Verifies a compliance package on this machine: the signature of its manifest, that its files are exactly those that the manifest names, each with its SHA-256, and that no deployment is missing that the ledger was told of. It needs no credential, and with a file for --keys no network. The keys within the package are not believed.',
    'Ends with 0 when everything holds, with 1 when something does not, and with 2 when a file cannot be read or holds no keys.',
  ].join('\n\n'),
  args: ARGS,
  answer: VERIFICATION,
  examples: [{ title: 'Offline', cli: 'compliance verify package.tar --keys signing-keys.json' }],
  run: async (context: ContextOf<typeof ARGS>) => {
    const { args, signal } = context;
    const files = await readPackage(args.package, signal);
    return await printVerification(context, verifyPackage(files, await findKeys(context, args.keys)));
  },
});

async function readPackage(path: string, signal: AbortSignal): Promise<ReadonlyMap<string, Buffer>> {
  try {
    const tar = await readUpTo(createReadStream(path, { signal }), PACKAGE_BYTES_MAX);
    if (tar.length > PACKAGE_BYTES_MAX)
      throw new Error(`it has more than ${PACKAGE_BYTES_MAX} bytes, which no package has`);
    return filesOf(tar);
  } catch (error) {
    signal.throwIfAborted();
    throw new UsageError(`cannot read the package ${path}: ${(error as Error).message}`);
  }
}

function verifyPackage(files: ReadonlyMap<string, Buffer>, keys: readonly VerificationKey[]): Verification {
  const manifest = files.get(MANIFEST) ?? Buffer.alloc(0);
  const signed = verifyBundle(files.get(SIGNATURE) ?? Buffer.alloc(0), `sha256:${sha256Of(manifest)}`, keys);
  const { predicateType = 'nothing' } = signed;
  const isOfPackage = predicateType.endsWith(PREDICATE_SUFFIX);
  const kind = { check: 'kind', ok: isOfPackage, detail: `it states ${predicateType}` };
  // What a manifest says that nobody signed says nothing.
  const isManifest = signed.ok && isOfPackage;
  const checks = [
    ...signed.checks,
    kind,
    ...(isManifest ? [...checkedFiles(files, manifest), ...checkedDeployments(files)] : []),
  ];
  return { ...signed, ok: checks.every(({ ok }) => ok), checks };
}

function checkedFiles(files: ReadonlyMap<string, Buffer>, manifest: Buffer): readonly Check[] {
  const named = namedIn(manifest);
  const found = [...files.keys()].filter((path) => path !== MANIFEST && path !== SIGNATURE);
  const wrong = [
    ...[...named].flatMap(([path, sha256]) => {
      const content = files.get(path);
      if (content === undefined) return [`missing: ${path}`];
      return sha256Of(content) === sha256 ? [] : [`changed: ${path}`];
    }),
    ...found.filter((path) => !named.has(path)).map((path) => `additional: ${path}`),
  ];
  if (wrong.length > 0) return wrong.map((detail) => ({ check: 'files', ok: false, detail }));
  return [{ check: 'files', ok: true, detail: `${named.size}, each as the manifest names it` }];
}

/**
 * A row can be taken out of a table, an entry not out of the ledger. Older packages do not say what there
 * must be.
 */
function checkedDeployments(files: ReadonlyMap<string, Buffer>): readonly Check[] {
  const expected = listIn(files.get('changes/expected.json'));
  if (expected === undefined) return [];
  const told = new Set((listIn(files.get('changes/population.json')) ?? []).map(deploymentId));
  const missing = expected.filter((deployment) => !told.has(deploymentId(deployment)));
  const detail = `${expected.length}, as the ledger was told of them`;
  if (missing.length === 0) return [{ check: 'deployments', ok: true, detail }];
  return missing.map(({ buildId, promotionId, environmentId, number, seq }) => {
    const by =
      typeof buildId === 'string'
        ? `build ${buildId}, number ${String(number)}`
        : `promotion ${String(promotionId)}`;
    const detail = `missing: ${by} of environment ${String(environmentId)}, which entry ${String(seq)} of the ledger names`;
    return { check: 'deployments', ok: false, detail };
  });
}

/** One that no build deployed is known by its promotion. */
const deploymentId = ({ buildId, promotionId }: Json): unknown => buildId ?? promotionId;

/** Returns undefined for bytes that hold no list of JSON. */
function listIn(bytes: Buffer | undefined): readonly Json[] | undefined {
  if (bytes === undefined) return undefined;
  try {
    const list: unknown = JSON.parse(bytes.toString('utf8'));
    return Array.isArray(list) ? list.filter(isRecord) : undefined;
  } catch {
    return undefined; // It was changed, which is said of the file.
  }
}

/** Reads the files that a manifest names, which the service has signed. */
function namedIn(manifest: Buffer): ReadonlyMap<string, string> {
  const { files = [] } = JSON.parse(manifest.toString('utf8')) as Record<string, Json>;
  const named = (Array.isArray(files) ? files : []).filter(isRecord);
  return new Map(named.map(({ path, sha256 }) => [String(path), String(sha256)]));
}

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
