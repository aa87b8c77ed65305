/** Reads definitions of tests, which must be without a fault. */
import { expect } from 'vitest';
import { parseDefinition, type DefinedPipeline } from '../index.ts';

export function read(path: string, text: string): readonly DefinedPipeline[] {
  const { pipelines, problems } = parseDefinition({ path, text });
  expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
  return pipelines;
}

/** Returns the only pipeline of the file. */
export function one(path: string, text: string): DefinedPipeline {
  const [pipeline, ...more] = read(path, text);
  expect(more).toEqual([]);
  if (pipeline === undefined) throw new Error(`${path} gave no pipeline`);
  return pipeline;
}

/** Reads the only pipeline of files at this path, in which there is not even a warning. */
export const oneAt =
  (path: string) =>
  (text: string): DefinedPipeline => {
    expect(parseDefinition({ path, text }).problems).toEqual([]);
    return one(path, text);
  };

export const names = ({ jobs }: DefinedPipeline): string => jobs.map(({ name }) => name).join();
