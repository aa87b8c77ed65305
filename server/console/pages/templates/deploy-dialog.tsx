/** Asks where a template is deployed, and for values of its variables; what must be given stands first. */
import { signal, useSignal, type Signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { Project, Template, TemplatesDeployResponse, TemplateVariable } from '@svc/sdk';
import { Ask } from '../../ask.tsx';
import { invalidate, useRead } from '../../cache.ts';
import { TextField } from '../../field.tsx';
import { Picker } from '../../picker.tsx';
import { environmentHref, teamHref } from '../../place.ts';
import { Unread } from '../../reading.tsx';
import { follow, navigate } from '../../router.ts';
import { projects, templates } from './calls.ts';

interface DeployDialogProps {
  readonly teamId: string;
  readonly templateId: string;
  readonly onClose: () => void;
}

interface Known {
  readonly template: Template;
  readonly into: readonly Project[];
}

const PROJECTS_MAX = 200;

export function DeployDialog({ teamId, templateId, onClose }: DeployDialogProps) {
  const read = useRead<Known>(`deploy ${templateId} ${teamId}`, async () => {
    const [template, into] = await Promise.all([
      templates.get(templateId),
      projects.list({ teamId, limit: PROJECTS_MAX }),
    ]);
    return { template, into };
  });
  const known = read.data.value;
  if (known !== undefined) return <Form {...known} teamId={teamId} onClose={onClose} />;
  return (
    <Ask title="Deploy the template" verb="Deploy" blocked act={async () => ''} onClose={onClose}>
      <Unread of={read} what="the template" />
    </Ask>
  );
}

interface FormProps extends Known {
  readonly teamId: string;
  readonly onClose: () => void;
}

/** Nobody is asked for what the template makes itself before what only a person can say. */
const mustBeGiven = ({ required, default: fallback, generate }: TemplateVariable): boolean =>
  required === true && fallback === undefined && generate === undefined;

function Form({ template, into, teamId, onClose }: FormProps) {
  const { id, name, slug, variables } = template;
  const projectId = useSignal(into[0]?.id ?? '');
  const environment = useSignal(slug);
  const values = useMemo(() => new Map(variables.map((each) => [each.name, signal('')])), []);
  const ordered = [...variables.filter(mustBeGiven), ...variables.filter((each) => !mustBeGiven(each))];
  const deploy = async (): Promise<string> => {
    const given = [...values].flatMap(([key, { value }]) => (value === '' ? [] : [[key, value]]));
    const made = await templates.deploy(projectId.value, id, environment.value, {
      variables: Object.fromEntries(given) as Record<string, string>,
    });
    invalidate();
    if (made.environment !== undefined) navigate(environmentHref(made.environment.id));
    return wordsOf(made);
  };
  return (
    <Ask
      title={`Deploy ${name}`}
      verb="Deploy"
      long
      blocked={projectId.value === ''}
      act={deploy}
      onClose={onClose}
    >
      {into.length === 0 ? (
        <p>
          A project of the team holds the environment, and there is none:{' '}
          <a href={teamHref(teamId, 'projects')} onClick={follow}>
            create one
          </a>{' '}
          first.
        </p>
      ) : (
        <Picker label="Project" of={into} value={projectId.value} onPick={(to) => (projectId.value = to)} />
      )}
      <TextField
        id="deploy-name"
        label="Environment"
        hint="1 to 63 lower-case letters, digits and dashes."
        value={environment}
        maxLength={63}
        autoCapitalize="none"
        spellcheck={false}
      />
      {ordered.map((each) => (
        <Value key={each.name} of={each} value={values.get(each.name)} />
      ))}
    </Ask>
  );
}

interface ValueProps {
  readonly of: TemplateVariable;
  readonly value: Signal<string> | undefined;
}

const Value = ({ of, value }: ValueProps) =>
  value === undefined ? null : (
    <TextField
      id={`value-${of.name}`}
      label={of.name}
      hint={hintOf(of)}
      value={value}
      autoCapitalize="none"
      spellcheck={false}
    />
  );

/** `Shown on top. A whole number. Default: 20.` */
function hintOf(variable: TemplateVariable): string {
  const { description, secret, default: fallback, generate, format } = variable;
  const otherwise =
    fallback !== undefined
      ? `Default: ${fallback === '' ? 'empty' : fallback}.`
      : generate !== undefined
        ? 'Generated unless you give one.'
        : mustBeGiven(variable)
          ? 'Required: nothing is built without it.'
          : 'Optional.';
  const parts = [description, secret === true && 'Secret.', format && `Form: ${format}.`, otherwise];
  return parts.filter((part) => typeof part === 'string' && part !== '').join(' ');
}

function wordsOf({ environment, build, missingVariables }: TemplatesDeployResponse): string {
  const made = `The environment ${environment?.name ?? ''} is made`;
  if (build !== undefined) return `${made}, and its first build is ${build.state}.`;
  return missingVariables.length === 0
    ? `${made}.`
    : `${made}. It is built once these are set: ${missingVariables.join(', ')}.`;
}
