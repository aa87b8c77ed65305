/** The tests of the contract send these requests, one for each RPC. */
import { environment, type Requests } from '../../../test/contract/requests.ts';
import type { World } from '../../../test/contract/world.ts';

const variable = ({ environmentId, variableId }: World) => ({ environmentId, variableId });

const guards = { what: 'variables of what is built and deployed' };

export const requests: Requests = {
  'svc.variables.v1.VariablesService/Delete': { gives: 'nothing', fields: variable, last: 1, guards },
  'svc.variables.v1.VariablesService/List': { gives: 'nothing', fields: environment },
  'svc.variables.v1.VariablesService/Set': {
    gives: 'nothing',
    fields: (world) => ({ ...environment(world), name: 'BY_MATRIX', value: 'x', secret: true }),
    guards,
  },
  'svc.variables.v1.VariablesService/SetMany': {
    gives: 'nothing',
    fields: (world) => ({ ...environment(world), variables: { BY_MATRIX: 'y' } }),
    guards,
  },
  'svc.variables.v1.VariablesService/Update': {
    gives: 'nothing',
    fields: (world) => ({ ...variable(world), name: 'OF_MATRIX', value: 'z' }),
    guards,
  },
};
