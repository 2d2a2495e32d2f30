// pi: what a compaction says of the messages that go is kedgeline's; without an answer it is pi's own.
import { execFile } from "node:child_process"

const KEDGELINE: string[] = ["kedgeline"]
const MILLISECONDS = 30_000
const ROOM = 0
const MOST_BYTES = 32 * 1024 * 1024

function asked(question: unknown, signal?: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const [program, ...words] = [...KEDGELINE, "host-compact", "pi"]
    const options = { timeout: MILLISECONDS, maxBuffer: MOST_BYTES, signal }
    const child = execFile(program, words, options, (error, stdout) =>
      error ? reject(error) : resolve(String(stdout)),
    )
    child.stdin?.on("error", () => undefined)
    child.stdin?.end(JSON.stringify(question))
  })
}

export default function (pi: any) {
  pi.on("session_before_compact", async (event: any, context: any) => {
    const { preparation } = event
    try {
      // What pi keeps stays whole: its own cut stands. A turn that it splits begins in what goes.
      const question = {
        messages: [...preparation.messagesToSummarize, ...preparation.turnPrefixMessages],
        previousSummary: preparation.previousSummary ?? "",
        instructions: event.customInstructions ?? "",
        trigger: event.reason ?? "",
        session: String(context.sessionManager?.getSessionId?.() ?? ""),
        room: ROOM,
      }
      const { summary } = JSON.parse(await asked(question, event.signal))
      if (typeof summary !== "string" || !summary.trim()) return undefined
      const { firstKeptEntryId, tokensBefore } = preparation
      return { compaction: { summary, firstKeptEntryId, tokensBefore, details: { by: "kedgeline" } } }
    } catch {
      return undefined
    }
  })
}
