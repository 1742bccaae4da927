import { runCommand } from './command.ts'

/** Installs a Debian package, which only root may. Returns whether it is there now. */
export async function installPackage(name: string): Promise<boolean> {
  const env = { DEBIAN_FRONTEND: 'noninteractive' }
  await runCommand('apt-get', ['update', '-qq'], { env })
  return (await runCommand('apt-get', ['install', '-y', '-qq', '--no-install-recommends', name], { env })).ok
}
