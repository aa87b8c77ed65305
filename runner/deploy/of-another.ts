/** Why a deploy is refused whose app another environment has on this machine. */
export function ofAnother(app: string, environment: string, holder: string): string {
  return `the app ${app} of this machine belongs to environment ${holder}, this deploy is of ${environment}; give the app another name, or remove that app from the machine first`;
}
