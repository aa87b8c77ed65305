/**
 * Statements that hold a whole list of packages, of exactly as many bytes as a test asks for, in a signed
 * envelope.
 */
import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { bundleOf, PAYLOAD_TYPE, paeOf } from '../../server/delivery/attestations/envelope.ts';

export const CYCLONEDX = 'https://cyclonedx.org/bom';
export const SPDX = 'https://spdx.dev/Document/v2.3';

export interface Listing {
  /** `sha256:<hex>` */
  readonly digest: string;
  /** Size of the statement. */
  readonly bytes: number;
  readonly by: KeyObject;
  readonly predicateType?: string;
  /** Hint of the bundle, behind the name of its key. None is named by default. */
  readonly hint?: string;
}

/** As scanners write them: with a hash that no packer makes small, half of what a component takes. */
function component(at: number): string {
  const content = createHash('sha512').update(String(at)).digest('hex');
  const purl = `pkg:npm/lib-${at}@1.${at % 90}.0`;
  return JSON.stringify({
    'bom-ref': purl,
    type: 'library',
    name: `lib-${at}`,
    version: `1.${at % 90}.0`,
    purl,
    hashes: [{ alg: 'SHA-512', content }],
  });
}

export function listingPayload({ digest, bytes, predicateType = CYCLONEDX }: Omit<Listing, 'by'>): Buffer {
  const subject = JSON.stringify([{ name: 'web', digest: { sha256: digest.slice(7) } }]);
  const about = `"subject":${subject},"predicateType":"${predicateType}"`;
  const head = `{"_type":"https://in-toto.io/Statement/v1",${about},"predicate":{"components":[`;
  const parts: string[] = [];
  let length = head.length + ']},"fill":""}'.length;
  for (let next = component(0); length + next.length + 1 < bytes; next = component(parts.length)) {
    parts.push(next);
    length += next.length + 1;
  }
  const text = `${head}${parts.join(',')}]},"fill":""}`;
  return Buffer.from(text.replace(/"\}$/, `${'x'.repeat(bytes - text.length)}"}`));
}

/** The file that a scanner's signer writes. */
export function listing(made: Listing): Buffer {
  const payload = listingPayload(made);
  const signature = sign('sha256', paeOf(PAYLOAD_TYPE, payload), made.by);
  return bundleOf({ payload, signature, hint: made.hint ?? '' });
}

export const keyPair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
