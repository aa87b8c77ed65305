/**
 * `svc ci report` reports the run that the environment of the CI system tells. Behind `--` stands a program
 * whose start and end are reported; it is run and its exit code passed on whatever becomes of the reports.
 */
import { spawnSync } from 'node:child_process';
import { Ci, SvcApiError, type CiReportParams, type CiRun, type CiStatus, type ReportedJob } from '@svc/sdk';
import {
  defineOwn,
  describeFlag,
  type ContextOf,
  type GeneratedSpec,
  type Own,
  type OwnArgs,
} from '../shell/command.ts';
import { messageOf, UsageError } from '../shell/errors.ts';
import { EXIT } from '../shell/exit.ts';
import { defined } from '../shell/paths.ts';
import type { Detected } from './detect.ts';
import { ID_TOKEN, reportingClient } from './id-token.ts';
import { detectJob, JOB_ARGS, withDefaults } from './job.ts';
import { runProgram } from './program.ts';

/** Time limit of one report with its retries; a job should not stand still because nobody answers. */
const REPORT_LIMIT_MS = 30_000;

/** Arguments that the request does not hold. */
const ARGS = {
  provider: JOB_ARGS.provider,
  local: {
    type: 'boolean',
    description: 'Report also outside of CI; needs --external-run-id.',
  },
  strict: {
    type: 'boolean',
    description: 'Refuse when the variables of more than one CI system are set.',
  },
  jobOnly: {
    type: 'boolean',
    description:
      'Report the end of the program as that of its job, and leave the run open. For all jobs of a pipeline but the last one.',
  },
  jobName: {
    type: 'string',
    description:
      "Name of the program's job. Default: told by the CI system. Jobs of one name and without an id are one job: give each leg of a matrix at GitHub its own.",
  },
  jobId: {
    type: 'string',
    description: "Id of the program's job at the CI system. Default: told by the CI system, if it has one.",
  },
  audience: JOB_ARGS.audience,
  strictReport: {
    type: 'boolean',
    description: 'End with 1 when the program succeeded and a report failed.',
  },
} satisfies OwnArgs;

type Reporting = ContextOf<typeof ARGS>;

export function report(generated: GeneratedSpec): Own {
  return defineOwn({
    description: [
      generated.description,
      'Run, attempt, commit, branch, tag and address are those of the CI system it runs in, told by one variable each, in this order: GITHUB_ACTIONS, GITLAB_CI, BITBUCKET_BUILD_NUMBER, JENKINS_URL, CIRCLECI, BUILDKITE, DRONE, TF_BUILD (Azure). Flags win over what was found. Outside of CI it needs --local.',
      `Without an API key a job at GitHub reports with id_tokens that it asks for (permissions: id-token: write), one at GitLab.com with the one in ${ID_TOKEN} (id_tokens in .gitlab-ci.yml), taken within ten minutes from the start of the job.`,
      "With a program behind --, its start is reported, its end, and how long it took; the exit code is the program's own, and reports that fail are only told of, unless --strict-report is given.",
      'The end of the program is the end of the run. In a pipeline with several jobs give --job-only to all but the last job, or to all but one of those that end it together: otherwise the run ends with the first job that does.',
    ].join('\n\n'),
    flags: [
      ...withDefaults(generated.flags, { externalRunId: 'Default: told by the CI system.' }),
      describeFlag({
        flag: 'command',
        type: 'string',
        repeated: true,
        rest: true,
        hidden: true,
        description: 'Program to run and report.',
      }),
    ],
    args: ARGS,
    examples: [
      ...generated.examples,
      {
        title: 'Report the tests, from their start to their end',
        cli: 'ci report --connection cic_01 -- npm test',
      },
    ],
    wraps: true,
    run,
  });
}

async function run(context: Reporting): Promise<number | void> {
  const { command, ...given } = context.input;
  const words = Array.isArray(command) ? command.map(String) : [];
  if (words.length > 0) return await wrap(context, given, words);
  const { params, detected } = await paramsOf(context, given);
  const { signal } = context;
  const ci = new Ci(await reportingClient(context, { ...whoReports(params, detected), signal }));
  const run = await ci.report(params, { signal });
  await context.output.value(run);
  await noteUnplaced(context, run);
}

/** A run that nobody will find in a timeline is told of, and where it is seen. */
async function noteUnplaced({ output }: Reporting, { unplaced }: CiRun): Promise<void> {
  if (unplaced !== undefined) await output.note(unplaced);
}

interface RunToReport {
  readonly params: CiReportParams;
  readonly detected: Detected | undefined;
}

function whoReports({ ciConnectionId }: CiReportParams, detected: Detected | undefined) {
  return { ciConnectionId, provider: detected?.provider };
}

/** Reads facts from the environment, below those that flags give. */
async function paramsOf(context: Reporting, given: Readonly<Record<string, unknown>>): Promise<RunToReport> {
  const { args } = context;
  const detected = await detectJob(context, { strict: args.strict === true });
  if (detected === undefined && args.local !== true)
    throw new UsageError('no CI system is told by the environment', {
      hints: ['give --provider to name it, or --local to report from elsewhere'],
    });
  // The flags are those of the request's fields, and were held to their types when they were read.
  const flags = given as Partial<CiReportParams> & Pick<CiReportParams, 'ciConnectionId'>;
  const params = { ...(detected === undefined ? {} : ofDetected(detected)), ...flags };
  const { externalRunId } = params;
  if (externalRunId === undefined)
    throw new UsageError('the environment does not tell the id of the run: give --external-run-id');
  return { params: { ...params, externalRunId }, detected };
}

