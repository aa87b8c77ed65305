/** A failure gets its name: a digest of the few lines that hold its reason, in their normal form. */
import { chosenLines } from './choose.ts';
import { normalForm } from './normal-form.ts';

/**
 * Stands in front of every signature. Signatures of another version are other names of the same failures, so
 * that a change of the algorithm has another version.
 */
export const SIGNATURE_VERSION = 'fs1';

/** Bytes of a template. */
const TEMPLATE_MAX = 4_096;
const CHARACTERS = 26;
/** Crockford's base32, in lower case, as ids have it. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

export interface FailureText {
  /** Output of what failed, of which the end is read. */
  readonly output: string;
  /** Output of the last success of the same; its lines are not looked at. */
  readonly greenOutput?: string | undefined;
  /** Word for what failed, such as `build`. Failures of two kinds have two signatures. */
  readonly kind: string;
  /** Word for where it failed, such as `publishing`; likewise. */
  readonly phase?: string | undefined;
  /** Stands for the output where that is empty. */
  readonly message?: string | undefined;
}

export interface FailureSignature {
  /** `fs1_` and 26 characters. */
  readonly signature: string;
  /** Normal form of the lines, at most 4,096 bytes. It names no address, path or secret. */
  readonly template: string;
  /** The lines as they stand in the output, without colours and times, at most six. */
  readonly excerpt: readonly string[];
}

/** Returns undefined where there is no text at all. */
export async function failureSignature(of: FailureText): Promise<FailureSignature | undefined> {
  const { output, greenOutput = '', kind, phase = '', message = '' } = of;
  const chosen = chosenLines(output, greenOutput);
  const excerpt =
    chosen.length > 0
      ? chosen
      : message
          .split('\n')
          .filter((line) => line.trim() !== '')
          .slice(0, 3);
  const lines = shortened([...new Set(excerpt.map(normalForm))].filter((line) => line !== ''));
  if (lines.length === 0) return undefined;
  const template = lines.join('\n');
  const named = [SIGNATURE_VERSION, kind, phase, template].join('\n');
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(named));
  return { signature: `${SIGNATURE_VERSION}_${base32(new Uint8Array(digest))}`, template, excerpt };
}

/** Lines that do not fit any more are left out. */
function shortened(lines: readonly string[]): readonly string[] {
  let bytes = -1;
  return lines.filter((line) => (bytes += new TextEncoder().encode(line).length + 1) <= TEMPLATE_MAX);
}

function base32(bytes: Uint8Array): string {
  let bits = 0n;
  for (const byte of bytes) bits = (bits << 8n) | BigInt(byte);
  const first = bytes.length * 8;
  return Array.from({ length: CHARACTERS }, (_, at) =>
    ALPHABET.charAt(Number((bits >> BigInt(first - 5 * (at + 1))) & 31n)),
  ).join('');
}
