// A context engine of OpenClaw. Its own compaction stays: `/compact`, an overflow and whatever fails here end in that.
import { delegateCompactionToRuntime } from "openclaw/plugin-sdk/core"
import { tokensOf, viewOf } from "./view.js"

const NAME = "kedgeline"
/** Of the budget, from where on the history is compacted; and the budget where none is said. */
const SHARE = 0.6
const USUAL = 100_000

export default {
  id: NAME,
  name: NAME,
  register(api) {
    api.registerContextEngine(NAME, () => ({
      info: {
        id: NAME,
        name: NAME,
        ownsCompaction: false,
        acceptedHostParams: ["sessionKey", "sessionTarget", "runtimeContext", "runtimeSettings"],
        transcriptSemantics: {
          currentTurnFence: "before-current-turn-entry-v1",
          turnAdvancementIdempotency: "atomic-idempotent-v1",
        },
      },
      ingest: async () => ({ ingested: true }),
      commitTurn: async () => ({ status: "committed" }),
      async assemble({ sessionId, messages, tokenBudget }) {
        const view = await viewOf(sessionId, messages, SHARE * (tokenBudget || USUAL)).catch(() => messages)
        return { messages: view, estimatedTokens: tokensOf(view) }
      },
      compact: delegateCompactionToRuntime,
    }))
  },
}
