import { createContext } from 'svelte'

/** Which of the shell's sheets is open; pages open them through this. */
export class ShellState {
  searching = $state(false)
  helping = $state(false)
}

export const [getShell, setShell] = createContext<ShellState>()
