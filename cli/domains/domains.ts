/** `svc domains add --wait` and `svc domains check` say in a line what a name waits for. */
import { Domains, type Domain } from '@svc/sdk';
import { patience, watch } from '../follow/watch.ts';
import {
  defineOwn,
  type Context,
  type ContextOf,
  type GeneratedSpec,
  type Own,
  type OwnArgs,
} from '../shell/command.ts';
import { EXIT } from '../shell/exit.ts';
import { answerOf, printAnswer } from '../shell/operation.ts';
import { isJson } from '../shell/output.ts';
import { neutraliseLine } from '../shell/text.ts';

/** The server looks a record up no sooner. */
const VERIFY_MS = 10_000;
const WAITS = ['none', 'waiting_dns', 'issuing'];
const IN_FORCE = ['active', 'renewing'];

const ARGS = {
  wait: {
    type: 'boolean',
    alias: 'w',
    description: 'Say which record to set, look it up until it is found, and wait until the name is served.',
  },
} satisfies OwnArgs;

export function add(generated: GeneratedSpec): Own {
  return defineOwn({
    description: `${generated.description}\n\nWith --wait it ends with 0 when the name is served, or led to the app by the operator of its runner (\`external\`), with 8 when it is not by the end of --timeout, and with 1 when it cannot be. Interrupting it leaves the domain as it is.`,
    args: ARGS,
    examples: [
      ...generated.examples,
      { title: 'Until it is served', cli: 'domains add app.example.com --env env_01 --wait' },
    ],
    waits: true,
    run: addDomain,
  });
}

export function check(generated: GeneratedSpec): Own {
  return {
    description: `Says of each domain of an environment how its record, its addresses and its certificate stand, and the one sentence that helps. Nothing is looked up for it: the runner's last word is shown. Ends with 1 when one cannot be served, with 8 when one waits, and with 0 otherwise.`,
    examples: [{ title: 'Whether all names are served', cli: 'domains check env_01' }],
    columns: generated.columns,
    exits: [EXIT.pending],
    run: checkDomains,
  };
}

async function addDomain(context: ContextOf<typeof ARGS>): Promise<number> {
  const { args, io, output } = context;
  const patient = patience(context);
  const made = await answerOf<Domain>(context, context.input, { signal: io.interrupted });
  if (args.wait !== true) {
    await output.value(made);
    return EXIT.ok;
  }
  if (made.recordName !== undefined) await output.note(recordOf(made));
  const domains = new Domains(await context.client());
  let verifyAt = 0;
  const get = async (signal: AbortSignal): Promise<Domain> => {
    const { id, environmentId } = made;
    const found = (await domains.list(environmentId, { signal })).find((each) => each.id === id) ?? made;
    if (found.state !== 'pending_verification' || io.now() < verifyAt) return found;
    verifyAt = io.now() + VERIFY_MS;
    return await domains.verify(environmentId, id, { signal });
  };
  const isOver = (domain: Domain): boolean => exitCode(domain) !== EXIT.pending;
  const last = await watch(context, { start: made, get, isOver, stage: describe, describe }, patient);
  await output.value(last);
  await output.progress(describe(last));
  return exitCode(last);
}

async function checkDomains(context: Context): Promise<number> {
  const { output } = context;
  const domains = await answerOf<readonly Domain[]>(context);
  if (isJson(output)) await printAnswer(context, domains);
  else for (const domain of domains) await output.raw(`${linesOf(domain).map(neutraliseLine).join('\n')}\n`);
  const codes = domains.map(exitCode);
  return [EXIT.failed, EXIT.pending].find((code) => codes.includes(code)) ?? EXIT.ok;
}

const recordOf = ({ recordName, recordValue }: Domain): string =>
  `set this record: ${recordName}.  TXT  "${recordValue}"`;

const linesOf = (domain: Domain): readonly string[] =>
  domain.recordName === undefined ? [describe(domain)] : [describe(domain), `  ${recordOf(domain)}`];

/** `app.example.com active: DNS wrong (expected 203.0.113.7, seen 198.51.100.2) · certificate issuing` */
function describe({ name, state, ssl, recordName, dns, certificate, hint }: Domain): string {
  const { expected = [], seen = [] } = dns ?? {};
  const parts = [
    ...(recordName === undefined ? [] : ['TXT missing']),
    ...(dns === undefined
      ? []
      : [
          `DNS ${dns.state}${dns.state === 'wrong' ? ` (expected ${list(expected)}, seen ${list(seen)})` : ''}`,
        ]),
    ...(ssl ? [`certificate ${(certificate?.state ?? 'none').replaceAll('_', ' ')}`] : []),
  ];
  const how = parts.length === 0 ? '' : `: ${parts.join(' · ')}`;
  return `${name} ${state.replaceAll('_', ' ')}${how}${hint === undefined ? '' : `; ${hint}`}`;
}

const list = (addresses: readonly string[]): string =>
  addresses.length === 0 ? 'any' : addresses.join(', ');

function exitCode({ state, ssl, certificate }: Domain): number {
  if (state === 'external') return EXIT.ok;
  if (state === 'conflicting') return EXIT.failed;
  if (state !== 'active') return EXIT.pending;
  const of = certificate?.state ?? 'none';
  if (!ssl || IN_FORCE.includes(of)) return EXIT.ok;
  return WAITS.includes(of) ? EXIT.pending : EXIT.failed;
}
