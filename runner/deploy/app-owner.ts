/** The message of a deploy that is refused because its app belongs to another environment on this machine. */
export function ownedByAnother(app: string, environment: string, holder: string): string {
  return `the app ${app} of this machine belongs to environment ${holder}, this deploy is of ${environment}; give the app another name, or remove that app from the machine first`;
}
