// Calls kedgeline at the moments of a session; everything is decided there.
import { execFile } from "node:child_process"
import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"
import type { Hooks, Plugin } from "@opencode-ai/plugin"

type Sent = Parameters<NonNullable<Hooks["experimental.chat.messages.transform"]>>[1]["messages"]
/** What stands in the context since a compaction, and which message is its summary. */
type PutBack = { summary: string; words: string }
/** What kedgeline was asked for last, and how often it is asked again for the same. */
type Asked = { about: string; left: number }

const KEDGELINE: string[] = []
/** How it is asked for a context in the place of OpenCode's summary; nothing where it only advises. */
const REPLACING: string[] = []
/** The server of its tools. */
const SERVER: string[] = []
const ROOM = 0
const MILLISECONDS = 0
/** How long a summary is waited for: OpenCode's own takes as long. */
const REPLACE_MILLISECONDS = 0
const MOST_BYTES = 16 * 1024 * 1024
/** Characters of what kedgeline says: more is not of kedgeline. */
const MOST_WORDS = 40_000
/** How all begins that kedgeline wants to be read. */
const OURS = /^(From kedgeline|kedgeline follows this session)/
/** Milliseconds for which it is not asked after it took too long: the user waits each time. */
const REST = 60_000
/** Requests of an agent that works on for which kedgeline is asked whether there is more: what a summary
 * lacks may not be ready with the first. */
const MORE = 3
/** Of what is put back: who installed kedgeline for themselves and for a project has this twice. */
const PART = "prt_kedgeline"
const OTHERS_WRITE = 0o022

/** Behind these no summary is being written any more. */
const ENDS: string[] = ["session.compacted", "session.idle", "session.error"]

let resting = 0
let written = 0

/** What comes of it in time, and the rest otherwise: a hook never breaks the host. */
async function within<T>(work: () => Promise<T>, rest: T): Promise<T> {
  if (Date.now() < resting) return rest
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(() => {
      resting = Date.now() + REST
      resolve(rest)
    }, MILLISECONDS)
  })
  try {
    return await Promise.race([work(), late])
  } catch {
    return rest
  } finally {
    clearTimeout(timer)
  }
}

