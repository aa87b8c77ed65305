/**
 * Brings the image of a deploy into the machine's engine and returns what it is run by.
 *
 * On a machine that works for many teams the engine serves everybody's apps and runs, so nothing is pulled
 * into it: an image comes from the store of its team, contained, and gets a name of ours. It got into that
 * store because a build of the team made it, or because the team's own credentials opened its registry. Its
 * other names are noted for the team. The engine of a team's own machine pulls by itself.
 */
import {
  call,
  engineCall,
  engineEnv,
  giveToContainment,
  refuseUnreachable,
  type BuildContext,
  type ContainedBuild,
  type EngineCallResult,
} from '../build/context.ts';
import type { DeployRequest } from '../build/deployer.ts';
import { fileBind } from '../build/containment-script.ts';
import { BuildFailed, MachineFailed, withRetries } from '../build/failure.ts';
import { localTag, portsIn } from '../build/image.ts';
import { reachOf } from '../build/plan.ts';
import { lastLines } from '../build/process.ts';
import { plainHttpHint, REFUSED } from '../build/push.ts';
import { registryAccess, type RegistryAccess } from '../build/registry-auth.ts';
import { handOver } from '../build/transfer.ts';
import { failureText } from '../executor/command.ts';
import { engineArgv, type Engine } from '../executor/engine.ts';
import { changeNames } from '../executor/image-names.ts';
import { findImage } from '../executor/resolve-image.ts';
import { engineCall as ofMachine, must } from './app-containers.ts';

export async function bringImage(context: BuildContext, request: DeployRequest): Promise<string> {
  const { contained, plan } = context;
  const { image, built } = request;
  const name = localTag(plan.id, plan.epoch);
  if (image === name) {
    // It was not published. Buildpacks have made it in the machine's engine.
    if (built !== undefined) await handOver(context, name);
    return name;
  }
  if (plan.shared && contained !== undefined) return await bringForTeam(context, contained, request);
  await pullByMachine(context, image);
  return image;
}

async function bringForTeam(
  context: BuildContext,
  { images }: ContainedBuild,
  { image, built }: DeployRequest,
): Promise<string> {
  const { team, image: target, id: build, epoch } = context.plan;
  const { engine } = context.engine;
  const tagged = built === undefined || target === undefined ? [] : [`${target.name}:${target.tag}`];
  const noted = await images.find(team, image);
  const known =
    built === undefined ? await findImage(engine, image, { images, team, shared: true }) : undefined;
  const name = known !== undefined && noted?.id === known ? noted.name : localTag(build, epoch);
  if (known === undefined) {
    if (built === undefined) await fetchIntoStore(context, image, name);
    await handOver(context, name);
  } else if (name !== noted?.name) await giveName(engine, known, name);
  const id = await must(engine, 'image', 'inspect', '--format={{.Id}}', name);
  await images.add(team, [image, ...tagged], { id, name });
  return name;
}

async function giveName(engine: Engine, image: string, name: string): Promise<void> {
  const given = await changeNames(engine, engine.timeouts.callMs, 'tag', image, name);
  if (given.code !== 0) throw new MachineFailed(`${image} cannot be named: ${failureText(given)}`);
}

/** What is in the team's store already, the team may have. */
async function fetchIntoStore(context: BuildContext, image: string, name: string): Promise<void> {
  const inStore = async (...args: string[]) =>
    await engineCall(context, { args, binds: [], network: 'none', bases: false });
  if ((await inStore('image', 'inspect', '--format={{.Id}}', image)).code !== 0) {
    const access = await accessTo(context, image);
    await giveToContainment(context, [context.workspace.secrets]);
    await pullWith(
      context,
      image,
      async () =>
        await engineCall(context, {
          args: ['pull', ...access.flags, image],
          binds: [fileBind(access.file)],
          network: 'registry',
          ports: portsIn(image),
          bases: false,
          onOutput: context.output,
        }),
    );
  }
  const tagged = await inStore('tag', image, name);
  if (tagged.code !== 0) throw new MachineFailed(`${image} cannot be named: ${lastLines(tagged)}`);
}

/**
 * An image that a team's own engine has already is not pulled. On a machine that works for many teams, being
 * there proves no right to it, so that its registry is asked each time.
 */
async function pullByMachine(context: BuildContext, image: string): Promise<void> {
  const { engine } = context.engine;
  const there = await ofMachine(engine, 'image', 'inspect', '--format={{.Id}}', image);
  if (there.code === 0 && !context.plan.shared) return;
  const access = await accessTo(context, image);
  await pullWith(
    context,
    image,
    async () =>
      await call(context, {
        argv: engineArgv(engine, 'pull', ...access.flags, image),
        env: { ...engineEnv(context), ...access.env },
        onOutput: context.output,
      }),
  );
}

/** Credentials go to the registry that they belong to, and to no other. */
async function accessTo(context: BuildContext, image: string): Promise<RegistryAccess> {
  const { image: target } = context.plan;
  const ofTarget = target !== undefined && image.startsWith(`${target.host}/`) ? target : undefined;
  if (ofTarget !== undefined && !image.startsWith(reachOf(ofTarget)))
    throw new BuildFailed(`${image} cannot be pulled: there is no such image of this team`);
  return await registryAccess(context, ofTarget);
}

async function pullWith(
  context: BuildContext,
  image: string,
  pull: () => Promise<EngineCallResult>,
): Promise<void> {
  const failure = `${image} cannot be pulled`;
  await withRetries(async () => {
    const pulled = await pull();
    if (pulled.code === 0) return;
    refuseUnreachable(context, pulled, failure);
    const [host = ''] = image.split('/');
    const message = `${failure}: ${lastLines(pulled, 3)}${plainHttpHint(pulled, host)}`;
    throw REFUSED.test(pulled.tail) ? new BuildFailed(message) : new MachineFailed(message);
  }, context);
}