/** Lengths are those of the contract: what is too long is of no use cut off, except a name. */
function ofDetected(detected: Detected): Partial<CiReportParams> {
  const { provider, runId, attempt, branch, tag, mergeQueueOf, url, event, actor } = detected;
  const commit = detected.commit === 'HEAD' ? headHere() : detected.commit;
  const pipeline = UNNAMED.has(provider) ? undefined : detected.pipeline;
  return defined({
    externalRunId: runId,
    externalAttempt: attempt,
    // A symbolic HEAD is no commit; the server waits for one.
    commitSha: commit !== undefined && /^[0-9a-f]{40}([0-9a-f]{24})?$/i.test(commit) ? commit : undefined,
    branch,
    tag,
    mergeQueueOf,
    externalUrl: url !== undefined && /^https?:\/\/\S+$/.test(url) && url.length <= 2_000 ? url : undefined,
    pipelineName: pipeline?.slice(0, 255),
    trigger: event?.slice(0, 100),
    actor: actor?.slice(0, 255),
  });
}

/** Their variables do not hold the name that their webhooks give, and one run cannot be of two pipelines. */
const UNNAMED: ReadonlySet<string> = new Set(['bitbucket', 'circleci']);

/** Buildkite builds what is newest when nobody named a commit: only the checkout knows which that was. */
function headHere(): string | undefined {
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8', timeout: 5_000 });
  return typeof stdout === 'string' ? stdout.trim() : undefined;
}

async function wrap(
  context: Reporting,
  given: Readonly<Record<string, unknown>>,
  words: readonly string[],
): Promise<number> {
  const { io, args } = context;
  const problems: string[] = [];
  const attempt = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      problems.push(what);
      await context.output.note(`warning: ${what} was not reported: ${messageOf(error)}`);
      return undefined;
    }
  };
  let ci: Ci | undefined;
  const startedMs = io.now();
  const start = async (): Promise<Reporter> => {
    const told = await paramsOf(context, given);
    const who = whoReports(told.params, told.detected);
    // It is made once, because an id_token is exchanged a single time, whatever becomes of the first report.
    ci ??= new Ci(await reportingClient(context, { ...who, signal: limited() }));
    return await startReporter(context, ci, { ...told, startedMs });
  };
  const starting = attempt('the start', start);
  const exitCode = await runProgram(words, io);
  const end: End = { status: statusOf(exitCode, io.interrupted.aborted), nowMs: io.now(), words };
  const reporter = (await starting) ?? (await attempt('the end', start));
  if (reporter !== undefined) {
    // Each is reported by itself, so that a run that takes no jobs ends all the same.
    await attempt('the job', () => reporter.endJob(end));
    if (args.jobOnly !== true) await attempt('the end', () => reporter.endRun(end));
  }
  const isStrict = args.strictReport === true && problems.length > 0;
  return exitCode === EXIT.ok && isStrict ? EXIT.failed : exitCode;
}

const limited = (): AbortSignal => AbortSignal.timeout(REPORT_LIMIT_MS);

/** A program that somebody ended was cancelled, whatever it made of that. */
function statusOf(exitCode: number, interrupted: boolean): CiStatus {
  if (exitCode === EXIT.ok) return 'success';
  return interrupted ? 'cancelled' : 'failed';
}

interface End {
  readonly status: CiStatus;
  readonly nowMs: number;
  readonly words: readonly string[];
}

interface Reporter {
  endJob(end: End): Promise<void>;
  endRun(end: End): Promise<void>;
}

async function startReporter(
  context: Reporting,
  ci: Ci,
  { params, detected, startedMs }: RunToReport & { readonly startedMs: number },
): Promise<Reporter> {
  const startedAt = new Date(startedMs).toISOString();
  const started: CiReportParams = { startedAt, ...params, status: 'running' };
  const options = () => ({ signal: limited() });
  const run = await ci.report(started, options());
  const { id } = run;
  await noteUnplaced(context, run);
  return {
    endJob: async ({ status, nowMs, words }) => {
      const finishedAt = new Date(nowMs).toISOString();
      const job = { ...jobOf(context, detected, words), status, startedAt, finishedAt };
      await ci.reportJobs(id, [job], options());
    },
    endRun: async ({ status, nowMs }) => {
      const finishedAt = new Date(nowMs).toISOString();
      const durationMs = Math.max(0, nowMs - startedMs);
      try {
        await ci.report({ ...started, status, finishedAt, durationMs }, options());
      } catch (error) {
        // Another job or the provider was first, and its word stands.
        if (!(error instanceof SvcApiError && error.code === 'state_conflict')) throw error;
        await context.output.note(`the run had ended already and stays as it is: ${error.message}`);
      }
    },
  };
}

/** The job of the run that this is. */
function jobOf(
  { args }: Reporting,
  detected: Detected | undefined,
  [program = 'job']: readonly string[],
): ReportedJob {
  const { jobId, job, jobIndex: index, stage } = detected ?? {};
  const name = (args.jobName ?? job ?? program).slice(0, 500);
  return defined({ externalJobId: args.jobId ?? jobId, index, stage, name });
}
