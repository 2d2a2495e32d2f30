// Calls kedge at the moments of a session; everything is decided there.
import { execFile } from "node:child_process"
import { chmod, mkdir, rename, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"
import type { Plugin } from "@opencode-ai/plugin"

const KEDGE: string[] = ["kedge", "hook", "--host=opencode"]
const MILLISECONDS = 10_000
const REDUCE_OUTPUTS: boolean = false
const MOST_BYTES = 16 * 1024 * 1024

/** What kedge prints; nothing where it fails: a hook never breaks the host. */
function call(event: Record<string, unknown>): Promise<string> {
  return new Promise((resolve) => {
    const [program, ...words] = KEDGE
    const options = { timeout: MILLISECONDS, maxBuffer: MOST_BYTES }
    try {
      const child = execFile(program, words, options, (error, stdout) =>
        resolve(error ? "" : String(stdout)),
      )
      child.stdin?.on("error", () => undefined)
      child.stdin?.end(JSON.stringify(event))
    } catch {
      resolve("")
    }
  })
}

/** What a reply says for the host, where it says anything. */
function said(reply: string): Record<string, unknown> {
  try {
    return JSON.parse(reply)?.hookSpecificOutput ?? {}
  } catch {
    return {}
  }
}

export const Kedge: Plugin = async ({ client, directory }) => {
  const state = process.env.XDG_STATE_HOME || join(homedir(), ".local", "state")
  const folder = join(state, "kedge", "opencode")
  const putBack = new Map<string, string>()

  /** The session as `opencode export` writes it, in a file that only its owner reads. */
  async function transcript(id: string): Promise<string> {
    const [info, messages] = await Promise.all([
      client.session.get({ path: { id } }),
      client.session.messages({ path: { id } }),
    ])
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const path = join(folder, `${id.replace(/[^\w.-]/g, "_")}.json`)
    const beside = `${path}.${process.pid}`
    await writeFile(beside, JSON.stringify({ info: info.data, messages: messages.data }), {
      mode: 0o600,
    })
    await chmod(beside, 0o600)
    await rename(beside, path)
    return path
  }

  async function tell(name: string, id: string, more: Record<string, unknown> = {}) {
    try {
      const transcript_path = await transcript(id)
      const about = { session_id: id, transcript_path, cwd: directory }
      return await call({ hook_event_name: name, ...about, ...more })
    } catch {
      return ""
    }
  }

  /** What a reply wants in the context, for every request from now on. */
  function remember(id: string, reply: string) {
    const words = said(reply).additionalContext
    if (typeof words !== "string" || !words) return
    const before = putBack.get(id)
    putBack.set(id, before ? `${before}\n\n${words}` : words)
  }

  return {
    event: async ({ event }) => {
      if (event.type === "session.idle") {
        await tell("Stop", event.properties.sessionID)
      } else if (event.type === "session.compacted") {
        const id = event.properties.sessionID
        putBack.delete(id)
        await tell("PostCompact", id)
        remember(id, await tell("SessionStart", id, { source: "compact" }))
      }
    },
    "experimental.session.compacting": async ({ sessionID }, output) => {
      const words = (await tell("PreCompact", sessionID, { trigger: "auto" })).trim()
      if (words) output.context.push(words)
    },
    "chat.message": async ({ sessionID }) => {
      remember(sessionID, await tell("UserPromptSubmit", sessionID))
    },
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      const words = sessionID ? putBack.get(sessionID) : undefined
      if (words) output.system.push(words)
    },
    "tool.execute.after": async (input, output) => {
      if (!REDUCE_OUTPUTS || input.tool !== "bash" || typeof output.output !== "string") return
      const reply = await call({
        hook_event_name: "PostToolUse",
        session_id: input.sessionID,
        cwd: directory,
        tool_name: "Bash",
        tool_use_id: input.callID,
        tool_input: input.args,
        tool_response: { stdout: output.output, stderr: "", interrupted: false },
      })
      const reduced = said(reply).updatedToolOutput
      const text =
        typeof reduced === "string" ? reduced : (reduced as { stdout?: unknown } | undefined)?.stdout
      if (typeof text === "string") output.output = text
    },
  }
}
