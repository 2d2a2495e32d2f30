// Claude Code 2.1.287 or newer: answers `session.compact` with what kedgeline makes of the conversation.
// Whatever goes wrong ends in `next(e)`, which is Claude Code's own compaction. The loader allows `$` only as
// `$.noun.method(…)`, and `next` only to be called.
const KEDGELINE = []
const MILLISECONDS = 0
const ROOM = 0

export const register = (on) => {
  on("session.compact", async ($, e, next) => {
    if (e.trigger === "precompute") return next(e)
    try {
      const usage = await $.session.usage()
      const asked = {
        messages: e.messages,
        session: await $.session.id(),
        agent: e.agentId ?? "",
        trigger: e.trigger,
        instructions: e.instructions ?? "",
        // what a sub-agent's context has is not said
        tokens: e.agentId ? 0 : (usage.context?.tokens ?? 0),
        window: usage.context?.window ?? 0,
        room: ROOM,
      }
      const options = { stdin: JSON.stringify(asked), timeoutMs: MILLISECONDS }
      const ran = await $.process.run([...KEDGELINE, "host-compact", "claude-code"], options)
      if (ran.exitCode !== 0 || ran.isStdoutTruncated) return next(e)
      const said = JSON.parse(ran.stdout)
      if (typeof said.skip === "string" && said.skip !== "") return { skip: said.skip }
      if (!Array.isArray(said.messages) || said.messages.length === 0) return next(e)
      return { messages: said.messages }
    } catch {
      return next(e)
    }
  })
}
