/**
 * It says for which controls which files are evidence. Whether a control is met is for an assessor to say, so
 * no word here says it. Numbers and titles: AICPA Trust Services Criteria 2017 (points of focus 2022),
 * ISO/IEC 27001:2022 annex A, NIST SP 800-218 version 1.1.
 */
interface Control {
  readonly control: string;
  readonly subject: string;
  /** Files, or folders with a final slash. */
  readonly evidenceFor: readonly string[];
}

const CHANGES = ['changes/population.json', 'changes/exceptions.json', 'promotions/'];
const LEDGER = ['ledger/entries.ndjson.gz', 'ledger/checkpoint.json', 'ledger/verification.json'];
const BUILT = ['artifacts/', 'attestations/', 'releases/'];
const KEYS = ['keys/rotations.json', 'signing-keys.json'];

const control = (
  name: string,
  subject: string,
  ...evidenceFor: ReadonlyArray<readonly string[]>
): Control => ({
  control: name,
  subject,
  evidenceFor: evidenceFor.flat(),
});

export const CONTROLS: Readonly<
  Record<string, { readonly framework: string; readonly controls: readonly Control[] }>
> = {
  'controls/soc2.json': {
    framework: 'SOC 2, Trust Services Criteria',
    controls: [
      control(
        'CC8.1',
        'changes are authorised, tested, approved and put in place',
        CHANGES,
        ['policies/', 'releases/'],
        LEDGER,
      ),
      control('CC6.8', 'software that is not authorised is kept out or found', BUILT, [
        'policies/',
        'changes/exceptions.json',
      ]),
      control('CC7.2', 'anomalies are watched for', LEDGER, ['changes/exceptions.json']),
    ],
  },
  'controls/iso27001.json': {
    framework: 'ISO/IEC 27001:2022, annex A',
    controls: [
      control('A.5.21', 'security in the ICT supply chain', BUILT, KEYS),
      control('A.8.25', 'secure development life cycle', CHANGES, ['policies/'], BUILT),
      control('A.8.29', 'security testing in development and acceptance', [
        'attestations/',
        'policies/',
        'changes/population.json',
      ]),
      control('A.8.32', 'change management', CHANGES, ['access/members.json'], LEDGER),
    ],
  },
  'controls/ssdf.json': {
    framework: 'NIST SP 800-218, SSDF 1.1',
    controls: [
      control(
        'PO.3.3',
        'tools generate artifacts of their use',
        ['attestations/', 'changes/population.json'],
        LEDGER,
      ),
      control('PS.2.1', 'integrity of releases can be verified', [
        'releases/',
        'attestations/',
        'signing-keys.json',
      ]),
      control('PS.3.1', 'files and supporting data of each release are archived', BUILT),
      control('PS.3.2', 'provenance of the components of each release is collected and kept', BUILT, [
        'changes/exceptions.json',
      ]),
    ],
  },
};
