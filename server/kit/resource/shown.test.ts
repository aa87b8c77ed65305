/** Rows and messages of the contract, both ways. */
import { create, toJson } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  EnvironmentSchema,
  UpdateRequestSchema,
} from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import {
  IncidentSchema,
  IncidentSeverity,
  IncidentState,
} from '@svc/proto/gen/svc/incidents/v1/incidents_pb.ts';
import { CiPipelineSchema } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { describe, expect, it } from 'vitest';
import { given, shown } from './shown.ts';

const at = new Date('2026-05-01T10:20:30.456Z');
const incident = {
  id: 'inc_1',
  teamId: 'team_1',
  environmentId: 'env_1',
  state: 'mitigated',
  severity: 'high',
  title: 'dark',
  description: '',
  openedAt: at,
  mitigatedAt: at,
  closedAt: null,
};

describe('shown()', () => {
  it('takes words for enums, dates for times, and null for what is not set', () => {
    const message = shown(IncidentSchema, incident);
    expect(message).toEqual(
      create(IncidentSchema, {
        ...incident,
        state: IncidentState.MITIGATED,
        severity: IncidentSeverity.HIGH,
        openedAt: timestampFromDate(at),
        mitigatedAt: timestampFromDate(at),
        closedAt: undefined,
      }),
    );
    expect(toJson(IncidentSchema, message)).not.toHaveProperty('closedAt');
  });

  it('leaves columns out that the message does not have', () => {
    const row = { ...incident, gitSealed: 'a secret', createdAt: at };
    expect(JSON.stringify(toJson(IncidentSchema, shown(IncidentSchema, row)))).not.toContain('secret');
  });

  it('goes into messages and lists', () => {
    const row = {
      id: 'env_1',
      projectId: 'prj_1',
      teamId: 'team_1',
      name: 'production',
      repository: null,
      branch: 'main',
      buildPath: '.',
      buildType: 'dockerfile',
      createdAt: at,
      updatedAt: at,
      cloneDepth: 1,
      tags: false,
      submodules: false,
      deployApproval: false,
      deploy: { kind: 'dokku', app: 'shop', containerPort: 8080 },
      buildTimeoutSeconds: 60,
      hasGitCredentials: false,
      requiredApprovals: 1,
      allowSelfApproval: true,
      promotionsOnly: false,
    };
    const { deploy, repository } = shown(EnvironmentSchema, row);
    expect([deploy?.app, deploy?.containerPort, repository]).toEqual(['shop', 8080, undefined]);
    const pipeline = {
      id: 'cip_1',
      teamId: 'team_1',
      ciConnectionId: 'cic_1',
      name: 'build',
      jobs: ['test', 'deploy'],
      deployDetected: true,
      defined: true,
      createdAt: at,
    };
    expect(shown(CiPipelineSchema, pipeline)).toMatchObject({ jobs: ['test', 'deploy'], triggers: [] });
  });

  it('takes numbers of enums as they are, and what is computed before what the row has', () => {
    const computed = { state: IncidentState.OPEN, mitigatedAt: null };
    const message = shown(IncidentSchema, incident, computed);
    expect(message).toEqual(shown(IncidentSchema, { ...incident, state: 'open', mitigatedAt: null }));
  });

  it('refuses a word that the contract does not have', () => {
    expect(() => shown(IncidentSchema, { ...incident, state: 'gone' })).toThrow('has no value "gone"');
  });
});

describe('given()', () => {
  it('is what a request sets, as a row would hold it', () => {
    const request = create(UpdateRequestSchema, { environmentId: 'env_1', buildType: 2, submodules: false });
    expect(given(UpdateRequestSchema, request)).toEqual({
      environmentId: 'env_1',
      buildType: 'dockerfile',
      submodules: false,
    });
  });

  it('is the way back of shown', () => {
    expect(given(IncidentSchema, shown(IncidentSchema, incident))).toEqual(
      Object.fromEntries(Object.entries(incident).filter(([, value]) => value !== null && value !== '')),
    );
  });
});
