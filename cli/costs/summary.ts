/** `svc costs summary` shows what a month has come to, and what it is likely to come to. */
import type { CostPart, CostSummary } from '@svc/sdk';
import type { Context, GeneratedSpec, Own } from '../shell/command.ts';
import { answerOf } from '../shell/operation.ts';
import { labelled, neutraliseLine, padEnd } from '../shell/text.ts';
import { formatDuration, formatRelative } from '../shell/time.ts';
import { amount, cents } from '../shell/money.ts';

const PROJECTS = 5;
const BAR = 30;

export function summary(generated: GeneratedSpec): Own {
  return {
    description: generated.description,
    examples: [{ title: 'This month', cli: 'costs summary --team team_01' }],
    run: async (context) => {
      const { output, io } = context;
      const answer = await answerOf<CostSummary>(context);
      if (output.format !== 'table') return await output.value(answer);
      await output.raw(`${describe(answer, context, io.now()).join('\n')}\n`);
    },
  };
}

const line = labelled(8);

function describe(answer: CostSummary, { output: { paint } }: Context, nowMs: number): string[] {
  const { usage, forecast, since, until } = answer;
  const money = (text: string): string => amount(text, answer);
  const reports = `${usage.events} ${usage.events === 1 ? 'report' : 'reports'}`;
  return [
    line('net', paint('bold', netOf(answer))),
    line('included', `${bar(answer)}  ${money(answer.included)} of ${money(answer.list)}`),
    ...(forecast === undefined
      ? []
      : [
          line(
            'forecast',
            `${money(forecast.net)} for the whole month, by ${METHODS[forecast.method] ?? forecast.method}`,
          ),
        ]),
    line('used', `${formatDuration(usage.meteredSeconds * 1_000)} in ${reports}`),
    ...projects(answer.byProject, money).map((text, n) => line(n === 0 ? 'projects' : '', text)),
    line('days', `${since} to before ${until} (UTC)`),
    line('as of', formatRelative(Date.parse(answer.asOf), nowMs)),
  ];
}

/** Returns the sum as a statement has it, which is rounded line by line. */
function netOf(answer: CostSummary): string {
  return answer.netCents === 0 ? amount(answer.net, answer) : cents(answer.netCents, answer);
}

const METHODS: Readonly<Record<string, string>> = {
  weekdays: 'the weekdays of four weeks',
  linear: 'the days so far',
};

/** Share of the list price that the plan includes, drawn. */
function bar({ list, included }: CostSummary): string {
  const share = Number(list) === 0 ? 0 : Number(included) / Number(list);
  const filled = Math.round(share * BAR);
  return `[${'#'.repeat(filled)}${'-'.repeat(BAR - filled)}]`;
}

function projects(parts: readonly CostPart[], money: (text: string) => string): string[] {
  const names = parts.slice(0, PROJECTS).map((part) => [nameOf(part), money(part.net)] as const);
  const width = Math.max(0, ...names.map(([name]) => name.length));
  const more = parts.length - names.length;
  return [
    ...names.map(([name, net]) => `${padEnd(name, width)}  ${net}`),
    ...(more > 0 ? [`and ${more} more: --json shows them`] : []),
  ];
}

function nameOf({ id, name, others }: CostPart): string {
  if (others !== undefined) return `${others} others`;
  return id === undefined ? '(no project)' : neutraliseLine(name ?? id);
}
