/**
 * `@svc/sdk/failure-signature` names a failure by its output: the same cause has the same signature at other
 * commits, paths, times and machines, and in other teams. It is a pure function of text that asks nobody and
 * needs nothing of Node; the service computes the signatures of `teams.listFailureSignatures` by it. Its time
 * grows with the length of the text, of which the last 512 Ki characters are read.
 *
 *     const found = await failureSignature({ output, greenOutput, kind: 'build', phase: 'building' });
 */
export { OUTPUT_MAX } from './lines.ts';
export { failureSignature, SIGNATURE_VERSION } from './signature.ts';
export type { FailureSignature, FailureText } from './signature.ts';
