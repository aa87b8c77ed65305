/** Types of databases as both ends know them: which image is the official one, and what hands them over. */
import { problemOfImage } from '../images/reference.ts';

export type DatabaseType = 'postgres' | 'mysql' | 'mariadb' | 'redis' | 'mongodb';

export interface DatabaseDefaults {
  /** Official image, without a tag. */
  readonly image: string;
  /** Tag that is taken where none is asked for; it names a version whose data stays compatible. */
  readonly version: string;
  /** Variable under which a container finds the address. */
  readonly variable: 'DATABASE_URL' | 'REDIS_URL' | 'MONGODB_URL';
}

const official = (name: string): string => `docker.io/library/${name}`;

export const DATABASES: Readonly<Record<DatabaseType, DatabaseDefaults>> = {
  postgres: { image: official('postgres'), version: '17', variable: 'DATABASE_URL' },
  mysql: { image: official('mysql'), version: '8.4', variable: 'DATABASE_URL' },
  mariadb: { image: official('mariadb'), version: '11.4', variable: 'DATABASE_URL' },
  redis: { image: official('redis'), version: '7.4', variable: 'REDIS_URL' },
  mongodb: { image: official('mongo'), version: '8.0', variable: 'MONGODB_URL' },
};

const HOST_WITH_PORT = /^[^/]*:\d+\//;

/** Says why databases cannot be made of an image, whose tag is the version; undefined: they can. */
export function databaseImageProblem(image: string, version: string): string | undefined {
  const problem = problemOfImage(`${image}:${version}`);
  if (problem !== undefined) return problem;
  return /[:@]/.test(image.replace(HOST_WITH_PORT, '')) ? 'expected it without a tag' : undefined;
}

/** The name of a database's data among what environments have on a machine; storage cannot have it. */
export const dataOf = (id: string): string => `@database/${id}`;

/** Reads the id of the database out of the name of its data. */
export const databaseOf = (data: string): string | undefined => /^@database\/(.+)$/.exec(data)?.[1];