/** What kedgeline prints; nothing where it fails. */
function call(
  event: Record<string, unknown>,
  started = KEDGELINE,
  timeout = MILLISECONDS,
): Promise<string> {
  return new Promise((resolve) => {
    const [program, ...words] = started
    const options = { timeout, killSignal: "SIGKILL", maxBuffer: MOST_BYTES } as const
    const child = execFile(program, words, options, (error, stdout) =>
      resolve(error ? "" : String(stdout)),
    )
    child.stdin?.on("error", () => undefined)
    child.stdin?.end(JSON.stringify(event))
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

/** Stored messages as OpenAI's, without the summaries and what asked for them. */
function chat(stored: Sent): Record<string, unknown>[] {
  return stored.flatMap(({ info, parts }) => {
    const text = parts
      .map((part) => (part.type === "text" && !part.synthetic ? part.text : ""))
      .filter(Boolean)
      .join("\n")
    if (info.role === "user") return text ? [{ role: "user", content: text }] : []
    if (info.summary) return []
    const calls = parts.flatMap((part) => (part.type === "tool" ? [part] : []))
    const tool_calls = calls.map(({ callID, tool, state }) => ({
      id: callID,
      type: "function",
      function: { name: tool, arguments: JSON.stringify(state.input ?? {}) },
    }))
    const said = { role: "assistant", content: text, ...(calls.length ? { tool_calls } : {}) }
    const outputs = calls.map(({ callID, state }) => ({
      role: "tool",
      tool_call_id: callID,
      content:
        state.status === "completed" ? state.output : state.status === "error" ? state.error : "",
    }))
    return text || calls.length ? [said, ...outputs] : []
  })
}

function ours(words: unknown): string {
  return typeof words === "string" && words.length <= MOST_WORDS && OURS.test(words) ? words : ""
}

/** The newest summary that stands in the place of messages. The last messages before it come
 * behind it, and may have an older one among them. */
function newest(messages: Sent): string {
  const found = messages
    .map(({ info }) => info)
    .filter((info) => info.role === "assistant" && info.summary && info.finish && !info.error)
  return found.reduce((last, info) => (info.id > last ? info.id : last), "")
}

export const Kedgeline: Plugin = async ({ client, directory }) => {
  const named = process.env.XDG_STATE_HOME ?? ""
  const state = isAbsolute(named) ? named : join(homedir(), ".local", "state")
  const folder = join(state, "kedgeline", "opencode")
  const known = new Map<string, PutBack>()
  const asked = new Map<string, Asked>()
  const unfinished = new Set<Promise<unknown>>()
  const telling = new Map<string, Promise<string>>()
  /** What takes the place of the summary that is being written. */
  const summaries = new Map<string, string>()

  function file(id: string, ending: string): string {
    return join(folder, `${id.replace(/[^\w.-]/g, "_")}${ending}`)
  }

  /** Whole or not at all, for nobody but its owner to read. */
  async function keep(path: string, value: unknown) {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const beside = `${path}.${process.pid}-${written++}`
    await writeFile(beside, JSON.stringify(value), { flag: "wx", mode: 0o600 })
    await rename(beside, path)
  }

  /** The session as `opencode export` writes it. */
  async function transcript(id: string): Promise<string> {
    const [info, messages] = await Promise.all([
      client.session.get({ path: { id } }),
      client.session.messages({ path: { id } }),
    ])
    const path = file(id, ".json")
    await keep(path, { info: info.data, messages: messages.data })
    return path
  }

  /** One after the other: an older transcript must not take the place of a newer one. */
  function tell(name: string, id: string, more: Record<string, unknown> = {}): Promise<string> {
    const before = telling.get(id)
    const told = within(async () => {
      await before
      const transcript_path = await transcript(id)
      const about = { session_id: id, transcript_path, cwd: directory }
      return await call({ hook_event_name: name, ...about, ...more })
    }, "")
    telling.set(id, told)
    return told
  }

  /** Work that nobody waits for but the end of this process. */
  function aside(work: Promise<unknown>) {
    unfinished.add(work)
    void work.finally(() => unfinished.delete(work))
  }

  /** What was put back before this process began. It is told to a model: it must be of the user. */
  async function remembered(id: string): Promise<PutBack | undefined> {
    try {
      const path = file(id, ".put-back")
      const about = await stat(path)
      if (about.uid !== process.getuid?.() || about.mode & OTHERS_WRITE) return undefined
      const { summary, words } = JSON.parse(await readFile(path, "utf8"))
      return ours(words) && typeof summary === "string" ? { summary, words } : undefined
    } catch {
      return undefined
    }
  }

  /** What kedgeline has to add: with the first request behind a summary, with the next few while the
   * agent works on, and with each word of the user. */
  async function added(id: string, about: string, isNew: boolean): Promise<string> {
    const before = asked.get(id)
    if (before?.about !== about) {
      asked.set(id, { about, left: isNew ? MORE : 0 })
      const reply = isNew
        ? tell("SessionStart", id, { source: "compact" })
        : tell("UserPromptSubmit", id)
      return ours(said(await reply).additionalContext)
    }
    if (before.left-- <= 0) return ""
    const event = { hook_event_name: "PostToolBatch", session_id: id, cwd: directory }
    return ours(said(await within(() => call(event), "")).additionalContext)
  }

  /** What stands beside this summary. */
  async function beside(id: string, summary: string, message: string): Promise<string> {
    const before = known.get(id) ?? (await remembered(id))
    const there = before?.summary === summary ? before.words : ""
    const more = await added(id, `${summary} ${message}`, !there)
    const words = [there, more].filter(Boolean).join("\n\n")
    known.set(id, { summary, words })
    if (more) await keep(file(id, ".put-back"), { summary, words }).catch(() => undefined)
    return words
  }

  /** What OpenCode goes on with; nothing where it must write a summary by itself. */
  async function replaced(id: string): Promise<string> {
    if (!REPLACING.length) return ""
    const { data } = await client.session.messages({ path: { id } })
    const messages = chat((data ?? []) as Sent)
    const asked = { messages, session: id, trigger: "auto", room: ROOM }
    const reply = await call(asked, REPLACING, REPLACE_MILLISECONDS)
    const summary = reply ? JSON.parse(reply).summary : ""
    return typeof summary === "string" ? summary.trim() : ""
  }

  return {
    config: async (config) => {
      const server = { type: "local", command: SERVER, enabled: true } as const
      config.mcp = { kedgeline: server, ...config.mcp }
    },
    dispose: async () => {
      await within(() => Promise.all(unfinished), [])
    },
    event: async ({ event }) => {
      if (ENDS.includes(event.type)) {
        const { sessionID } = event.properties as { sessionID?: string }
        if (sessionID) summaries.delete(sessionID)
      }
      if (event.type === "session.idle") aside(tell("Stop", event.properties.sessionID))
      if (event.type === "session.compacted") aside(tell("PostCompact", event.properties.sessionID))
    },
    "experimental.session.compacting": async ({ sessionID }, output) => {
      const summary = await replaced(sessionID).catch(() => "")
      if (summary) {
        summaries.set(sessionID, summary)
        output.prompt = "Answer with the one word OK."
        return
      }
      const words = ours((await tell("PreCompact", sessionID)).trim())
      if (words && !output.context.includes(words)) output.context.push(words)
    },
    "experimental.text.complete": async ({ sessionID, messageID }, output) => {
      const summary = summaries.get(sessionID)
      if (!summary) return
      const path = { id: sessionID, messageID }
      const found = await client.session.message({ path }).catch(() => undefined)
      const info = found?.data?.info
      if (info?.role !== "assistant" || !info.summary) return // never an ordinary answer
      summaries.delete(sessionID)
      output.text = summary
    },
    "experimental.chat.messages.transform": async (_, { messages }) => {
      try {
        // The model is asked for a word only: it need not read what we have told already.
        if (summaries.has(messages.at(-1)?.info.sessionID ?? "")) {
          messages.splice(0, messages.length - 1)
          return
        }
        const summary = newest(messages)
        const at = messages.findIndex(({ info }) => info.id === summary)
        const next = messages.slice(at + 1).find(({ info }) => info.role === "user")
        const last = messages.filter(({ info }) => info.role === "user").at(-1)?.info.id ?? ""
        if (at < 0 || !next || next.parts.some(({ id }) => id === PART)) return
        const { id: messageID, sessionID } = next.info
        const text = await beside(sessionID, summary, last)
        if (!text) return
        next.parts.unshift({ id: PART, type: "text", synthetic: true, messageID, sessionID, text })
      } catch {
        return
      }
    },
  }
}
