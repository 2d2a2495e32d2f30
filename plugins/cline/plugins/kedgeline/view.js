// A host that asks for the view of each request: it is decided once, kept for the session, and asked for anew
// only when it is full. What the host has stored stays as it is.
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdir, readFile, rename, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"

const KEDGELINE = ["kedgeline"]
const HOST = "cline"
const MILLISECONDS = 30_000
const ROOM = 0
const MOST_BYTES = 32 * 1024 * 1024
/** Characters of a token, about. */
const CHARACTERS = 4
/** Milliseconds for which kedgeline is not asked after it gave no answer: each request would wait. */
const REST = 60_000

const named = process.env.XDG_STATE_HOME ?? ""
const state = isAbsolute(named) ? named : join(homedir(), ".local", "state")
const folder = join(state, "kedgeline", HOST)
const known = new Map()
const resting = new Map()

export function tokensOf(messages) {
  return Math.ceil(JSON.stringify(messages).length / CHARACTERS)
}

/** What messages are known by: hosts add times and numbers of their own. */
function digest(messages) {
  const told = messages.map(({ role, content }) => [role, content])
  return createHash("sha256").update(JSON.stringify(told)).digest("hex")
}

function asked(question) {
  return new Promise((resolve, reject) => {
    const [program, ...words] = [...KEDGELINE, "host-compact", HOST]
    const options = { timeout: MILLISECONDS, killSignal: "SIGKILL", maxBuffer: MOST_BYTES }
    const child = execFile(program, words, options, (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    )
    child.stdin.on("error", () => undefined)
    child.stdin.end(JSON.stringify(question))
  })
}

function file(session) {
  return join(folder, `${createHash("sha256").update(session).digest("hex").slice(0, 32)}.json`)
}

async function remembered(session) {
  if (known.has(session)) return known.get(session)
  try {
    return JSON.parse(await readFile(file(session), "utf8"))
  } catch {
    return undefined
  }
}

/** Whole or not at all, for nobody but its owner to read. */
async function keep(session, decided) {
  known.set(session, decided)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const beside = `${file(session)}.${process.pid}`
  await writeFile(beside, JSON.stringify(decided), { mode: 0o600 })
  await rename(beside, file(session))
}

/** The messages that the model reads. Without an answer they are what they were: the host's own
 * compaction is still there. */
export async function viewOf(session, messages, limit) {
  const before = await remembered(session)
  const isOurs = before && digest(messages.slice(0, before.view.length)) === before.shown
  if (isOurs) return messages // a host asks again with what it was given
  const covers = before && before.covered <= messages.length
  const stands = covers && digest(messages.slice(0, before.covered)) === before.digest
  const view = stands ? [...before.view, ...messages.slice(before.covered)] : messages
  if (tokensOf(view) <= limit || Date.now() < (resting.get(session) ?? 0)) return view
  try {
    const { messages: made } = JSON.parse(await asked({ messages: view, session, trigger: "auto", room: ROOM }))
    if (!Array.isArray(made) || !made.length || !made.every(({ role }) => role)) throw new Error("no messages")
    await keep(session, { covered: messages.length, digest: digest(messages), view: made, shown: digest(made) })
    return made
  } catch {
    resting.set(session, Date.now() + REST)
    return view
  }
}
